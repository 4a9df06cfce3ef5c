"""The start of an attention layer: norm, the q, k and v projections, bias, the norms of q and k, rope, and keys and
values into the cache."""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np

from webxpu.gpu.kernels import resolve
from webxpu.gpu.op import check, op
from webxpu.gpu.plan import Composition, Dispatch, Plan, Spec, Value, arg, fold, out
from webxpu.gpu.target import Gpu
from webxpu.llm.state import State
from webxpu.ops._rows import DECODE_ROWS
from webxpu.ops.cache import STORED, cache_write, check_cache
from webxpu.ops.matmul import linear
from webxpu.ops.norm_linear import check_norm, norm_linear
from webxpu.ops.project import subgroups_of, units_of
from webxpu.ops.rmsnorm import rmsnorm
from webxpu.ops.rope import PAIRS, Pairs, rope
from webxpu.quant.ggml import weight_part
from webxpu.quant.kv import kv_of

Keys = Literal["roped", "unroped"]
KEYS = get_args(Keys)
# Threads of a workgroup of the portable kernels, and of the subgroups one, which takes a subgroup a pair.
WORKGROUP = 64
THREADS = 128
# Cache types that store a pair of values: f16 only one that lies side by side.
PAIR_TYPES = ("f32", "f16")


@op(writes=("cache",))
def rope_write(
    qkv: Any,
    table: Any,
    cache: Any,
    pages: Any,
    state: Any,
    bias: Any = None,
    q_gain: Any = None,
    k_gain: Any = None,
    *,
    heads: int,
    kv_heads: int,
    pairs: Pairs,
    eps: float = 1e-6,
    keys: Keys = "roped",
) -> Any:
    """Adds a bias, norms the heads of q and k, turns them by their positions, writes k and v into the cache, returns q.

    qkv      (L, (H + 2 G) * D) float32: q, k, v of a row side by side
    table    (C, D / 2, 2) float32: cos and sin of every position, see `rope_table`
    cache    (P, 2, 64, G, D) float32 or float16, or uint32 for q8, see `webxpu.quant.kv`; written
    pages    (n,) int32
    state    (64,) uint32: row r has position `state.position + r`
    bias     ((H + 2 G) * D,) float32, added to every row; None for none
    q_gain, k_gain  (D,) float32, the weights of an RMSNorm of each head of q and of k, after the bias and before rope;
             None, both of them, for no norm
    heads    H, query heads
    kv_heads  G, key and value heads
    pairs    "adjacent" or "half", see `rope`
    eps      added to the heads' means of squares
    keys     "roped", or "unroped": k is written as it is before rope, for `attend` with a table
    returns  q (L, H, D) float32

    Positions past the table take its last row; the rows that write nothing are those of `cache_write`. Raises
    ShapeError.
    """
    rows, d = len(qkv), table.shape[1] * 2
    x = qkv.reshape(rows, heads + 2 * kv_heads, d)
    if bias is not None:
        x = x + bias.reshape(-1, d)
    q, k, v = np.split(x, [heads, heads + kv_heads], axis=1)
    if q_gain is not None:
        q, k = rmsnorm(q, q_gain, eps=eps), rmsnorm(k, k_gain, eps=eps)
    positions = np.minimum(State.from_words(state).position + np.arange(rows), len(table) - 1).astype(np.int32)
    q = rope(np.ascontiguousarray(q), positions, table, pairs=pairs)
    if keys == "roped":
        k = rope(np.ascontiguousarray(k), positions, table, pairs=pairs)
    cache_write(np.ascontiguousarray(k), np.ascontiguousarray(v), cache, pages, state)
    return q


