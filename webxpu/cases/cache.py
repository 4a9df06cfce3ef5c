"""Cases of cache_write: rows that cross a page, a page table out of order, padding, and the end of the capacity."""

from functools import partial
from typing import Any

import numpy as np

from webxpu.cases.case import EXACT, Case, distinct
from webxpu.llm.state import State

TOLERANCE = EXACT


def _case(rows: int, g: int, d: int, position: int, valid: int, capacity: int = 256) -> tuple[Any, ...]:
    k = distinct(rows * g * d).reshape(rows, g, d)
    cache = np.full((4, 2, 64, g, d), -1, np.float32)
    pages = np.array([2, 0, 3, 1], np.int32)
    state = State(position=position, rows=valid, capacity=capacity)
    return k, k + np.float32(10_000), cache, pages, state.to_words()


CASES = [
    Case("cache_write", "one-row", partial(_case, 1, 3, 64, 70, 1), quick=True),
    Case("cache_write", "crosses-a-page", partial(_case, 6, 2, 8, 61, 6)),
    Case("cache_write", "padding", partial(_case, 16, 1, 16, 3, 5)),
    Case("cache_write", "no-valid-row", partial(_case, 2, 1, 4, 0, 0)),
    Case("cache_write", "past-the-capacity", partial(_case, 5, 2, 6, 98, 5, 100)),
    Case("cache_write", "more-rows-than-padding", partial(_case, 3, 1, 3, 62, 9)),
]
