"""Ids that a caller gives, checked before anything runs."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence

from webxpu.errors import ShapeError
from webxpu.llm.state import MAX_STOPS

# The largest id: kernels have them as int32. Those of end tokens that a model lacks may lie past its vocabulary.
MAX_ID = 2**31 - 1


def checked_ids(ids: Sequence[int], vocab: int, call: str = "generate") -> list[int]:
    """The ids as Python integers. Raises ShapeError where there is none, or one is no integer or outside the
    vocabulary."""
    checked = _whole_ids(ids, call, "ids")
    if not checked:
        raise ShapeError(f"{call}: ids must hold at least one token, got none")
    for place, token in enumerate(checked):
        if not 0 <= token < vocab:
            raise ShapeError(f"{call}: ids must be from 0 to {vocab - 1}, got {token} at index {place}")
    return checked


def checked_stops(ids: Iterable[int], call: str = "generate") -> list[int]:
    """Stop ids, rising, each once. Raises ShapeError where one can be no id, or there are too many."""
    stops = sorted(set(_whole_ids(ids, call, "stop_ids")))
    if stops and not 0 <= stops[0] <= stops[-1] <= MAX_ID:
        raise ShapeError(f"{call}: stop_ids must be from 0 to {MAX_ID}, got {stops}")
    if len(stops) > MAX_STOPS:
        raise ShapeError(f"{call}: stop_ids must be at most {MAX_STOPS}, got {len(stops)}")
    return stops


def _whole_ids(ids: Iterable[int], call: str, name: str) -> list[int]:
    try:
        return [operator.index(i) for i in ids]
    except TypeError as e:
        raise ShapeError(f"{call}: {name} must be integers: {e}") from e
