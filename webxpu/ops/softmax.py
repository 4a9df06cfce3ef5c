"""Softmax over the last axis."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from webxpu.gpu.kernels import resolve
from webxpu.gpu.op import check, op
from webxpu.gpu.plan import Dispatch, Plan, Spec, arg, fold, out
from webxpu.gpu.target import Gpu
from webxpu.ops.rmsnorm import row_threads


@op
def softmax(x: NDArray[np.float32]) -> NDArray[np.float32]:
    """`torch.softmax(x, -1)`.

    x        (..., D) float32
    returns  x's shape, float32; the row's maximum is subtracted, the sum is in float64 (float32 on the GPU)

    A row that is all -inf gives NaN. Raises ShapeError.
    """
    wide = x.astype(np.float64)
    with np.errstate(invalid="ignore"):
        powers = np.exp(wide - wide.max(axis=-1, keepdims=True, initial=-np.inf))
        return np.asarray(powers / powers.sum(axis=-1, keepdims=True), np.float32)


@softmax.spec
def _(x: Spec) -> Spec:
    check(x.dtype == "float32" and x.shape, "softmax", "x", "float32 of shape (..., D)", x)
    return x


@softmax.plan
def _(gpu: Gpu, outputs: Sequence[Spec], x: Spec) -> Plan:
    d = x.shape[-1]
    constants = {"D": d, "THREADS": row_threads(d)}
    return Plan([Dispatch(resolve(gpu, "softmax"), constants, [arg(0), out(0)], fold(x.size // max(d, 1)))])