def _check_heads(
    op_name: str,
    table: Spec,
    cache: Spec,
    pages: Spec,
    state: Spec,
    bias: Spec | None,
    q_gain: Spec | None,
    k_gain: Spec | None,
    heads: int,
    kv_heads: int,
    pairs: str,
    eps: float,
    keys: str,
) -> int:
    """The checks that the two ops share; returns D."""
    g, d = check_cache(op_name, cache, pages, state)
    check(kv_heads == g, op_name, "kv_heads", f"{g} as in cache", kv_heads)
    check(heads >= 1 and heads % g == 0, op_name, "heads", f"a multiple of kv_heads {g}", heads)
    check(d % 2 == 0, op_name, "cache", "of an even width D", cache)
    rule = f"float32[P, {d // 2}, 2]"
    check(table.dtype == "float32" and len(table.shape) == 3, op_name, "table", rule, table)
    check(table.shape[0] >= 1 and table.shape[1:] == (d // 2, 2), op_name, "table", rule, table)
    check(pairs in PAIRS, op_name, "pairs", f"one of {', '.join(PAIRS)}", repr(pairs))
    check(keys in KEYS, op_name, "keys", f"one of {', '.join(KEYS)}", repr(keys))
    check(eps >= 0, op_name, "eps", "at least 0", eps)
    n = (heads + 2 * kv_heads) * d
    for name, given, width in (("bias", bias, n), ("q_gain", q_gain, d), ("k_gain", k_gain, d)):
        check(given in (None, Spec((width,), "float32")), op_name, name, f"float32[{width}]", given)
    both = (q_gain is None) == (k_gain is None)
    check(both, op_name, "q_gain and k_gain", "given both or neither", f"{q_gain} and {k_gain}")
    return d


@rope_write.spec
def _(
    qkv: Spec,
    table: Spec,
    cache: Spec,
    pages: Spec,
    state: Spec,
    bias: Spec | None = None,
    q_gain: Spec | None = None,
    k_gain: Spec | None = None,
    *,
    heads: int,
    kv_heads: int,
    pairs: Pairs,
    eps: float = 1e-6,
    keys: Keys = "roped",
) -> Spec:
    more = (bias, q_gain, k_gain)
    d = _check_heads("rope_write", table, cache, pages, state, *more, heads, kv_heads, pairs, eps, keys)
    n = (heads + 2 * kv_heads) * d
    check(qkv.dtype == "float32" and qkv.shape[1:] == (n,), "rope_write", "qkv", f"float32[L, {n}]", qkv)
    return Spec((qkv.shape[0], heads, d), "float32")


def _head_constants(d: int, heads: int, kv_heads: int, pairs: Pairs, keys: Keys, bias: Spec | None) -> dict[str, int]:
    """The constants that the kernels which turn and store share."""
    turned = heads + (kv_heads if keys == "roped" else 0)
    half, biased = PAIRS[pairs], int(bias is not None)
    return {"HEADS": heads, "KV_HEADS": kv_heads, "D": d, "HALF": half, "TURNED": turned, "BIASED": biased}


@rope_write.plan
def _(
    gpu: Gpu,
    outputs: tuple[Spec, ...],
    qkv: Spec,
    table: Spec,
    cache: Spec,
    pages: Spec,
    state: Spec,
    bias: Spec | None = None,
    q_gain: Spec | None = None,
    k_gain: Spec | None = None,
    *,
    heads: int,
    kv_heads: int,
    pairs: Pairs,
    eps: float = 1e-6,
    keys: Keys = "roped",
) -> Plan:
    held = kv_of(cache)
    constants = _head_constants(outputs[0].shape[2], heads, kv_heads, pairs, keys, bias)
    # qkv stands in for what was left out.
    more = [arg(5 + i if given else 0) for i, given in enumerate((bias, q_gain, k_gain))]
    bindings = [arg(0), arg(1), arg(2, "read_write"), arg(3), *more, out(0), arg(4, "uniform")]
    kernel = resolve(gpu, "norm_qkv", "rope_write", kv=held)
    grid = fold(-(-qkv.size // STORED[held] // WORKGROUP))
    return Plan([Dispatch(kernel, {**constants, "NORM": int(q_gain is not None), "EPS": eps}, bindings, grid)])


@op(writes=("cache",))
def norm_qkv(
    weight: Any,
    x: Any,
    gain: Any,
    table: Any,
    cache: Any,
    pages: Any,
    state: Any,
    bias: Any = None,
    q_gain: Any = None,
    k_gain: Any = None,
    *,
    heads: int,
    kv_heads: int,
    eps: float,
    pairs: Pairs,
    keys: Keys = "roped",
) -> Any:
    """`rope_write(linear(rmsnorm(x, gain), weight), ...)`: q comes back, k and v go into the cache.

    weight   ((H + 2 G) * D, K) float32 or Blocks: the rows of q, then k, then v
    x        (L, K) float32, K a multiple of 4
    gain     (K,) float32, the norm's weight
    table    (C, D / 2, 2) float32: cos and sin of every position, see `rope_table`
    cache    (P, 2, 64, G, D) float32 or float16, or uint32 for q8, see `webxpu.quant.kv`; written
    pages    (n,) int32
    state    (64,) uint32: row r has position `state.position + r`
    bias     ((H + 2 G) * D,) float32, and
    q_gain, k_gain  (D,) float32: see `rope_write`
    heads    H, query heads
    kv_heads  G, key and value heads
    eps      added to the means of squares of all norms
    pairs    "adjacent" or "half", see `rope`
    keys     "roped" or "unroped", see `rope_write`
    returns  q (L, H, D) float32, summed in float64 (float32 on the GPU)

    At up to nine rows the GPU multiplies by the norm's root after the sum, and each row has the bits that it has alone.
    Edge cases as `rope_write`. Raises ShapeError.
    """
    qkv = linear(rmsnorm(x, gain, eps=eps), weight)
    more = {"heads": heads, "kv_heads": kv_heads, "pairs": pairs, "eps": eps, "keys": keys}
    return rope_write(qkv, table, cache, pages, state, bias, q_gain, k_gain, **more)


@norm_qkv.spec
def _(
    weight: Spec,
    x: Spec,
    gain: Spec,
    table: Spec,
    cache: Spec,
    pages: Spec,
    state: Spec,
    bias: Spec | None = None,
    q_gain: Spec | None = None,
    k_gain: Spec | None = None,
    *,
    heads: int,
    kv_heads: int,
    eps: float,
    pairs: Pairs,
    keys: Keys = "roped",
) -> Spec:
    more = (bias, q_gain, k_gain)
    d = _check_heads("norm_qkv", table, cache, pages, state, *more, heads, kv_heads, pairs, eps, keys)
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
    bias: Spec | None = None,
    q_gain: Spec | None = None,
    k_gain: Spec | None = None,
    *,
    heads: int,
    kv_heads: int,
    eps: float,
    pairs: Pairs,
    keys: Keys = "roped",
) -> Plan:
    few = x.shape[0] <= DECODE_ROWS
    held = kv_of(cache)
    if few and is_fused(held, pairs, q_gain is not None):
        heads_of = _head_constants(outputs[0].shape[2], heads, kv_heads, pairs, keys, bias)
        # gain stands in for a bias that was left out.
        places = [arg(3), arg(4, "read_write"), arg(5), arg(2 if bias is None else 7), out(0), arg(6, "uniform")]
        n, k = weight.shape
        kernel = resolve(gpu, "norm_qkv", weights=weight_part(weight.dtype, weight.shape), kv=held)
        constants = {"N": n, "K": k, "EPS": eps, **heads_of}
        if kernel.features:
            pairs_per_group = subgroups_of(gpu, THREADS)
        else:
            constants["UNITS"] = units_of(gpu, 2)
            pairs_per_group = WORKGROUP * units_of(gpu, 2)
        grid = fold(x.shape[0] * -(-n // 2 // pairs_per_group))
        return Plan([Dispatch(kernel, constants, [arg(0), arg(1), arg(2), *places], grid)])
    c = Composition(gpu, ())
    specs = (weight, x, gain, table, cache, pages, state, bias, q_gain, k_gain)
    values = [Value(arg(i), spec) if spec else None for i, spec in enumerate(specs)]
    (qkv,) = c.call(norm_linear, values[0], values[1], values[2], eps=eps)
    more = {"heads": heads, "kv_heads": kv_heads, "pairs": pairs, "eps": eps, "keys": keys}
    c.call(rope_write, qkv, *values[3:], into=[out(0)], **more)
    return c.plan()


def is_fused(kv: str, pairs: Pairs, normed: bool) -> bool:
    """Whether one kernel does all of `norm_qkv` for a few rows. A norm of q and k needs the whole head, a block of q8
    more than a pair, and so does a word of float16 unless it is the pair."""
    return not normed and (kv == "f32" or (kv == "f16" and pairs == "adjacent"))
