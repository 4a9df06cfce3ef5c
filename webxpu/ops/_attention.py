"""What attention, grouped_attention and flash_attention share: their checks, their definition, their kernels' plans.

A query head is a row block of its kv head: the H / G query heads that read one kv head lie side by side in q, so q
(B, H, L, D) is also (B, G, M, D) with M = H / G * L, and attention is grouped attention with G = H.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from webxpu.gpu.kernels import Kernel, resolve
from webxpu.gpu.op import check
from webxpu.gpu.plan import Binding, Dispatch, Grid, Plan, Spec, arg, fold, in_chunks, out, scratch
from webxpu.gpu.target import Gpu
from webxpu.ops._lines import REAL, narrow, team

Floats = NDArray[Any]
F64 = NDArray[np.float64]
# Rows of a kernel's tile, and up to how many rows of a kv head the small tile is taken.
_TILE_ROWS = 64
_SMALL_ROWS = 16
_FEW_ROWS = 32
# Outputs of a tile along a row, and how many times as many a workgroup of flash_attention can hold.
TILE_COLUMNS = 64
_MOST_CHUNKS = 4
# Threads of a workgroup of the variants without workgroup memory.
_CPU_THREADS = 16


@dataclass(frozen=True)
class Call:
    """One call's sizes and options, after its checks. B samples, H query heads, G kv heads, L queries, S keys, D and Dv
    columns; `mask` and `query_offset` are None where they were left out."""

    op: str
    q: Spec
    k: Spec
    v: Spec
    mask: Spec | None
    query_offset: Spec | None
    causal: bool
    scale: float

    @property
    def group(self) -> int:
        """Query heads a kv head."""
        return self.q.shape[1] // self.k.shape[1]

    @property
    def heads(self) -> int:
        """kv heads of all samples."""
        return self.k.shape[0] * self.k.shape[1]

    @property
    def rows(self) -> int:
        """Query rows of a kv head."""
        return self.group * self.q.shape[2]

    @property
    def probs(self) -> Spec:
        return Spec((*self.q.shape[:3], self.k.shape[2]), self.q.dtype)

    @property
    def out(self) -> Spec:
        return Spec((*self.q.shape[:3], self.v.shape[3]), self.q.dtype)


def checked(
    op_name: str,
    q: Spec,
    k: Spec,
    v: Spec,
    mask: Spec | None,
    query_offset: Spec | None,
    *,
    causal: bool,
    scale: float | None,
    grouped: bool,
) -> Call:
    """The checks that the three ops share. `grouped`: k and v may have fewer heads than q. Raises ShapeError."""
    # An odd number of float16 fills no word, and kernels tell lengths from words: a width of 1 could not be told apart.
    least = 2 if q.dtype == "float16" else 1
    rule = "float32 of shape (B, H, L, D) with H and D >= 1, or float16 with D >= 2"
    fits = q.dtype in REAL and len(q.shape) == 4 and q.shape[1] >= 1 and q.shape[3] >= least
    check(fits, op_name, "q", rule, q)
    b, h, length, d = q.shape
    heads = f"Hkv that divides {h}" if grouped else str(h)
    rule = f"{q.dtype} of shape ({b}, {heads}, S, {d}), S >= 1"
    fits = k.dtype == q.dtype and len(k.shape) == 4 and k.shape[0] == b and k.shape[2] >= 1 and k.shape[3] == d
    check(fits, op_name, "k", rule, k)
    g, s = k.shape[1:3]
    check(g >= 1 and h % g == 0 if grouped else g == h, op_name, "k", rule, k)
    rule = f"{q.dtype} of shape ({b}, {g}, {s}, Dv), Dv >= {least}"
    check(v.dtype == q.dtype and v.shape[:3] == (b, g, s), op_name, "v", rule, v)
    check(len(v.shape) == 4 and v.shape[3] >= least, op_name, "v", rule, v)
    if mask is not None:
        full = (b, h, length)
        sizes = ", ".join("1" if n == 1 else f"1 or {n}" for n in full)
        rule = f"float32 of shape ({sizes}, {s})"
        fits = mask.dtype == "float32" and len(mask.shape) == 4 and mask.shape[3] == s
        check(fits, op_name, "mask", rule, mask)
        check(all(m in (1, n) for m, n in zip(mask.shape, full, strict=False)), op_name, "mask", rule, mask)
        check(not causal, op_name, "mask", "left out where causal is true", mask)
    if query_offset is not None:
        rule = "one int32"
        check(query_offset.dtype == "int32" and query_offset.size == 1, op_name, "query_offset", rule, query_offset)
        check(causal, op_name, "query_offset", "left out unless causal is true", query_offset)
    return Call(op_name, q, k, v, mask, query_offset, causal, d**-0.5 if scale is None else scale)


def offset_of(op_name: str, query_offset: NDArray[np.int32] | None) -> int:
    """The first query's position. Raises ShapeError where it is negative."""
    offset = 0 if query_offset is None else int(query_offset.reshape(()))
    check(offset >= 0, op_name, "query_offset", "at least 0", offset)
    return offset


