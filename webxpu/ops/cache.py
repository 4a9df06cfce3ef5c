"""The paged key/value cache: keys and values of each position, written where the page table says.

A cache is (P, 2, 64, G, D): page, key or value, slot, kv head, width, in one of the three types of `webxpu.quant.kv`.
`pages` (n,) int32 is the table: position p lies in page `pages[p // 64]`, slot `p % 64`.
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
from webxpu.quant import kv

PAGE_TOKENS = kv.PAGE_TOKENS
WORKGROUP = 64
# Values that a thread stores at once: kernels/_with/kv_write.
STORED = {"f32": 1, "f16": 2, "q8": kv.BLOCK}


def slots_of(pages: NDArray[np.int32], positions: NDArray[np.int64]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Page and slot of each position: `cache[page, 0, slot]` are its keys, `cache[page, 1, slot]` its values."""
    return pages[positions // PAGE_TOKENS], positions % PAGE_TOKENS


def check_state(op_name: str, state: Spec) -> None:
    """The checks that every op with a state shares."""
    check(state == Spec((WORDS,), "uint32"), op_name, "state", f"uint32[{WORDS}]", state)


def check_cache(op_name: str, cache: Spec, pages: Spec, state: Spec) -> tuple[int, int]:
    """The checks that every op with a cache shares; returns G and D."""
    rule = f"float32[P, 2, {PAGE_TOKENS}, G, D], float16 of an even D, or uint32[.., D / {kv.BLOCK} * {kv.BLOCK_WORDS}]"
    multiple = {"float32": 1, "float16": 2, "uint32": kv.BLOCK_WORDS}.get(cache.dtype, 0)
    check(multiple and len(cache.shape) == 5, op_name, "cache", rule, cache)
    check(cache.shape[1:3] == (2, PAGE_TOKENS) and cache.shape[4] % multiple == 0, op_name, "cache", rule, cache)
    check(pages.dtype == "int32" and len(pages.shape) == 1, op_name, "pages", "int32[n]", pages)
    check_state(op_name, state)
    return cache.shape[3], kv.width_of(cache)


@op(writes=("cache",))
def cache_write(k: Any, v: Any, cache: Any, pages: Any, state: Any) -> None:
    """Writes keys and values of this step's rows: row r goes to position `state.position + r`.

    k, v     (L, G, D) float32
    cache    (P, 2, 64, G, D) float32 or float16, or uint32 for q8, see `webxpu.quant.kv`; written
    pages    (n,) int32
    state    (64,) uint32

    Rows at or past `state.rows`, and positions at or past `state.capacity`, write nothing. Raises ShapeError.
    """
    positions = State.from_words(state).positions(len(k))
    page, slot = slots_of(pages, positions)
    cache[page, 0, slot] = kv.stored(k[: len(positions)], cache.dtype)
    cache[page, 1, slot] = kv.stored(v[: len(positions)], cache.dtype)


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
    held = kv.kv_of(cache)
    bindings = [arg(0), arg(1), arg(2, "read_write"), arg(3), arg(4, "uniform")]
    grid = fold(-(-k.size // STORED[held] // WORKGROUP))
    return Plan([Dispatch(resolve(gpu, "cache", kv=held), {"G": g, "D": d}, bindings, grid)])
