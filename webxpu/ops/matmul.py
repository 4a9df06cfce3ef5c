"""Matrix times matrix. Each loaded value serves many products, so kernels work in tiles held in workgroup memory."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from webxpu.gpu.kernels import resolve
from webxpu.gpu.op import check, op
from webxpu.gpu.plan import Dispatch, Plan, Spec, arg, fold, out
from webxpu.gpu.target import Gpu
from webxpu.ops.matvec import as_float64, check_weight
from webxpu.quant.ggml import Blocks, weight_part

# Outputs of a workgroup of the large kernels, a side; the others make ROWS x 64.
_LARGE = 128
_COLUMNS = 64
_ROWS = (64, 48, 32, 16)
# Workgroups that keep a big GPU busy: with fewer, smaller tiles are faster than better reuse.
_BUSY_GROUPS = 128
# Outputs of a workgroup of linear.cpu.wgsl: rows share unpacked weights.
_CPU_ROWS = 16
_CPU_COLUMNS = 128


@op
def matmul(a: NDArray[np.float32], b: NDArray[np.float32]) -> NDArray[np.float32]:
    """`torch.mm(a, b)`.

    a        (M, K) float32
    b        (K, N) float32
    returns  (M, N) float32; sums in float64 (float32 on the GPU)

    K = 0 gives zeros. Raises ShapeError.
    """
    return (a.astype(np.float64) @ b.astype(np.float64)).astype(np.float32)


@matmul.spec
def _(a: Spec, b: Spec) -> Spec:
    for name, spec in (("a", a), ("b", b)):
        check(spec.dtype == "float32" and len(spec.shape) == 2, "matmul", name, "a float32 matrix", spec)
    check(a.shape[1] == b.shape[0], "matmul", "b", f"of shape ({a.shape[1]}, N)", b)
    return Spec((a.shape[0], b.shape[1]), "float32")


@matmul.plan
def _(gpu: Gpu, outputs: Sequence[Spec], a: Spec, b: Spec) -> Plan:
    (m, k), n = a.shape, b.shape[1]
    large, rows, groups = tile(m, n, whole=k % 4 == 0 and n % 4 == 0)
    kernel = resolve(gpu, "matmul", "large" if large else "kernel")
    constants = {"N": n, "K": k} | ({} if large else {"ROWS": rows})
    return Plan([Dispatch(kernel, constants, [arg(0), arg(1), out(0)], fold(groups))])


@op
def linear(x: NDArray[np.float32], weight: NDArray[np.float32] | Blocks) -> NDArray[np.float32]:
    """`torch.nn.functional.linear(x, weight)`: every row of x through a weight whose rows are features.

    x        (L, K) float32
    weight   (N, K) float32, or Blocks of any type
    returns  (L, N) float32; sums in float64 (float32 on the GPU)

    K = 0 gives zeros. Raises ShapeError.
    """
    return (x.astype(np.float64) @ as_float64(weight).T).astype(np.float32)


@linear.spec
def _(x: Spec, weight: Spec) -> Spec:
    n, k = check_weight("linear", weight)
    check(len(x.shape) == 2 and x.shape[1] == k, "linear", "x", f"of shape (L, {k})", x)
    check(x.dtype == "float32", "linear", "x", "float32", x)
    return Spec((x.shape[0], n), "float32")


@linear.plan
def _(gpu: Gpu, outputs: Sequence[Spec], x: Spec, weight: Spec) -> Plan:
    n, k = weight.shape
    part = weight_part(weight.dtype, weight.shape)
    kernel = resolve(gpu, "matmul", "linear", weights=part)
    constants = {"N": n, "K": k}
    if kernel.variant.target == "cpu":
        groups = -(-x.shape[0] // _CPU_ROWS) * -(-n // _CPU_COLUMNS)
    else:
        large, rows, groups = tile(x.shape[0], n, whole=k % 4 == 0 and n % 4 == 0)
        kernel = resolve(gpu, "matmul", "linear_large", weights=part) if large else kernel
        constants |= {} if large else {"ROWS": rows}
    return Plan([Dispatch(kernel, constants, [arg(1), arg(0), out(0)], fold(groups))])


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
