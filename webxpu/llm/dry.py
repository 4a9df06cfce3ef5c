"""DRY: "don't repeat yourself", a penalty on the tokens that would continue a repetition, from the history alone."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from webxpu.errors import ShapeError

# How far past `allowed_length` a repetition is followed; a longer one costs no more.
FOLLOWED_TOKENS = 32


@dataclass(frozen=True)
class Dry:
    """Options of the DRY penalty: a token that would make a repetition of L tokens one longer loses
    `multiplier * base ** (L - allowed_length)`, where L is at least `allowed_length`.

    multiplier       above 0
    base             at least 1
    allowed_length   repetitions shorter than this cost nothing
    range            how many of the last tokens are looked at; 0 takes all
    breakers         ids that no repetition goes across and that are never penalised, such as those of line breaks

    Raises ShapeError, naming the option.
    """

    multiplier: float
    base: float = 1.75
    allowed_length: int = 2
    range: int = 0
    breakers: frozenset[int] = frozenset()

    def __post_init__(self) -> None:
        for name, least, rule in (("multiplier", 0.0, "a number above 0"), ("base", 1.0, "a number of at least 1")):
            value = getattr(self, name)
            numeric = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
            _check(numeric and value >= least and value > 0, name, rule, value)
        for name, lowest in (("allowed_length", 1), ("range", 0)):
            value = getattr(self, name)
            whole = isinstance(value, int) and not isinstance(value, bool)
            _check(whole and value >= lowest, name, f"a whole number of at least {lowest}", value)
        _check(_are_ids(self.breakers), "breakers", "ids of at least 0", self.breakers)
        object.__setattr__(self, "breakers", frozenset(self.breakers))
        try:
            self.penalty(self.allowed_length + FOLLOWED_TOKENS)
        except OverflowError as e:
            _check(False, "base", f"a number whose power of {FOLLOWED_TOKENS} is finite", self.base, e)

    def penalty(self, length: int) -> float:
        """What a repetition of `length` tokens, at least allowed_length of them, costs the token that continues it."""
        return float(self.multiplier * self.base ** (length - self.allowed_length))

    def penalties(self, history: Sequence[int]) -> dict[int, float]:
        """What to subtract from the logit of each token that would continue a repetition at the end of `history`."""
        longest: dict[int, int] = {}
        n = len(history)
        first = max(0, n - self.range) if self.range else 0
        for i in range(n - 1, first, -1):  # i == first has nothing before it in range
            token = history[i]
            if token in self.breakers:
                continue
            length = self._length(history, i, first)
            if length >= self.allowed_length and length > longest.get(token, 0):
                longest[token] = length
        return {token: self.penalty(length) for token, length in longest.items()}

    def _length(self, history: Sequence[int], at: int, first: int) -> int:
        """How many tokens before `at` are those at the end of the history, in range and with no breaker."""
        n, length = len(history), 0
        while length < self.allowed_length + FOLLOWED_TOKENS and at - 1 - length >= first:
            token = history[at - 1 - length]
            if token != history[n - 1 - length] or token in self.breakers:
                break
            length += 1
        return length


def _are_ids(value: object) -> bool:
    return isinstance(value, Collection) and all(isinstance(i, int) and i is not True and i >= 0 for i in value)


def _check(fits: bool, name: str, rule: str, got: object, cause: Exception | None = None) -> None:
    if not fits:
        raise ShapeError(f"dry: {name} must be {rule}, got {got!r}") from cause
