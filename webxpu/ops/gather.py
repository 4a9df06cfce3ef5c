"""Rows of a table, picked by index."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from webxpu.gpu.kernels import resolve
from webxpu.gpu.op import check, op
from webxpu.gpu.plan import Dispatch, Plan, Spec, arg, flat_grid, fold, in_chunks, out
from webxpu.gpu.target import Gpu
from webxpu.ops.matvec import check_weight
from webxpu.quant.ggml import Blocks, dequantize, weight_part

_BLOCKS_PER_GROUP = 64


@op
def gather(table: NDArray[np.float32] | Blocks, indices: NDArray[np.int32]) -> NDArray[np.float32]:
    """`torch.index_select(table, 0, indices)`, except that an index outside the table gives a row of zeros.

    table    (R, D) float32, or Blocks of any type: the picked rows are dequantised
    indices  (N,) int32
    returns  (N, D) float32

    Negative indices lie outside. Raises ShapeError.
    """
    inside = (indices >= 0) & (indices < table.shape[0])
    result = np.zeros((len(indices), table.shape[1]), np.float32)
    picked = indices[inside]
    if len(picked):
        result[inside] = dequantize(table.rows(picked)) if isinstance(table, Blocks) else table[picked]
    return result


@gather.spec
def _(table: Spec, indices: Spec) -> Spec:
    check_weight("gather", table, "table", "(R, D)")
    check(indices.dtype == "int32" and len(indices.shape) == 1, "gather", "indices", "int32 of shape (N,)", indices)
    return Spec((indices.shape[0], table.shape[1]), "float32")


@gather.plan
def _(gpu: Gpu, outputs: Sequence[Spec], table: Spec, indices: Spec) -> Plan:
    r, d = table.shape
    if table.dtype == "float32":
        return Plan(_copies(gpu, r, d, indices.size))
    kernel = resolve(gpu, "gather", "blocks", weights=weight_part(table.dtype, table.shape))
    groups = fold(-(-indices.size * -(-d // 32) // _BLOCKS_PER_GROUP))
    return Plan([Dispatch(kernel, {"N": r, "K": d}, [arg(0), arg(1), out(0)], groups)])


def _copies(gpu: Gpu, r: int, d: int, n: int) -> list[Dispatch]:
    """One dispatch, or one for each part of a table that is larger than the device can bind: the first fills the rows
    whose index lies outside its part with zeros, the others leave them as they are."""
    whole = Dispatch(resolve(gpu, "gather"), {"D": d}, [arg(0), arg(1), out(0)], (1, 1, 1))

    def told(first: int, rows: int) -> dict[str, int]:
        return {"R": rows, "FIRST": first}

    copies = []
    for part in in_chunks(gpu, whole, r, (4 * d, 0, 0), lambda _: whole.grid, told=told):
        copies += in_chunks(gpu, part, n, (0, 4, 4 * d), lambda count: flat_grid(count * d))
    return copies
