"""How the next token is chosen: options, checked before anything runs."""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable
from dataclasses import dataclass

from webxpu.errors import ShapeError

MAX_TOP_K = 2**32 - 1
MAX_SEED = 2**64 - 1


@dataclass(frozen=True)
class Sampling:
    """Sampling options. The filters apply in the order top_k, top_p, min_p, to logits divided by the temperature.

    temperature  0 picks the most likely token; above 0 draws from the distribution
    top_k        keep the k most likely tokens; 0 keeps all
    top_p        keep the fewest tokens whose probabilities add up to this; 1 keeps all
    min_p        keep tokens at least this fraction as likely as the most likely one; 0 keeps all
    seed         the same seed, prompt and options give the same tokens; None draws a fresh one

    Raises ShapeError, naming the option.
    """

    temperature: float = 0.0
    top_k: int = 0
    top_p: float = 1.0
    min_p: float = 0.0
    seed: int | None = None

    def __post_init__(self) -> None:
        _number("temperature", self.temperature, "a number of at least 0", lambda v: 0 <= v < math.inf)
        _number("top_p", self.top_p, "a number above 0 and at most 1", lambda v: 0 < v <= 1)
        _number("min_p", self.min_p, "a number from 0 to 1", lambda v: 0 <= v <= 1)
        check_whole("generate", "top_k", self.top_k, 0, MAX_TOP_K)
        if self.seed is not None:
            check_whole("generate", "seed", self.seed, 0, MAX_SEED)

    @property
    def greedy(self) -> bool:
        return self.temperature == 0

    def resolved_seed(self) -> int:
        """The seed, or a fresh one from the system's randomness."""
        return secrets.randbits(64) if self.seed is None else self.seed


def _number(name: str, value: object, rule: str, fits: Callable[[float], bool]) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not fits(value):
        raise ShapeError(f"generate: {name} must be {rule}, got {value!r}")


def check_whole(call: str, name: str, value: object, least: int, most: int | None = None) -> None:
    """Raises ShapeError unless an option is an int in a range."""
    inside = (
        isinstance(value, int) and not isinstance(value, bool) and least <= value <= (value if most is None else most)
    )
    if not inside:
        rule = f"of at least {least}" if most is None else f"from {least} to {most}"
        raise ShapeError(f"{call}: {name} must be a whole number {rule}, got {value!r}")
