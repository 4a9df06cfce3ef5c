"""Our own 8-bit weights as a float32 matrix with a column a feature."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from webxpu.gpu.kernels import resolve
from webxpu.gpu.op import check, op
from webxpu.gpu.plan import Dispatch, Plan, Spec, arg, flat_grid, out
from webxpu.gpu.target import Gpu
from webxpu.quant.q8 import dequantize_q8


@op
def dequant_transpose(
    weight: NDArray[np.uint32], scale: NDArray[np.float32], *, in_features: int
) -> NDArray[np.float32]:
    """The weights of `webxpu.quant.q8`, transposed: what `x @ ...` multiplies with.

    weight       (N, ceil(K / 4)) uint32: rows of 8-bit codes, four a word
    scale        (N,) float32
    in_features  K
    returns      (K, N) float32: code * scale, rounded once here and on the GPU

    Raises ShapeError.
    """
    return np.asarray(dequantize_q8(weight, scale, in_features).T, np.float32, order="C")


@dequant_transpose.spec
def _(weight: Spec, scale: Spec, *, in_features: int) -> Spec:
    name, k = "dequant_transpose", in_features
    check(k >= 0 and isinstance(k, int), name, "in_features", "a whole number, at least 0", k)
    check(
        weight.dtype == "uint32" and len(weight.shape) == 2, name, "weight", "uint32 of shape (N, ceil(K / 4))", weight
    )
    n, words = weight.shape
    check(words == -(-k // 4), name, "weight", f"{-(-k // 4)} words a row for {k} codes", weight)
    check(scale == Spec((n,), "float32"), name, "scale", f"float32 of shape ({n},)", scale)
    return Spec((k, n), "float32")


@dequant_transpose.plan
def _(gpu: Gpu, outputs: Sequence[Spec], weight: Spec, scale: Spec, *, in_features: int) -> Plan:
    kernel = resolve(gpu, "dequant_transpose")
    grid = flat_grid(weight.size)
    return Plan([Dispatch(kernel, {"K": in_features}, [arg(0), arg(1), out(0)], grid)])
