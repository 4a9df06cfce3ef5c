"""The start of an attention layer: norm, the q, k and v projections, rope, and keys and values into the cache."""

from __future__ import annotations

from typing import Any

import numpy as np

from webxpu.gpu.kernels import resolve
from webxpu.gpu.op import check, op
from webxpu.gpu.plan import Dispatch, Plan, Spec, arg, compose, fold, out
from webxpu.gpu.target import Gpu
from webxpu.llm.state import State
from webxpu.ops.cache import cache_write, check_cache
from webxpu.ops.matmul import linear
from webxpu.ops.matvec import check_weight
from webxpu.ops.project import subgroups_of, units_of
from webxpu.ops.rmsnorm import rmsnorm
from webxpu.ops.rope import PAIRS, Pairs, rope
from webxpu.quant.ggml import weight_part

# Threads of a workgroup of the portable kernels, and of the subgroups one, which takes a subgroup a pair.
WORKGROUP = 64
THREADS = 128


@op(writes=("cache",))
def rope_write(
    qkv: Any, table: Any, cache: Any, pages: Any, state: Any, *, heads: int, kv_heads: int, pairs: Pairs
) -> Any:
    """Rotates q and k by their positions, writes k and v into the cache and returns q.

    qkv      (L, (H + 2 G) * D) float32: q, k, v of a row side by side
    table    (P, D / 2, 2) float32: cos and sin of every position, see `rope_table`
    cache    (pages, 2, 64, G, D) float32, written
    pages    (n,) int32
    state    (64,) uint32: row r has position `state.position + r`
    heads    H, query heads
    kv_heads  G, key and value heads
    pairs    "adjacent" or "half", see `rope`
    returns  q (L, H, D) float32

    Positions past the table take its last row; the rows that write nothing are those of `cache_write`. Raises
    ShapeError.
    """
    rows, d = len(qkv), cache.shape[4]
    q, k, v = np.split(qkv.reshape(rows, heads + 2 * kv_heads, d), [heads, heads + kv_heads], axis=1)
    positions = np.minimum(State.from_words(state).position + np.arange(rows), len(table) - 1).astype(np.int32)
    q, k = (rope(np.ascontiguousarray(x), positions, table, pairs=pairs) for x in (q, k))
    cache_write(k, np.ascontiguousarray(v), cache, pages, state)
    return q


