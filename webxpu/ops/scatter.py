"""Values added up where their indices say."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from webxpu.gpu.kernels import resolve
from webxpu.gpu.op import check, op
from webxpu.gpu.plan import Dispatch, Plan, Spec, arg, flat_grid, in_chunks, out
from webxpu.gpu.target import Gpu


@op
def scatter(src: NDArray[np.float32], index: NDArray[np.int32], *, width: int) -> NDArray[np.float32]:
    """`torch.scatter_add(torch.zeros(N, width), 1, index, src)`, except that indices outside a row are left out.

    src      (N, S) float32
    index    (N, S) int32: value s of row n is added to sum index[n, s] of row n; negative ones lie outside
    width    sums of a row, D
    returns  (N, D) float32; sums in float32, in the order of s (on the GPU in any order, which may change from run to
             run)

    A sum that no index names is 0. Raises ShapeError.
    """
    sums = np.zeros((len(src), width), np.float32)
    n, s = np.nonzero((index >= 0) & (index < width))
    np.add.at(sums, (n, index[n, s]), src[n, s])
    return sums


@scatter.spec
def _(src: Spec, index: Spec, *, width: int) -> Spec:
    check(src.dtype == "float32" and len(src.shape) == 2, "scatter", "src", "float32 of shape (N, S)", src)
    check(index == Spec(src.shape, "int32"), "scatter", "index", f"int32 of shape {src.shape} as src is", index)
    check(width >= 0 and isinstance(width, int), "scatter", "width", "a whole number, at least 0", width)
    return Spec((src.shape[0], width), "float32")


@scatter.plan
def _(gpu: Gpu, outputs: Sequence[Spec], src: Spec, index: Spec, *, width: int) -> Plan:
    n, s = src.shape
    clear = Dispatch(resolve(gpu, "scatter", "clear"), {}, [out(0)], (1, 1, 1))
    dispatches = in_chunks(gpu, clear, n, (4 * width,), lambda rows: flat_grid(rows * width))
    if s:
        add = Dispatch(resolve(gpu, "scatter"), {"S": s, "D": width}, [arg(0), arg(1), out(0)], (1, 1, 1))
        dispatches += in_chunks(gpu, add, n, (4 * s, 4 * s, 4 * width), lambda rows: flat_grid(rows * s))
    return Plan(dispatches)
