"""Matrix times matrix. Each loaded value serves many products, so kernels work in tiles held in workgroup memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from webxpu.gpu.kernels import resolve
from webxpu.gpu.op import check, op
from webxpu.gpu.plan import Binding, Dispatch, Grid, Plan, Spec, arg, flat_grid, fold, in_chunks, out, scratch
from webxpu.gpu.target import Gpu
from webxpu.ops._lines import REAL, narrow
from webxpu.ops.matvec import as_float64, check_weight_of
from webxpu.quant.apart import Q4G128, Q8, Apart
from webxpu.quant.ggml import Blocks, row_nbytes, weight_part
from webxpu.quant.q4g128 import dequantize_q4g128
from webxpu.quant.q8 import dequantize_q8

F32 = NDArray[np.float32]
F64 = NDArray[np.float64]
Words = NDArray[np.uint32]

# Outputs of a workgroup of the large kernels, a side; the others make ROWS x 64.
_LARGE = 128
_COLUMNS = 64
_ROWS = (64, 48, 32, 16)
# Workgroups that keep a big GPU busy: with fewer, smaller tiles are faster than better reuse.
_BUSY_GROUPS = 128
# Until there are so many workgroups, some share the columns of a tile: at most so many, each with so many blocks of 32.
_BUSY_SHARES = 512
_MOST_SHARES = 8
_SHARE_BLOCKS = 3
# Kernels of a weight whose rows are features: by tiles of any size, by large ones.
_LINEAR = ("linear", "linear_large")
# Outputs of a workgroup of linear.cpu.wgsl: rows share unpacked weights.
_CPU_ROWS = 16
_CPU_COLUMNS = 128


@op
def matmul(a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
    """`torch.mm(a, b)`.

    a        (M, K) float32 or float16
    b        (K, N) of a's dtype
    returns  (M, N) of a's dtype; sums in float64 (float32 on the GPU), rounded once

    K = 0 gives zeros. Raises ShapeError; Unsupported for float16 on a device without it.
    """
    return narrow(a.astype(np.float64) @ b.astype(np.float64), a)


@matmul.spec
def _(a: Spec, b: Spec) -> Spec:
    known = a.dtype in ("float32", "float16") and len(a.shape) == 2
    check(known, "matmul", "a", "a float32 or float16 matrix", a)
    check(b.dtype == a.dtype and len(b.shape) == 2, "matmul", "b", f"a {a.dtype} matrix as a is", b)
    check(a.shape[1] == b.shape[0], "matmul", "b", f"of shape ({a.shape[1]}, N)", b)
    return Spec((a.shape[0], b.shape[1]), a.dtype)


@matmul.plan
def _(gpu: Gpu, outputs: Sequence[Spec], a: Spec, b: Spec) -> Plan:
    return _tiles(gpu, ("kernel", "large"), outputs[0], a, [arg(0), arg(1), out(0)])


@op
def linear(x: NDArray[Any], weight: NDArray[Any] | Blocks) -> NDArray[Any]:
    """`torch.nn.functional.linear(x, weight)`: every row of x through a weight whose rows are features.

    x        (L, K) float32 or float16
    weight   (N, K) float32, or Blocks of any type; float16 where x is
    returns  (L, N) of x's dtype; sums in float64 (float32 on the GPU), rounded once

    K = 0 gives zeros. Raises ShapeError; Unsupported for float16 on a device without it.
    """
    return narrow(x.astype(np.float64) @ as_float64(weight).T, x)


@linear.spec
def _(x: Spec, weight: Spec) -> Spec:
    n, k = check_weight_of("linear", weight, x)
    check(len(x.shape) == 2 and x.shape[1] == k, "linear", "x", f"of shape (L, {k})", x)
    return Spec((x.shape[0], n), x.dtype)


@linear.plan
def _(gpu: Gpu, outputs: Sequence[Spec], x: Spec, weight: Spec) -> Plan:
    part = weight_part(weight.dtype, weight.shape)
    size = row_nbytes(weight.dtype, weight.shape[1])
    return _linear(gpu, outputs[0], x, [arg(1), arg(0), out(0)], part, [size, 0, 0] if size else None)


@op
def matmul_q8(a: F32, weight: Words, scale: F32) -> F32:
    """`torch.nn.functional.linear(a, codes * scale[:, None])` for a weight of 8-bit codes (W8A32).

    a        (M, K) float32
    weight   (N, ceil(K / 4)) uint32, see `pack_q8`; its rows are features
    scale    (N,) float32
    returns  (M, N) float32; weights are rounded to float32, sums in float64 (float32 on the GPU)

    K = 0 gives zeros. Raises ShapeError.
    """
    return _product(a, dequantize_q8(weight, scale, a.shape[1]))


@matmul_q8.spec
def _(a: Spec, weight: Spec, scale: Spec) -> Spec:
    return _check_product("matmul_q8", Q8, a, weight, scale)


@matmul_q8.plan
def _(gpu: Gpu, outputs: Sequence[Spec], a: Spec, weight: Spec, scale: Spec) -> Plan:
    return _apart(gpu, Q8, outputs[0], a)


@op
def matmul_q4g128(a: F32, weight: Words, scale: F32) -> F32:
    """`torch.nn.functional.linear` of a and a weight of 4-bit codes with a scale every 128 columns.

    a        (M, K) float32
    weight   (N, ceil(K / 8)) uint32, see `pack_q4`; its rows are features
    scale    (N, ceil(K / 128)) float32
    returns  (M, N) float32; weights are rounded to float32, sums in float64 (float32 on the GPU)

    K = 0 gives zeros. Raises ShapeError.
    """
    return _product(a, dequantize_q4g128(weight, scale, a.shape[1]))


@matmul_q4g128.spec
def _(a: Spec, weight: Spec, scale: Spec) -> Spec:
    return _check_product("matmul_q4g128", Q4G128, a, weight, scale)


@matmul_q4g128.plan
def _(gpu: Gpu, outputs: Sequence[Spec], a: Spec, weight: Spec, scale: Spec) -> Plan:
    return _apart(gpu, Q4G128, outputs[0], a)


def _product(a: F32, weight: F64) -> F32:
    return np.asarray(a.astype(np.float64) @ weight.astype(np.float32).astype(np.float64).T, np.float32)


def _check_product(op_name: str, kind: Apart, a: Spec, weight: Spec, scale: Spec) -> Spec:
    check(a.dtype == "float32" and len(a.shape) == 2, op_name, "a", "a float32 matrix", a)
    return Spec((a.shape[0], kind.check(op_name, weight, scale, a.shape[1])), "float32")


def _apart(gpu: Gpu, kind: Apart, product: Spec, a: Spec) -> Plan:
    codes, scales = kind.row_bytes(a.shape[1])
    bindings = [arg(1), arg(0), out(0), arg(2)]
    return _linear(gpu, product, a, bindings, kind.part(a.shape[1]), [codes, 0, 0, scales])


def _linear(
    gpu: Gpu, product: Spec, x: Spec, bindings: Sequence[Binding], part: str, feature_bytes: Sequence[int] | None
) -> Plan:
    """A product with a weight's rows: at once, or, where the weight is larger than a binding may be, by some features
    after the others, each product in scratch first. `feature_bytes` are those of a row of each binding, as `in_chunks`
    takes them; None for a weight that cannot be divided."""
    (m, n), whole = product.shape, Dispatch(resolve(gpu, "matmul", "columns"), {}, bindings, (1, 1, 1))

    def told(first: int, count: int) -> dict[str, int]:
        return {"N": n, "COUNT": count, "FIRST": first}

    parts = []
    if feature_bytes and product.size:
        parts = in_chunks(gpu, whole, n, feature_bytes, lambda _: whole.grid, told=told)
    if len(parts) < 2 or product.dtype != "float32":
        return _tiles(gpu, _LINEAR, product, x, bindings, part, shared=True)
    dispatches: list[Dispatch] = []
    products = [Spec((m, int(p.constants["COUNT"])), product.dtype) for p in parts]
    for chunk, some in zip(parts, products, strict=True):
        for d in _tiles(gpu, _LINEAR, some, x, chunk.bindings, part).dispatches:
            moved = [
                replace(b, source="scratch", nbytes=b.nbytes or some.nbytes) if b.source == "out" else b
                for b in d.bindings
            ]
            dispatches.append(replace(d, bindings=moved))
        made = replace(scratch(0, "read"), nbytes=some.nbytes)
        dispatches.append(replace(chunk, bindings=[made, out(0)], grid=flat_grid(some.size)))
    return Plan(dispatches, products[:1])  # the first part is the largest


def _tiles(
    gpu: Gpu,
    entries: tuple[str, str],
    product: Spec,
    left: Spec,
    bindings: Sequence[Binding],
    part: str | None = None,
    *,
    shared: bool = False,
) -> Plan:
    """A product of `left`'s rows by the first of two entries, or by the second where large tiles pay; in chunks of rows
    where `left` or the product is larger than a binding may be. `shared`: workgroups may share a tile's columns."""
    (m, n), k = product.shape, left.shape[1]
    kernel = resolve(gpu, "matmul", entries[0], dtype=REAL[left.dtype], weights=part)
    constants, height, width, split = {"N": n, "K": k}, _CPU_ROWS, _CPU_COLUMNS, 1
    # `left` is the op's first argument. Every row reads the whole of the others.
    size, widths = np.dtype(left.dtype).itemsize, {arg(0): k, out(0): n}
    if kernel.variant.target != "cpu":
        large, height, groups = tile(m, n, whole=k % 4 == 0 and n % 4 == 0)
        kernel = resolve(gpu, "matmul", entries[large], dtype=REAL[left.dtype], weights=part)
        width = _LARGE if large else _COLUMNS
        constants |= {} if large else {"ROWS": height}
        if entries == _LINEAR and not large:
            whole = m * max(k, n) * size <= gpu.limits["maxStorageBufferBindingSize"]
            split = shares(groups, k) if shared and whole and product.dtype == "float32" else 1

    def grid(rows: int) -> Grid:
        return fold(split * -(-rows // height) * -(-n // width))

    dispatch = Dispatch(kernel, constants, bindings, grid(m))
    if not product.size:
        return Plan([dispatch])
    if split == 1:
        return Plan(in_chunks(gpu, dispatch, m, [widths.get(b, 0) * size for b in bindings], grid))
    products = replace(dispatch, bindings=[scratch(0) if b == out(0) else b for b in bindings])
    kernel = resolve(gpu, "matmul", "sum")
    total = Dispatch(kernel, {}, [scratch(0, "read"), out(0)], flat_grid(product.size))
    return Plan([products, total], [Spec((split, m, n), "float32")])


def shares(groups: int, k: int) -> int:
    """How many workgroups share the columns of a tile where `groups` of them would leave a big GPU idle: each has some
    blocks of 32 columns at least."""
    blocks = -(-k // 32)
    return max(1, min(-(-_BUSY_SHARES // max(groups, 1)), blocks // _SHARE_BLOCKS, _MOST_SHARES))


def tile(m: int, n: int, *, whole: bool) -> tuple[bool, int, int]:
    """Whether the large kernel is taken, the rows of a tile otherwise, and the number of workgroups.

    `whole`: rows are whole vec4s, which the large kernels need. Of the tiles that give every core work the tallest wins
    that computes at most a quarter more rows than the leanest.
    """
    groups = -(-m // _LARGE) * -(-n // _LARGE)
    if whole and 2 * m > _LARGE and groups >= _BUSY_GROUPS:
        return True, _LARGE, groups
    across = -(-n // _COLUMNS)
    heights = [r for r in _ROWS if -(-m // r) * across >= _BUSY_GROUPS] or [_ROWS[-1]]
    padded = {r: -(-m // r) * r for r in heights}
    rows = next(r for r in heights if padded[r] <= 1.25 * min(padded.values()))
    return False, rows, padded[rows] // rows * across
