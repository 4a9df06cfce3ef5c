"""Root mean square norm over the last axis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from webxpu.gpu.op import check, op
from webxpu.gpu.plan import Plan, Spec, arg, out
from webxpu.gpu.target import Gpu
from webxpu.ops._lines import REAL, line_dispatches, narrow


@op
def rmsnorm(x: NDArray[Any], weight: NDArray[Any], *, eps: float) -> NDArray[Any]:
    """`torch.nn.functional.rms_norm(x, (D,), eps=eps) * weight`.

    x        (..., D) float32 or float16
    weight   (D,) or (G, D), x's dtype: row n of x takes group n % G, so G is the axis left of D
    eps      added to the mean of squares, at least 0: it keeps a row of zeros at zero
    returns  x's shape and dtype, rounded once; the mean of squares is summed in float64 (float32 on the GPU)

    Raises ShapeError.
    """
    wide = x.astype(np.float64).reshape(-1, x.shape[-1])
    groups = weight.astype(np.float64).reshape(-1, x.shape[-1])
    scale = 1 / np.sqrt(np.mean(wide * wide, axis=1, keepdims=True) + eps)
    return narrow(wide * scale * groups[np.arange(len(wide)) % len(groups)], x).reshape(x.shape)


@rmsnorm.spec
def _(x: Spec, weight: Spec, *, eps: float) -> Spec:
    rule = "float32 or float16 of shape (..., D), D >= 1"
    check(x.dtype in REAL and x.shape[-1:] > (0,), "rmsnorm", "x", rule, x)
    d = x.shape[-1]
    rule = f"{x.dtype} of shape ({d},) or (G, {d}), G >= 1"
    check(weight.dtype == x.dtype and len(weight.shape) in (1, 2), "rmsnorm", "weight", rule, weight)
    check(weight.shape[-1] == d and weight.size, "rmsnorm", "weight", rule, weight)
    check(eps >= 0, "rmsnorm", "eps", "at least 0", eps)
    return x


@rmsnorm.plan
def _(gpu: Gpu, outputs: Sequence[Spec], x: Spec, weight: Spec, *, eps: float) -> Plan:
    groups = weight.size // x.shape[-1]
    return Plan(line_dispatches(gpu, "rmsnorm", x, {"GROUPS": groups, "EPS": eps}, [arg(0), arg(1), out(0)], groups))
