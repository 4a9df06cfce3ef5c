"""How the next token is chosen: options, checked before anything runs."""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from webxpu.errors import ShapeError
from webxpu.llm.dry import Dry
from webxpu.llm.state import State
from webxpu.ops.penalize import BANNED

MAX_WORD = 2**32 - 1
MAX_SEED = 2**64 - 1
# Entries of the table of logit biases that an engine keeps on the GPU.
MAX_BIASES = 4096
# Larger ones are mistakes, and float32, in which kernels count, must hold what they do to a logit; -inf is how a token
# is banned.
_MAX_BIAS = 1e6
_MAX_REPETITION = 1e6
# A banned token's logit over this is still too low to be drawn.
_MAX_TEMPERATURE = 1e30


@dataclass(frozen=True)
class Sampling:
    """Sampling options, in the order in which they apply.

    logit_bias            id -> what is added to its logit; -inf bans the token
    repetition_penalty    positive logits of tokens that came are divided by this, negative ones multiplied; 1 is off
    presence_penalty      subtracted from the logits of tokens that came; 0 is off
    frequency_penalty     subtracted once for each time that a token came; 0 is off
    no_repeat_ngram_size  no run of this many tokens comes twice; 0 is off
    top_n_sigma           keep tokens whose logit is within this many standard deviations of the highest; 0 keeps all
    dry                   a penalty on tokens that continue a repetition, see `Dry`; None is off
    temperature           0 picks the most likely token; above 0 draws from softmax(logits / temperature)
    top_k                 keep the k most likely tokens; 0 keeps all
    min_p                 keep tokens at least this fraction as likely as the most likely one; 0 keeps all
    top_p                 keep the fewest tokens whose probabilities, among what top_k and top_n_sigma left, add up to
                          this; 1 keeps all
    seed                  the same seed, prompt and options give the same tokens; None draws a fresh one

    The tokens that came are those of prompt and reply, as far back as the cache's history goes: the last `capacity`
    ones, so the sinks of a window that rolled are left behind. Penalties change greedy choices too, filters don't. On
    the GPU a constraint and the dry penalty come before the filters, so top_n_sigma measures logits that have both
    behind them; `HostSampler` measures those before and has dry behind top_k and top_n_sigma.

    Raises ShapeError, naming the option.
    """

    temperature: float = 0.0
    top_k: int = 0
    top_p: float = 1.0
    min_p: float = 0.0
    seed: int | None = None
    top_n_sigma: float = 0.0
    repetition_penalty: float = 1.0
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    no_repeat_ngram_size: int = 0
    logit_bias: Mapping[int, float] = field(default_factory=dict)
    dry: Dry | None = None

    def __post_init__(self) -> None:
        _number("temperature", self.temperature, "a number from 0 to 1e30", lambda v: 0 <= v <= _MAX_TEMPERATURE)
        _number("top_p", self.top_p, "a number above 0 and at most 1", lambda v: 0 < v <= 1)
        _number("min_p", self.min_p, "a number from 0 to 1", lambda v: 0 <= v <= 1)
        _number("top_n_sigma", self.top_n_sigma, "a number from 0 to 1e6", lambda v: 0 <= v <= _MAX_BIAS)
        _number("repetition_penalty", self.repetition_penalty, "a number from 1e-6 to 1e6", _is_factor)
        _number("presence_penalty", self.presence_penalty, "a number from -1e6 to 1e6", lambda v: abs(v) <= _MAX_BIAS)
        _number("frequency_penalty", self.frequency_penalty, "a number from -1e6 to 1e6", lambda v: abs(v) <= _MAX_BIAS)
        check_whole("generate", "top_k", self.top_k, 0, MAX_WORD)
        check_whole("generate", "no_repeat_ngram_size", self.no_repeat_ngram_size, 0, MAX_WORD)
        if self.seed is not None:
            check_whole("generate", "seed", self.seed, 0, MAX_SEED)
        object.__setattr__(self, "logit_bias", _checked_biases(self.logit_bias))
        if self.dry is not None and not isinstance(self.dry, Dry):
            raise ShapeError(f"generate: dry must be a Dry or None, got {self.dry!r}")

    @property
    def greedy(self) -> bool:
        """Whether the most likely token is taken and nothing is drawn."""
        return self.temperature == 0

    @property
    def penalized(self) -> bool:
        """Whether the logits have to go through `webxpu.ops.penalize` first."""
        return (
            self.repetition_penalty != 1
            or self.presence_penalty != 0
            or self.frequency_penalty != 0
            or self.no_repeat_ngram_size != 0
            or len(self.logit_bias) > 0
        )

    def resolved_seed(self) -> int:
        """The seed, or a fresh one from the system's randomness."""
        return secrets.randbits(64) if self.seed is None else self.seed

    def fill(self, state: State) -> None:
        """Sets the options of a state that kernels read. The biases themselves are `bias_table`."""
        state.seed = 0 if self.greedy else self.resolved_seed()
        state.temperature, state.top_k, state.top_p, state.min_p = self.temperature, self.top_k, self.top_p, self.min_p
        state.top_n_sigma = self.top_n_sigma
        state.repetition, state.no_repeat = self.repetition_penalty, self.no_repeat_ngram_size
        state.presence, state.frequency = self.presence_penalty, self.frequency_penalty
        state.biases = len(self.logit_bias)

    def bias_table(self, vocab: int) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """(n,) ids, rising, and (n,) what is added to their logits: the first entries of `penalize`'s table.

        Raises ShapeError for an id that the vocabulary lacks.
        """
        ids = sorted(self.logit_bias)
        if ids and ids[-1] >= vocab:
            raise ShapeError(f"generate: logit_bias must be of ids from 0 to {vocab - 1}, got {ids[-1]}")
        values = [max(float(self.logit_bias[i]), BANNED) for i in ids]
        return np.array(ids, np.int32), np.array(values, np.float32)


def _checked_biases(biases: object) -> dict[int, float]:
    if not isinstance(biases, Mapping):
        raise ShapeError(f"generate: logit_bias must be a mapping of ids to numbers, got {biases!r}")
    if len(biases) > MAX_BIASES:
        raise ShapeError(f"generate: logit_bias must be of at most {MAX_BIASES} ids, got {len(biases)}")
    for token, value in biases.items():
        if not isinstance(token, int) or isinstance(token, bool) or token < 0:
            raise ShapeError(f"generate: logit_bias must be of ids of at least 0, got {token!r}")
        _number("logit_bias", value, "-inf or a number from -1e6 to 1e6", _is_bias)
    return dict(biases)


def _is_bias(value: float) -> bool:
    return value == -math.inf or abs(value) <= _MAX_BIAS


def _is_factor(value: float) -> bool:
    return 1 / _MAX_REPETITION <= value <= _MAX_REPETITION


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
