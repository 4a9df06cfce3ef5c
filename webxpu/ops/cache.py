"""The paged key/value cache: keys and values of each position, written where the page table says.

A cache is (P, 2, 64, G, D) float32: page, key or value, slot, kv head, width. `pages` (n,) int32 is the table:
position p lies in page `pages[p // 64]`, slot `p % 64`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from webxpu.gpu.kernels import resolve
from webxpu.gpu.op import check, op
from webxpu.gpu.plan import Dispatch, Plan, Spec, arg, fold
from webxpu.gpu.target import Gpu
from webxpu.llm.state import WORDS, State

PAGE_TOKENS = 64
WORKGROUP = 64


def slots_of(pages: NDArray[np.int32], positions: NDArray[np.int64]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Page and slot of each position: `cache[page, 0, slot]` are its keys, `cache[page, 1, slot]` its values."""
    return pages[positions // PAGE_TOKENS], positions % PAGE_TOKENS


def check_state(op_name: str, state: Spec) -> None:
    """The checks that every op with a state shares."""
    check(state == Spec((WORDS,), "uint32"), op_name, "state", f"uint32[{WORDS}]", state)


def check_cache(op_name: str, cache: Spec, pages: Spec, state: Spec) -> tuple[int, int]:
    """The checks that every op with a cache shares; returns G and D."""
    rule = f"float32[P, 2, {PAGE_TOKENS}, G, D]"
    check(cache.dtype == "float32" and len(cache.shape) == 5, op_name, "cache", rule, cache)
    check(cache.shape[1:3] == (2, PAGE_TOKENS), op_name, "cache", rule, cache)
    check(pages.dtype == "int32" and len(pages.shape) == 1, op_name, "pages", "int32[n]", pages)
    check_state(op_name, state)
    return cache.shape[3], cache.shape[4]


@op(writes=("cache",))
def cache_write(k: Any, v: Any, cache: Any, pages: Any, state: Any) -> None:
    """Writes keys and values of this step's rows: row r goes to position `state.position + r`.

    k, v     (L, G, D) float32
    cache    (P, 2, 64, G, D) float32, written
    pages    (n,) int32
    state    (64,) uint32

    Rows at or past `state.rows`, and positions at or past `state.capacity`, write nothing. Raises ShapeError.
    """
    positions = State.from_words(state).positions(len(k))
    page, slot = slots_of(pages, positions)
    cache[page, 0, slot] = k[: len(positions)]
    cache[page, 1, slot] = v[: len(positions)]


@cache_write.spec
def _(k: Spec, v: Spec, cache: Spec, pages: Spec, state: Spec) -> tuple[Spec, ...]:
    g, d = check_cache("cache_write", cache, pages, state)
    rule = f"float32[L, {g}, {d}]"
    check(k.dtype == "float32" and len(k.shape) == 3 and k.shape[1:] == (g, d), "cache_write", "k", rule, k)
    check(v == k, "cache_write", "v", f"like k, {k}", v)
    return ()


@cache_write.plan
def _(gpu: Gpu, outputs: tuple[Spec, ...], k: Spec, v: Spec, cache: Spec, pages: Spec, state: Spec) -> Plan:
    _, g, d = k.shape
    bindings = [arg(0), arg(1), arg(2, "read_write"), arg(3), arg(4, "uniform")]
    return Plan([Dispatch(resolve(gpu, "cache"), {"G": g, "D": d}, bindings, fold(-(-k.size // WORKGROUP)))])
