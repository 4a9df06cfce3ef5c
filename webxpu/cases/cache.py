"""Cases of cache_write: each cache type, rows that cross a page, a page table out of order, padding, and the end of the
capacity."""

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from webxpu.cases.case import EXACT, F32, Case, Tolerance, distinct, hashed
from webxpu.llm.state import State
from webxpu.quant.kv import BLOCK, kv_spec

TOLERANCE = EXACT
F16 = Tolerance(1e-3, 1e-6, "float16 is rounded once on both sides, to either neighbour on a device of its own mind")


def block_values(shape: tuple[int, ...], seed: int = 0) -> F32:
    """Values whose blocks of 32 have powers of two as scales and whose codes are no ties, so that a quotient that is
    nearly right gives the right code."""
    parts = (hashed(int(np.prod(shape)), seed) % 511).astype(np.int64).reshape(-1, BLOCK) - 255
    parts[np.abs(parts) == 128] += 1
    block = np.arange(len(parts))
    parts[block, block % BLOCK] = np.where(block % 2, 256, -256)
    return (parts * 2.0 ** (block % 5 - 10)[:, None]).astype(np.float32).reshape(shape)


def empty_cache(kv: str, pages: int, g: int, d: int) -> NDArray[Any]:
    """A cache that holds what no case writes: -7, as the bits of a q8 word too."""
    spec = kv_spec(kv, pages, g, d)
    return np.full(spec.shape, 0xC0E00000 if kv == "q8" else -7, spec.dtype)


def _case(
    rows: int, g: int, d: int, position: int, valid: int, capacity: int = 256, kv: str = "f32"
) -> tuple[Any, ...]:
    shape = (rows, g, d)
    if kv == "q8":
        k, v = block_values(shape, 1), block_values(shape, 2)
    else:
        k = distinct(rows * g * d).reshape(shape)
        v = k + np.float32(10_000)
    pages = np.array([2, 0, 3, 1], np.int32)
    state = State(position=position, rows=valid, capacity=capacity)
    return k, v, empty_cache(kv, 4, g, d), pages, state.to_words()


def _zeros() -> tuple[Any, ...]:
    k, v, *rest = _case(1, 2, 32, 5, 1, kv="q8")
    k[0, 0] = 0
    v[0, 1] = 1e-35
    return k, v, *rest


CASES = [
    Case("cache_write", "one-row", partial(_case, 1, 3, 64, 70, 1), quick=True),
    Case("cache_write", "crosses-a-page", partial(_case, 6, 2, 8, 61, 6)),
    Case("cache_write", "padding", partial(_case, 16, 1, 16, 3, 5)),
    Case("cache_write", "no-valid-row", partial(_case, 2, 1, 4, 0, 0)),
    Case("cache_write", "past-the-capacity", partial(_case, 5, 2, 6, 98, 5, 100)),
    Case("cache_write", "more-rows-than-padding", partial(_case, 3, 1, 3, 62, 9)),
    Case("cache_write", "f16", partial(_case, 6, 3, 10, 61, 5, kv="f16"), tolerance=F16),
    Case("cache_write", "q8", partial(_case, 6, 3, 64, 61, 5, kv="q8"), quick=True),
    Case("cache_write", "q8-zeros", _zeros),
]
