"""Matrix times vector: every weight is read once, so its kernels stream. A matrix times a matrix reuses: see matmul."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from webxpu.gpu.kernels import resolve
from webxpu.gpu.op import check, op
from webxpu.gpu.plan import Dispatch, Plan, Spec, arg, fold, out
from webxpu.gpu.target import Gpu
from webxpu.quant.ggml import BLOCK_TYPES, Blocks, dequantize, is_block_type, part_chunk, weight_part

# Threads of a workgroup in kernel.wgsl and kernel.subgroups.wgsl.
_PORTABLE_ROWS = 64
_SUBGROUP_THREADS = 128
# Lanes that a big GPU wants at work before lanes are given more rows each.
_BUSY_LANES = 131_072


@op
def matvec(weight: NDArray[np.float32] | Blocks, x: NDArray[np.float32]) -> NDArray[np.float32]:
    """`torch.mv(weight, x)`.

    weight   (N, K) float32, or Blocks of any type
    x        (K,) float32
    returns  (N,) float32; sums in float64 (float32 on the GPU)

    K = 0 gives zeros. Raises ShapeError.
    """
    return (as_float64(weight) @ x.astype(np.float64)).astype(np.float32)


@matvec.spec
def _(weight: Spec, x: Spec) -> Spec:
    n, k = check_weight("matvec", weight)
    check(x.shape == (k,), "matvec", "x", f"of shape ({k},)", x)
    check(x.dtype == "float32", "matvec", "x", "float32", x)
    return Spec((n,), "float32")


@matvec.plan
def _(gpu: Gpu, outputs: Sequence[Spec], weight: Spec, x: Spec) -> Plan:
    n, k = weight.shape
    part = weight_part(weight.dtype, weight.shape)
    kernel = resolve(gpu, "matvec", "ragged" if part.endswith("_ragged") else "kernel", weights=part)
    constants, rows_per_group = {"N": n, "K": k}, _PORTABLE_ROWS
    if "subgroups" in kernel.features:
        lanes, rows = row_lanes(gpu, n, k // part_chunk(part))
        constants |= {"LANES": lanes, "ROWS": rows}
        rows_per_group = _SUBGROUP_THREADS // lanes * rows
    return Plan([Dispatch(kernel, constants, [arg(0), arg(1), out(0)], fold(-(-n // rows_per_group)))])


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


def check_weight(op_name: str, weight: Spec, name: str = "weight", shape: str = "(N, K)") -> tuple[int, int]:
    """The two sizes of a weight argument. Raises ShapeError unless it is a float32 matrix or a block weight."""
    check(len(weight.shape) == 2, op_name, name, f"of shape {shape}", weight)
    known = weight.dtype == "float32" or is_block_type(weight.dtype)
    check(known, op_name, name, f"float32 or Blocks of {', '.join(BLOCK_TYPES)}", weight)
    return weight.shape[0], weight.shape[1]


def as_float64(weight: Any) -> NDArray[np.float64]:
    """A weight's values, for references that sum in float64."""
    values: NDArray[Any] = dequantize(weight) if isinstance(weight, Blocks) else weight
    return values.astype(np.float64)
