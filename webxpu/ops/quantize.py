"""Rows as 8-bit codes with a scale each."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from webxpu.gpu.kernels import resolve
from webxpu.gpu.op import check, op
from webxpu.gpu.plan import Dispatch, Plan, Spec, arg, in_chunks, out
from webxpu.gpu.target import Gpu
from webxpu.ops._lines import team
from webxpu.quant.q8 import quantize_rows


@op
def quantize(x: NDArray[np.float32]) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """`webxpu.quant.q8.quantize_rows` of the last axis: codes from -127 to 127 and scales with codes * scale near x.

    x        (..., D) float32
    returns  codes, x's shape, int32: x * (127 / a) in float64, a the row's largest magnitude, to the nearest whole
             number, ties up (62.5 -> 63, -62.5 -> -62), bit for bit the same on the GPU; and scales (...,) float32:
             a / 127, or 1 for a row of zeros

    Codes of a row with an infinity or a NaN are undefined. Raises ShapeError.
    """
    codes, scales = quantize_rows(x.reshape(-1, x.shape[-1]))
    return codes.reshape(x.shape), scales.reshape(x.shape[:-1])


@quantize.spec
def _(x: Spec) -> tuple[Spec, Spec]:
    check(x.dtype == "float32" and x.shape[-1:] > (0,), "quantize", "x", "float32 of shape (..., D), D >= 1", x)
    return Spec(x.shape, "int32"), Spec(x.shape[:-1], "float32")


@quantize.plan
def _(gpu: Gpu, outputs: Sequence[Spec], x: Spec) -> Plan:
    d = x.shape[-1]
    kernel = resolve(gpu, "quantize")
    threads, grid = team(kernel, d)
    dispatch = Dispatch(kernel, {"D": d, "THREADS": threads}, [arg(0), out(0), out(1)], (1, 1, 1))
    return Plan(in_chunks(gpu, dispatch, x.size // d, (4 * d, 4 * d, 4), grid))
