"""Whole numbers times their scales."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from webxpu.gpu.kernels import resolve
from webxpu.gpu.op import check, op
from webxpu.gpu.plan import Dispatch, Plan, Spec, arg, flat_grid, in_chunks, out
from webxpu.gpu.target import Gpu


@op
def dequantize(x: NDArray[np.int32], *, weight_scale: float, input_scale: float) -> NDArray[np.float32]:
    """What a product of 8-bit integers stands for: `x * weight_scale * input_scale`.

    x             any shape, int32
    weight_scale  of all of the weight
    input_scale   of all of the input
    returns       x's shape, float32; computed in float64 (on the GPU in float32, by the product of the scales)

    Raises ShapeError.
    """
    return (x * float(weight_scale) * float(input_scale)).astype(np.float32)


@dequantize.spec
def _(x: Spec, *, weight_scale: float, input_scale: float) -> Spec:
    check(x.dtype == "int32", "dequantize", "x", "int32", x)
    scale = float(weight_scale) * float(input_scale)
    check(abs(scale) <= float(np.finfo(np.float32).max), "dequantize", "weight_scale * input_scale", "a float32", scale)
    return Spec(x.shape, "float32")


@dequantize.plan
def _(gpu: Gpu, outputs: Sequence[Spec], x: Spec, *, weight_scale: float, input_scale: float) -> Plan:
    constants = {"SCALE": float(weight_scale) * float(input_scale)}
    dispatch = Dispatch(resolve(gpu, "dequantize"), constants, [arg(0), out(0)], (1, 1, 1))
    return Plan(in_chunks(gpu, dispatch, x.size, (4, 4), flat_grid))