def scores_of(
    q: Floats, k: Floats, mask: NDArray[np.float32] | None, *, offset: int, causal: bool, scale: float | None
) -> F64:
    """(B, H, L, seen) in float64: -inf where a key is hidden; keys that no query sees are left out."""
    b, h, length, d = q.shape
    g, s = k.shape[1:3]
    seen = min(s, length + offset) if causal else s
    wide = q.astype(np.float64).reshape(b, g, h // g * length, d) * (d**-0.5 if scale is None else scale)
    scores: F64 = (wide @ k[:, :, :seen].astype(np.float64).swapaxes(2, 3)).reshape(b, h, length, seen)
    if mask is not None:
        scores += mask
    if causal:
        scores[..., np.arange(seen) > np.arange(length)[:, None] + offset] = -np.inf
    return scores


def attend(
    op_name: str,
    q: Floats,
    k: Floats,
    v: Floats,
    mask: NDArray[np.float32] | None,
    query_offset: NDArray[np.int32] | None,
    *,
    causal: bool,
    scale: float | None,
) -> tuple[Floats, Floats]:
    """The definition: probs and out in q's dtype. The values meet the rounded probs, as they do on the GPU."""
    scores = scores_of(q, k, mask, offset=offset_of(op_name, query_offset), causal=causal, scale=scale)
    largest = scores.max(axis=-1, keepdims=True, initial=-np.inf)
    powers = np.exp(scores - np.where(np.isneginf(largest), 0, largest))
    total = powers.sum(axis=-1, keepdims=True)
    b, h, length, seen = scores.shape
    g, s, dv = v.shape[1:]
    probs = np.zeros((b, h, length, s), q.dtype)
    probs[..., :seen] = narrow(np.divide(powers, total, out=powers, where=total != 0), q)
    shared = probs[..., :seen].astype(np.float64).reshape(b, g, h // g * length, seen)
    out = shared @ v[:, :, :seen].astype(np.float64)
    return probs, narrow(out, q).reshape(b, h, length, dv)


@dataclass(frozen=True)
class _Bound:
    """A binding, and how many bytes of it are one kv head's: 0 where each head reads the whole."""

    binding: Binding
    head_bytes: int


def probs_and_out(gpu: Gpu, folder: str, call: Call) -> Plan:
    """Scores, their softmax, then the values, by the kernels of `folder`. Float32 scores become probabilities where
    they lie; float16 cannot hold scores, so those lie in scratch."""
    s, dv, dtype = call.k.shape[2], call.v.shape[3], REAL[call.q.dtype]
    q, k, v, mask, offset = _inputs(call)
    wide = Spec(call.probs.shape, "float32")
    scores = _bound(call, scratch(0) if dtype else out(0), wide)
    scores_read = _bound(call, scratch(0, "read"), wide)
    probs, result = _bound(call, out(0), call.probs), _bound(call, out(1), call.out)
    probs_read = replace(probs, binding=replace(probs.binding, access="read"))
    keys = {"CAUSAL": int(call.causal), "OFFSET": int(call.query_offset is not None), "GROUP": call.group}

    kernel = resolve(gpu, folder, "scores", dtype=dtype)
    rows, grid = _tiles(kernel, call, s, TILE_COLUMNS, 1)
    steps = _by_heads(gpu, call, kernel, keys | _score_constants(call) | rows, [q, k, mask, offset, scores], grid)

    kernel = resolve(gpu, folder, "softmax", dtype=dtype)
    threads, lines = team(kernel, s)
    constants = keys | {"D": call.q.shape[3], "THREADS": threads}
    bound = [k, offset, scores_read, probs] if dtype else [k, offset, probs]
    steps += _by_heads(gpu, call, kernel, constants, bound, lambda heads: lines(heads * call.rows))

    kernel = resolve(gpu, folder, "context", dtype=dtype)
    rows, grid = _tiles(kernel, call, dv, TILE_COLUMNS, 4)
    steps += _by_heads(gpu, call, kernel, keys | {"DV": dv} | rows, [probs_read, v, offset, result], grid)
    return Plan(steps, [wide] if dtype else [])


def in_one_pass(gpu: Gpu, call: Call) -> Plan:
    """One dispatch that never holds the scores."""
    dv = call.v.shape[3]
    q, k, v, mask, offset = _inputs(call)
    kernel = resolve(gpu, "flash_attention", dtype=REAL[call.q.dtype])
    # The columns are shared out evenly among as few workgroups as can hold them.
    pieces = -(-dv // TILE_COLUMNS)
    chunks = -(-pieces // -(-pieces // _MOST_CHUNKS))
    rows, grid = _tiles(kernel, call, dv, chunks * TILE_COLUMNS, TILE_COLUMNS)
    constants: dict[str, int | float] = {
        "CAUSAL": int(call.causal), "OFFSET": int(call.query_offset is not None), "GROUP": call.group, "DV": dv,
    }  # fmt: skip
    constants |= _score_constants(call) | rows | ({"CHUNKS": chunks} if rows else {})
    bound = [q, k, v, mask, offset, _bound(call, out(0), call.out)]
    return Plan(_by_heads(gpu, call, kernel, constants, bound, grid))


def _bound(call: Call, binding: Binding, spec: Spec) -> _Bound:
    return _Bound(binding, spec.size // max(call.heads, 1) * np.dtype(spec.dtype).itemsize)


def _inputs(call: Call) -> tuple[_Bound, _Bound, _Bound, _Bound, _Bound]:
    """q, k, v, mask and query_offset; q stands in for what was left out."""
    q, k, v = (_bound(call, arg(i), spec) for i, spec in enumerate((call.q, call.k, call.v)))
    mask = q if call.mask is None else _Bound(arg(3), 0) if _is_shared(call) else _bound(call, arg(3), call.mask)
    return q, k, v, mask, q if call.query_offset is None else _Bound(arg(4), 0)


def _is_shared(call: Call) -> bool:
    """Whether several heads read the same rows of the mask."""
    return call.mask is not None and call.mask.shape[:2] != call.q.shape[:2]


def _score_constants(call: Call) -> dict[str, int | float]:
    own = (0, 0, 0) if call.mask is None else call.mask.shape[:3]
    mask = sum(1 << axis for axis, n in enumerate((2, *own)) if n > 1) if call.mask is not None else 0
    heads = call.q.shape[1] if call.mask is not None else 1
    return {"D": call.q.shape[3], "SCALE": call.scale, "MASK": mask, "H": heads, "FIRST": 0}


def _tiles(
    kernel: Kernel, call: Call, columns: int, width: int, a_thread: int
) -> tuple[dict[str, int], Callable[[int], Grid]]:
    """The constant ROWS and the grid, for a number of kv heads, of a kernel that makes `columns` for each row: in tiles
    `width` wide, or on a CPU adapter `a_thread` columns a thread, without tiles."""
    if kernel.variant.target == "cpu":
        jobs = call.rows * -(-columns // a_thread)
        return {}, lambda heads: fold(-(-heads * jobs // _CPU_THREADS))
    rows = _SMALL_ROWS if call.rows <= _FEW_ROWS else _TILE_ROWS
    tiles = -(-call.rows // rows) * -(-columns // width)
    return {"ROWS": rows}, lambda heads: fold(heads * tiles)


def _by_heads(
    gpu: Gpu,
    call: Call,
    kernel: Kernel,
    constants: Mapping[str, int | float],
    bound: Sequence[_Bound],
    grid: Callable[[int], Grid],
) -> list[Dispatch]:
    dispatch = Dispatch(kernel, constants, [b.binding for b in bound], (0, 0, 0))
    numbered = _is_shared(call) and "FIRST" in constants
    return by_heads(gpu, call.heads, dispatch, [b.head_bytes for b in bound], grid, numbered=numbered)


def by_heads(
    gpu: Gpu,
    heads: int,
    dispatch: Dispatch,
    head_bytes: Sequence[int],
    grid: Callable[[int], Grid],
    *,
    numbered: bool,
) -> list[Dispatch]:
    """The dispatch on all heads, or several on consecutive heads where a binding is larger than the device can bind.

    head_bytes  for each binding the bytes of one head; 0 where every head reads the whole of it
    grid        the grid for a number of heads
    numbered    whether the constant FIRST is set to a part's first head; HEADS is always set to how many it has
    """

    def told(first: int, count: int) -> dict[str, int]:
        return {"HEADS": count} | ({"FIRST": first} if numbered else {})

    return in_chunks(gpu, dispatch, heads, head_bytes, grid, told=told)