def _check_heads(
    op_name: str, table: Spec, cache: Spec, pages: Spec, state: Spec, heads: int, kv_heads: int, pairs: str
) -> int:
    g, d = check_cache(op_name, cache, pages, state)
    check(kv_heads == g, op_name, "kv_heads", f"{g} as in cache", kv_heads)
    check(heads >= 1 and heads % g == 0, op_name, "heads", f"a multiple of kv_heads {g}", heads)
    check(d % 2 == 0, op_name, "cache", "of an even width D", cache)
    rule = f"float32[P, {d // 2}, 2]"
    check(table.dtype == "float32" and len(table.shape) == 3, op_name, "table", rule, table)
    check(table.shape[0] >= 1 and table.shape[1:] == (d // 2, 2), op_name, "table", rule, table)
    check(pairs in PAIRS, op_name, "pairs", f"one of {', '.join(PAIRS)}", repr(pairs))
    return d


@rope_write.spec
def _(
    qkv: Spec, table: Spec, cache: Spec, pages: Spec, state: Spec, *, heads: int, kv_heads: int, pairs: Pairs
) -> Spec:
    d = _check_heads("rope_write", table, cache, pages, state, heads, kv_heads, pairs)
    n = (heads + 2 * kv_heads) * d
    check(qkv.dtype == "float32" and qkv.shape[1:] == (n,), "rope_write", "qkv", f"float32[L, {n}]", qkv)
    return Spec((qkv.shape[0], heads, d), "float32")


@rope_write.plan
def _(
    gpu: Gpu,
    outputs: tuple[Spec, ...],
    qkv: Spec,
    table: Spec,
    cache: Spec,
    pages: Spec,
    state: Spec,
    *,
    heads: int,
    kv_heads: int,
    pairs: Pairs,
) -> Plan:
    constants = {"HEADS": heads, "KV_HEADS": kv_heads, "D": cache.shape[4], "HALF": PAIRS[pairs]}
    bindings = [arg(0), arg(1), arg(2, "read_write"), arg(3), out(0), arg(4, "uniform")]
    grid = fold(-(-qkv.size // 2 // WORKGROUP))
    return Plan([Dispatch(resolve(gpu, "norm_qkv", "rope_write"), constants, bindings, grid)])


@op(writes=("cache",))
def norm_qkv(
    weight: Any,
    x: Any,
    gain: Any,
    table: Any,
    cache: Any,
    pages: Any,
    state: Any,
    *,
    heads: int,
    kv_heads: int,
    eps: float,
    pairs: Pairs,
) -> Any:
    """`rope_write(linear(rmsnorm(x, gain), weight), ...)`: q comes back, k and v go into the cache.

    weight   ((H + 2 G) * D, K) float32 or Blocks: the rows of q, then k, then v
    x        (L, K) float32, K a multiple of 4
    gain     (K,) float32, the norm's weight
    table    (P, D / 2, 2) float32: cos and sin of every position, see `rope_table`
    cache    (pages, 2, 64, G, D) float32, written
    pages    (n,) int32
    state    (64,) uint32: row r has position `state.position + r`
    heads    H, query heads
    kv_heads  G, key and value heads
    eps      added to the norm's mean of squares
    pairs    "adjacent" or "half", see `rope`
    returns  q (L, H, D) float32, summed in float64 (float32 on the GPU)

    At L == 1 one kernel multiplies by the norm's root after the sum. Edge cases as `rope_write`. Raises ShapeError.
    """
    qkv = linear(rmsnorm(x, gain, eps=eps), weight)
    return rope_write(qkv, table, cache, pages, state, heads=heads, kv_heads=kv_heads, pairs=pairs)


def check_norm(op_name: str, x: Spec, gain: Spec, weight: Spec) -> None:
    """The checks that the ops which begin with a norm share."""
    fits = x.dtype == "float32" and len(x.shape) == 2 and x.shape[1] % 4 == 0
    check(fits, op_name, "x", "float32[L, K] with K a multiple of 4", x)
    k = x.shape[1]
    check(gain == Spec((k,), "float32"), op_name, "gain", f"float32[{k}]", gain)
    check(check_weight(op_name, weight)[1] == k, op_name, "weight", f"(N, {k}) like the rows of x", weight)


@norm_qkv.spec
def _(
    weight: Spec,
    x: Spec,
    gain: Spec,
    table: Spec,
    cache: Spec,
    pages: Spec,
    state: Spec,
    *,
    heads: int,
    kv_heads: int,
    eps: float,
    pairs: Pairs,
) -> Spec:
    d = _check_heads("norm_qkv", table, cache, pages, state, heads, kv_heads, pairs)
    check_norm("norm_qkv", x, gain, weight)
    n = (heads + 2 * kv_heads) * d
    check(weight.shape[0] == n, "norm_qkv", "weight", f"({n}, K), the rows of q, k and v", weight)
    return Spec((x.shape[0], heads, d), "float32")


@norm_qkv.plan
def _(
    gpu: Gpu,
    outputs: tuple[Spec, ...],
    weight: Spec,
    x: Spec,
    gain: Spec,
    table: Spec,
    cache: Spec,
    pages: Spec,
    state: Spec,
    *,
    heads: int,
    kv_heads: int,
    eps: float,
    pairs: Pairs,
) -> Plan:
    if x.shape[0] != 1:
        c = compose(gpu, weight, x, gain, table, cache, pages, state)
        (normed,) = c.call(rmsnorm, c.args[1], c.args[2], eps=eps)
        (qkv,) = c.call(linear, normed, c.args[0])
        c.call(rope_write, qkv, *c.args[3:], into=[out(0)], heads=heads, kv_heads=kv_heads, pairs=pairs)
        return c.plan()
    n, k = weight.shape
    kernel = resolve(gpu, "norm_qkv", weights=weight_part(weight.dtype, weight.shape))
    heads_of = {"HEADS": heads, "KV_HEADS": kv_heads, "D": cache.shape[4], "HALF": PAIRS[pairs]}
    constants = {"N": n, "K": k, "EPS": eps, **heads_of}
    bindings = [arg(0), arg(1), arg(2), arg(3), arg(4, "read_write"), arg(5), out(0), arg(6, "uniform")]
    if kernel.features:
        pairs_per_group = subgroups_of(gpu, THREADS)
    else:
        constants["UNITS"] = units_of(gpu, 2)
        pairs_per_group = WORKGROUP * units_of(gpu, 2)
    return Plan([Dispatch(kernel, constants, bindings, fold(-(-n // 2 // pairs_per_group)))])
