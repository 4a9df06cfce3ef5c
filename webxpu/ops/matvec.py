"""Matrix times vector: every weight is read once, so its kernels stream. A matrix times a matrix reuses: see matmul.

Weights in our own formats come as two arrays. Of 8 bits: the codes of `quantize`, packed by `webxpu.quant.q8.pack_q8`,
and its scales. Of 4 bits: the codes of `webxpu.quant.q4g128.quantize_q4g128`, packed by `pack_q4` there, and its
scales.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from webxpu.gpu.kernels import Kernel, resolve
from webxpu.gpu.op import check, op
from webxpu.gpu.plan import Binding, Dispatch, Plan, Spec, arg, compose, fold, in_chunks, out
from webxpu.gpu.target import Gpu
from webxpu.ops._lines import REAL, narrow
from webxpu.ops.activation import KINDS, activation
from webxpu.ops.elementwise import elementwise
from webxpu.quant.apart import Q4G128, Q8, Apart
from webxpu.quant.ggml import WEIGHT_TYPES, Blocks, dequantize, is_block_type, part_chunk, row_nbytes, weight_part
from webxpu.quant.q4g128 import dequantize_q4g128
from webxpu.quant.q8 import unpack_q8

F32 = NDArray[np.float32]
F64 = NDArray[np.float64]
Words = NDArray[np.uint32]

# Threads of a workgroup in kernels/_with/thread_rows.wgsl, lane_rows.wgsl and in q8_ffn's kernels.
_PORTABLE_ROWS = 64
_SUBGROUP_THREADS = 128
# Lanes that a big GPU wants at work before lanes are given more rows each.
_BUSY_LANES = 131_072


@op
def matvec(weight: NDArray[Any] | Blocks, x: NDArray[Any]) -> NDArray[Any]:
    """`torch.mv(weight, x)`.

    weight   (N, K) float32, or Blocks of any type; float16 where x is
    x        (K,) float32 or float16
    returns  (N,) of x's dtype; sums in float64 (float32 on the GPU), rounded once

    K = 0 gives zeros. Raises ShapeError; Unsupported for float16 on a device without it.
    """
    return narrow(as_float64(weight) @ x.astype(np.float64), x)


@matvec.spec
def _(weight: Spec, x: Spec) -> Spec:
    n, k = check_weight_of("matvec", weight, x)
    check(x.shape == (k,), "matvec", "x", f"of shape ({k},)", x)
    return Spec((n,), x.dtype)


@matvec.plan
def _(gpu: Gpu, outputs: Sequence[Spec], weight: Spec, x: Spec) -> Plan:
    part = weight_part(weight.dtype, weight.shape)
    kernel = _kernel_for(gpu, part, REAL[x.dtype])
    (n, k), size = weight.shape, row_nbytes(weight.dtype, weight.shape[1])
    row_bytes = None if size is None else [size, 0, np.dtype(x.dtype).itemsize]
    return _rows_plan(gpu, kernel, n, k, [arg(0), arg(1), out(0)], row_bytes)


@op
def matvec_q8(weight: Words, scale: F32, x: F32) -> F32:
    """`torch.mv(codes * scale[:, None], x)` for a weight of 8-bit codes (W8A32).

    weight   (N, ceil(K / 4)) uint32, see `pack_q8`
    scale    (N,) float32
    x        (K,) float32
    returns  (N,) float32; `scale * (codes @ x)`, summed in float64 (float32 on the GPU)

    K = 0 gives zeros. Raises ShapeError.
    """
    sums = unpack_q8(weight, len(x)).astype(np.float64) @ x.astype(np.float64)
    return np.asarray(sums * scale.astype(np.float64), np.float32)


@matvec_q8.spec
def _(weight: Spec, scale: Spec, x: Spec) -> Spec:
    return Spec((_check_product("matvec_q8", Q8, weight, scale, x),), "float32")


@matvec_q8.plan
def _(gpu: Gpu, outputs: Sequence[Spec], weight: Spec, scale: Spec, x: Spec) -> Plan:
    return _apart_plan(gpu, Q8, weight.shape[0], x.size)


@op
def matvec_q8_ffn(weight_gate: Words, scale_gate: F32, weight_up: Words, scale_up: F32, x: F32) -> F32:
    """`silu(matvec_q8(gate, x)) * matvec_q8(up, x)`: the first half of a gated feed-forward layer, for one token.

    weight_gate, weight_up   (N, ceil(K / 4)) uint32, see `pack_q8`
    scale_gate, scale_up     (N,) float32
    x                        (K,) float32
    returns                  (N,) float32; both products and the silu are rounded to float32 (not on the GPU)

    K = 0 gives zeros. Raises ShapeError.
    """
    gate, up = matvec_q8(weight_gate, scale_gate, x), matvec_q8(weight_up, scale_up, x)
    return np.asarray(elementwise(activation(gate, kind="silu"), up, kind="multiply"))


@matvec_q8_ffn.spec
def _(weight_gate: Spec, scale_gate: Spec, weight_up: Spec, scale_up: Spec, x: Spec) -> Spec:
    n = _check_product("matvec_q8_ffn", Q8, weight_gate, scale_gate, x, "_gate")
    _check_product("matvec_q8_ffn", Q8, weight_up, scale_up, x, "_up")
    check(weight_up.shape[0] == n, "matvec_q8_ffn", "weight_up", f"of {n} rows as weight_gate is", weight_up)
    return Spec((n,), "float32")


@matvec_q8_ffn.plan
def _(
    gpu: Gpu, outputs: Sequence[Spec], weight_gate: Spec, scale_gate: Spec, weight_up: Spec, scale_up: Spec, x: Spec
) -> Plan:
    n, k = weight_gate.shape[0], x.size
    if k % Q8.load:
        c = compose(gpu, weight_gate, scale_gate, weight_up, scale_up, x)
        (gate,) = c.call(matvec_q8, *c.args[0:2], c.args[4])
        (up,) = c.call(matvec_q8, *c.args[2:4], c.args[4])
        (gate,) = c.call(activation, gate, kind="silu")
        c.call(elementwise, gate, up, into=[out(0)], kind="multiply")
        return c.plan()
    kernel = resolve(gpu, "matvec", "q8_ffn")
    constants, rows = {"N": n, "K": k, "KIND": KINDS["silu"]}, _PORTABLE_ROWS
    if "subgroups" in kernel.features:
        lanes, _ = row_lanes(gpu, n, k // Q8.load)
        constants["LANES"], rows = lanes, _SUBGROUP_THREADS // lanes
    codes, scales = Q8.row_bytes(k)
    dispatch = Dispatch(kernel, constants, [*map(arg, range(5)), out(0)], (0, 0, 0))
    row_bytes = [codes, scales, codes, scales, 0, 4]
    return Plan(in_chunks(gpu, dispatch, n, row_bytes, lambda count: fold(-(-count // rows)), told=_counted))


@op
def matvec_q8_residual(weight: Words, scale: F32, x: F32, residual: F32) -> F32:
    """`residual + matvec_q8(weight, scale, x)`.

    weight    (N, ceil(K / 4)) uint32, see `pack_q8`
    scale     (N,) float32
    x         (K,) float32
    residual  (N,) float32
    returns   (N,) float32; the product is rounded to float32 first (not on the GPU)

    K = 0 gives the residual. Raises ShapeError.
    """
    return np.asarray(elementwise(residual, matvec_q8(weight, scale, x), kind="add"))


@matvec_q8_residual.spec
def _(weight: Spec, scale: Spec, x: Spec, residual: Spec) -> Spec:
    wanted = Spec((_check_product("matvec_q8_residual", Q8, weight, scale, x),), "float32")
    check(residual == wanted, "matvec_q8_residual", "residual", str(wanted), residual)
    return wanted


@matvec_q8_residual.plan
def _(gpu: Gpu, outputs: Sequence[Spec], weight: Spec, scale: Spec, x: Spec, residual: Spec) -> Plan:
    if x.size % Q8.load:
        c = compose(gpu, weight, scale, x, residual)
        (product,) = c.call(matvec_q8, *c.args[:3])
        c.call(elementwise, c.args[3], product, into=[out(0)], kind="add")
        return c.plan()
    n, k = weight.shape[0], x.size
    codes, scales = Q8.row_bytes(k)
    bindings = [arg(0), arg(2), out(0), arg(1), arg(3)]
    return _rows_plan(gpu, resolve(gpu, "matvec", "q8_residual"), n, k, bindings, [codes, 0, 4, scales, 4], Q8.part(k))


@op
def matvec_q4g128(weight: Words, scale: F32, x: F32) -> F32:
    """`torch.mv` of a weight of 4-bit codes with a scale every 128 columns and x.

    weight   (N, ceil(K / 8)) uint32, see `pack_q4`
    scale    (N, ceil(K / 128)) float32
    x        (K,) float32
    returns  (N,) float32; summed in float64 (float32 on the GPU)

    K = 0 gives zeros. Raises ShapeError.
    """
    return np.asarray(dequantize_q4g128(weight, scale, len(x)) @ x.astype(np.float64), np.float32)


@matvec_q4g128.spec
def _(weight: Spec, scale: Spec, x: Spec) -> Spec:
    return Spec((_check_product("matvec_q4g128", Q4G128, weight, scale, x),), "float32")


@matvec_q4g128.plan
def _(gpu: Gpu, outputs: Sequence[Spec], weight: Spec, scale: Spec, x: Spec) -> Plan:
    return _apart_plan(gpu, Q4G128, weight.shape[0], x.size)


def row_lanes(gpu: Gpu, n: int, chunks: int) -> tuple[int, int]:
    """How many neighbouring lanes share a row of `chunks` chunks, and how many rows they compute at once.

    Few rows want many lanes, for the least waiting; many rows want lanes that are never idle, and x loaded once for
    several rows.
    """
    assert gpu.subgroup_sizes is not None, "a subgroups kernel was chosen for a device without subgroups"
    powers = [p for p in (1, 2, 4, 8, 16, 32, 64) if p <= gpu.subgroup_sizes[1]]
    lanes = next((p for p in powers if p >= chunks), powers[-1])
    if n * lanes > _BUSY_LANES:
        wide = [p for p in powers if p >= min(8, lanes)]
        lanes = max(wide, key=lambda p: (chunks / (-(-chunks // p) * p), p)) if chunks else 1
    rows = next((r for r in (4, 2) if n * lanes // r >= _BUSY_LANES), 1)
    return lanes, rows


def _apart_plan(gpu: Gpu, kind: Apart, n: int, k: int) -> Plan:
    kernel = _kernel_for(gpu, kind.part(k))
    codes, scales = kind.row_bytes(k)
    return _rows_plan(gpu, kernel, n, k, [arg(0), arg(2), out(0), arg(1)], [codes, 0, 4, scales])


def _kernel_for(gpu: Gpu, part: str, dtype: str | None = None) -> Kernel:
    """The kernel for weights that `part` reads."""
    return resolve(gpu, "matvec", "ragged" if part.endswith("_ragged") else "kernel", dtype=dtype, weights=part)


def _rows_plan(
    gpu: Gpu,
    kernel: Kernel,
    n: int,
    k: int,
    bindings: Sequence[Binding],
    row_bytes: Sequence[int] | None,
    part: str | None = None,
) -> Plan:
    """A kernel of thread_rows.wgsl or lane_rows.wgsl on all rows, in chunks where `row_bytes` are given, as `in_chunks`
    takes them. `part` is what it reads weights by."""
    constants: dict[str, int | float] = {"N": n, "K": k}
    rows = _PORTABLE_ROWS
    if "subgroups" in kernel.features:
        lanes, several = row_lanes(gpu, n, -(-k // part_chunk(part or kernel.weights or "")))
        constants |= {"LANES": lanes, "ROWS": several}
        rows = _SUBGROUP_THREADS // lanes * several
    dispatch = Dispatch(kernel, constants, bindings, fold(-(-n // rows)))
    if row_bytes is None:
        return Plan([dispatch])
    return Plan(in_chunks(gpu, dispatch, n, row_bytes, lambda count: fold(-(-count // rows)), told=_counted))


def _counted(first: int, count: int) -> dict[str, int]:
    return {"N": count}


def _check_product(op_name: str, kind: Apart, weight: Spec, scale: Spec, x: Spec, suffix: str = "") -> int:
    """The rows of a weight whose codes and scales are apart. Raises ShapeError unless they fit x."""
    check(x.dtype == "float32" and len(x.shape) == 1, op_name, "x", "float32 of shape (K,)", x)
    return kind.check(op_name, weight, scale, x.size, suffix)


def check_weight_of(op_name: str, weight: Spec, x: Spec) -> tuple[int, int]:
    """The two sizes of a weight. Raises ShapeError unless x is float32 and it fits `check_weight`, or both float16."""
    if x.dtype == "float16":
        fits = weight.dtype == "float16" and len(weight.shape) == 2
        check(fits, op_name, "weight", "float16 of shape (N, K) as x is float16", weight)
        return weight.shape[0], weight.shape[1]
    sizes = check_weight(op_name, weight)
    check(x.dtype == "float32", op_name, "x", "float32", x)
    return sizes


def check_weight(op_name: str, weight: Spec, name: str = "weight", shape: str = "(N, K)") -> tuple[int, int]:
    """The two sizes of a weight argument. Raises ShapeError unless it is a float32 matrix or a block weight."""
    check(len(weight.shape) == 2, op_name, name, f"of shape {shape}", weight)
    known = weight.dtype == "float32" or is_block_type(weight.dtype)
    check(known, op_name, name, f"float32 or Blocks of {', '.join(WEIGHT_TYPES)}", weight)
    return weight.shape[0], weight.shape[1]


def as_float64(weight: Any) -> F64:
    """A weight's values, for references that sum in float64."""
    values: NDArray[Any] = dequantize(weight) if isinstance(weight, Blocks) else weight
    return values.astype(np.float64)
