"""What may come next: rules that a reply follows, looked at before each token is chosen."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from webxpu.errors import ShapeError
from webxpu.ops.mask import WORD_BITS

NOTHING_ALLOWED = "constraint allows no token to follow this prefix"


class ConstraintError(ValueError):
    """A prefix that no reply under the constraint begins with, or that nothing may follow."""


class Constraint(Protocol):
    """A rule for replies. What it says depends on the prefix alone, so one instance serves any number of generations;
    it may remember what it worked out for a prefix."""

    def allowed(self, prefix: Sequence[int]) -> Collection[int] | None:
        """The ids that may follow the ids generated so far: None for any, never none at all while the reply is to go
        on. Raises ConstraintError for a prefix that the rule rules out."""
        ...


class Candidates:
    """A constraint from a function that picks among the whole vocabulary.

    vocab    how many ids there are
    permits  called with the prefix and one id, says whether the id may follow
    """

    def __init__(self, vocab: int, permits: Callable[[Sequence[int], int], bool]) -> None:
        if vocab < 1:
            raise ShapeError(f"Candidates: vocab must be at least 1, got {vocab}")
        self._ids = range(vocab)
        self._permits = permits

    def allowed(self, prefix: Sequence[int]) -> list[int]:
        return [token for token in self._ids if self._permits(prefix, token)]


def allowed_ids(constraint: Constraint, prefix: Sequence[int], vocab: int) -> Collection[int] | None:
    """What a constraint allows, checked: None for any token, else at least one id, all within the vocabulary.

    Raises ConstraintError where nothing may follow, ShapeError for what are no ids of the vocabulary.
    """
    allowed = constraint.allowed(prefix)
    if allowed is None:
        return None
    if not isinstance(allowed, Collection):
        raise ShapeError(f"constraint: allowed must be a collection of ids, or None, got {allowed!r}")
    if not len(allowed):
        raise ConstraintError(NOTHING_ALLOWED)
    _as_ids(allowed, vocab)
    return allowed


def allowed_mask(allowed: Iterable[int] | None, vocab: int) -> NDArray[np.uint32]:
    """The (ceil(vocab / 32),) words that `webxpu.ops.mask` takes: bit i % 32 of word i / 32 is 1 where id i is allowed;
    None allows all.

    Raises ShapeError for an id that the vocabulary lacks.
    """
    bits = np.zeros(-(-vocab // WORD_BITS) * WORD_BITS, np.uint8)
    bits[slice(vocab) if allowed is None else _as_ids(allowed, vocab)] = 1
    return np.packbits(bits, bitorder="little").view("<u4").astype(np.uint32)


def _as_ids(allowed: Iterable[int], vocab: int) -> NDArray[np.int64]:
    ids = np.array(list(allowed))
    if not ids.size:
        return ids.astype(np.int64)
    wrong = ids[(ids < 0) | (ids >= vocab)] if ids.dtype.kind in "iu" else ids
    if wrong.size:
        raise ShapeError(f"constraint: allowed must be ids from 0 to {vocab - 1}, got {wrong.tolist()[0]!r}")
    return ids.astype(np.int64)
