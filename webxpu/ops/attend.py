"""Attention straight from the paged cache: an online softmax, split over the keys, that never holds the scores."""

from __future__ import annotations

from typing import Any

import numpy as np

from webxpu.gpu.kernels import resolve
from webxpu.gpu.op import check, op
from webxpu.gpu.plan import Dispatch, Plan, Spec, arg, fold, out
from webxpu.gpu.target import Gpu
from webxpu.llm.state import State
from webxpu.ops._rows import DECODE_ROWS
from webxpu.ops.cache import check_cache, slots_of
from webxpu.ops.rope import PAIRS, Pairs, rope
from webxpu.quant import kv

# The maximum of no scores at all, and the same in the kernels.
LOWEST = np.float32(np.finfo(np.float32).min)
# What the kernels' accumulators hold.
MAX_WIDTH = 256
PREFILL_ROWS = 16
WORKGROUP = 64
CPU_WORKGROUP = 4


@op
def attend(
    q: Any,
    cache: Any,
    pages: Any,
    state: Any,
    table: Any = None,
    *,
    parts: int,
    scale: float | None = None,
    window: int = 0,
    pairs: Pairs = "adjacent",
) -> Any:
    """`torch.nn.functional.scaled_dot_product_attention` with a causal mask and grouped heads, left in `parts` partial
    results that `attend_combine` joins.

    q        (L, H, D) float32; query head h attends kv head h // (H / G)
    cache    (P, 2, 64, G, D) float32 or float16, or uint32 for q8, see `webxpu.quant.kv`
    pages    (n,) int32
    state    (64,) uint32: row r has position `state.position + r` and attends positions up to its own
    table    (C, D / 2, 2) float32, see `rope_table`: the keys lie as they were before rope and are turned by their
             positions when they are read, D a multiple of 8; None where they lie turned
    parts    part p takes keys [first + p * step, first + (p + 1) * step), step = ceil((position + 1 - first) / parts)
    scale    1 / sqrt(D) if not given
    window   a row attends the last `window` positions up to its own, so first = max(0, position + 1 - window); 0: all
    pairs    "adjacent" or "half", how `table` turns, see `rope`
    returns  acc (L, H, parts, D) float32, the sum of exp(score - max) * value, and
             stats (L, H, parts, 2) float32, max and the sum of exp(score - max); summed in float64 (float32 on the GPU)

    A part without keys has max = the lowest float32, sum = 0, acc = 0; so has a row at or past `state.rows` or a
    position at or past `state.capacity`. A key past the table is turned by its last row. On the GPU each row of up to
    nine has the bits that it has alone. Raises ShapeError.
    """
    rows, heads, d = q.shape
    g = cache.shape[3]
    acc = np.zeros((rows, heads, parts, d), np.float32)
    stats = np.zeros((rows, heads, parts, 2), np.float32)
    stats[..., 0] = LOWEST
    positions = State.from_words(state).positions(rows)
    seen = np.arange(positions[-1] + 1 if len(positions) else 0)
    page, slot = slots_of(pages, seen)
    keys, values = (kv.restored(cache[page, which, slot]) for which in (0, 1))  # (S, G, D)
    if table is not None:
        keys = rope(keys, np.minimum(seen, len(table) - 1).astype(np.int32), table, pairs=pairs)
    keys, values = keys.astype(np.float64), values.astype(np.float64)
    queries = q.astype(np.float64).reshape(rows, g, heads // g, d) * (d**-0.5 if scale is None else scale)
    for row, end in enumerate(int(position) + 1 for position in positions):
        first = max(0, end - window) if window else 0
        step = -(-(end - first) // parts)
        for part in range(parts):
            some = slice(first + part * step, min(first + (part + 1) * step, end))
            if some.start >= some.stop:
                continue
            scores = np.einsum("gad,sgd->gas", queries[row], keys[some])
            largest = scores.max(axis=-1, keepdims=True).astype(np.float32)
            p = np.exp(scores - largest)
            acc[row, :, part] = np.einsum("gas,sgd->gad", p, values[some]).reshape(heads, d)
            stats[row, :, part, 0] = largest.reshape(heads)
            stats[row, :, part, 1] = p.sum(axis=-1).reshape(heads)
    return acc, stats


@attend.spec
def _(
    q: Spec,
    cache: Spec,
    pages: Spec,
    state: Spec,
    table: Spec | None = None,
    *,
    parts: int,
    scale: float | None = None,
    window: int = 0,
    pairs: Pairs = "adjacent",
) -> tuple[Spec, Spec]:
    g, d = check_cache("attend", cache, pages, state)
    rule = f"float32[L, H, {d}] with H a multiple of {g}"
    check(
        q.dtype == "float32" and len(q.shape) == 3 and q.shape[2] == d and q.shape[1] % g == 0, "attend", "q", rule, q
    )
    check(d % 4 == 0 and d <= MAX_WIDTH, "attend", "q", f"of a width D that is a multiple of 4 up to {MAX_WIDTH}", q)
    check(parts >= 1, "attend", "parts", "at least 1", parts)
    check(0 <= window < 2**32, "attend", "window", "from 0 to 2**32 - 1", window)
    check(pairs in PAIRS, "attend", "pairs", f"one of {', '.join(PAIRS)}", repr(pairs))
    if table is not None:
        rule = f"float32[C, {d // 2}, 2]"
        check(table.dtype == "float32" and table.shape[1:] == (d // 2, 2), "attend", "table", rule, table)
        check(table.shape[0] >= 1, "attend", "table", "at least one position", table)
        check(d % 8 == 0, "attend", "q", "of a width D that is a multiple of 8 where a table is given", q)
    return Spec((*q.shape[:2], parts, d), "float32"), Spec((*q.shape[:2], parts, 2), "float32")


@attend.plan
def _(
    gpu: Gpu,
    outputs: tuple[Spec, ...],
    q: Spec,
    cache: Spec,
    pages: Spec,
    state: Spec,
    table: Spec | None = None,
    *,
    parts: int,
    scale: float | None = None,
    window: int = 0,
    pairs: Pairs = "adjacent",
) -> Plan:
    rows, heads, d = q.shape
    sizes = {"H": heads, "G": cache.shape[3], "WIDE": d // 4, "PARTS": parts, "WINDOW": window}
    turn = 0 if table is None else 1 + PAIRS[pairs]
    constants = {**sizes, "SCALE": d**-0.5 if scale is None else scale, "TURN": turn}
    # q stands in for a table that is not read.
    bindings = [arg(0), arg(1), arg(2), arg(0 if table is None else 4), out(0), out(1), arg(3, "uniform")]
    few = rows <= DECODE_ROWS
    kernel = resolve(gpu, "attend", "decode" if few else "prefill", kv=kv.kv_of(cache))
    if kernel.variant.target == "cpu":
        grid = fold(-(-rows * heads * parts // CPU_WORKGROUP))
    elif few:
        grid = fold(rows * heads * parts)
    else:
        grid = (-(-rows // PREFILL_ROWS), heads, parts)
    return Plan([Dispatch(kernel, constants, bindings, grid)])


def check_parts(op_name: str, acc: Spec, stats: Spec) -> tuple[int, int, int, int]:
    """The checks that every op on the results of `attend` shares; returns L, H, parts and D."""
    fits = acc.dtype == "float32" and len(acc.shape) == 4 and acc.shape[3] % 4 == 0
    check(fits, op_name, "acc", "float32[L, H, parts, D] with D a multiple of 4", acc)
    rows, heads, parts, d = acc.shape
    check(
        stats == Spec((rows, heads, parts, 2), "float32"),
        op_name,
        "stats",
        f"float32[{rows}, {heads}, {parts}, 2]",
        stats,
    )
    return rows, heads, parts, d


@op
def attend_combine(acc: Any, stats: Any) -> Any:
    """Joins the partial results of `attend`.

    acc      (L, H, parts, D) float32, D a multiple of 4
    stats    (L, H, parts, 2) float32: max and sum
    returns  (L, H * D) float32; summed in float64 (float32 on the GPU)

    A row without keys is zeros. Raises ShapeError.
    """
    rows, heads, _, d = acc.shape
    largest = stats[..., 0].astype(np.float64)
    weight = np.exp(largest - largest.max(axis=-1, keepdims=True))
    total = (weight * stats[..., 1]).sum(axis=-1)[..., None]
    joined = (weight[..., None] * acc).sum(axis=2)
    return (
        np.divide(joined, total, out=np.zeros_like(joined), where=total != 0)
        .astype(np.float32)
        .reshape(rows, heads * d)
    )


@attend_combine.spec
def _(acc: Spec, stats: Spec) -> Spec:
    rows, heads, _, d = check_parts("attend_combine", acc, stats)
    return Spec((rows, heads * d), "float32")


@attend_combine.plan
def _(gpu: Gpu, outputs: tuple[Spec, ...], acc: Spec, stats: Spec) -> Plan:
    _, _, parts, d = acc.shape
    grid = fold(-(-outputs[0].size // 4 // WORKGROUP))
    return Plan([Dispatch(resolve(gpu, "attend", "combine"), {"D": d, "PARTS": parts}, [arg(0), arg(1), out(0)], grid)])
