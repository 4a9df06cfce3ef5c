"""Layer norm over the last axis."""

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
def layernorm(x: NDArray[Any], weight: NDArray[Any], bias: NDArray[Any], *, eps: float) -> NDArray[Any]:
    """`torch.nn.functional.layer_norm(x, (D,), weight, bias, eps)`.

    x        (..., D) float32 or float16
    weight   (D,), x's dtype
    bias     (D,), x's dtype
    eps      added to the mean of squares inside the root, at least 0: a constant row gives the bias
    returns  x's shape and dtype, rounded once; the mean, then the mean of squared deviations (biased) in float64
             (float32 on the GPU, less the row's first value, so that a large mean costs no digits)

    Raises ShapeError.
    """
    return narrow(normed(x.astype(np.float64), eps) * weight.astype(np.float64) + bias.astype(np.float64), x)


def normed(wide: NDArray[np.float64], eps: float) -> NDArray[np.float64]:
    """Along the last axis: values less their mean, over their biased standard deviation."""
    deviation = wide - wide.mean(axis=-1, keepdims=True)
    return np.asarray(deviation / np.sqrt(np.mean(deviation * deviation, axis=-1, keepdims=True) + eps))


@layernorm.spec
def _(x: Spec, weight: Spec, bias: Spec, *, eps: float) -> Spec:
    rule = "float32 or float16 of shape (..., D), D >= 1"
    check(x.dtype in REAL and x.shape[-1:] > (0,), "layernorm", "x", rule, x)
    for name, given in (("weight", weight), ("bias", bias)):
        check(given == Spec(x.shape[-1:], x.dtype), "layernorm", name, f"{x.dtype} of shape ({x.shape[-1]},)", given)
    check(eps >= 0, "layernorm", "eps", "at least 0", eps)
    return x


@layernorm.plan
def _(gpu: Gpu, outputs: Sequence[Spec], x: Spec, weight: Spec, bias: Spec, *, eps: float) -> Plan:
    return Plan(line_dispatches(gpu, "layernorm", x, {"EPS": eps}, [arg(0), arg(1), arg(2), out(0)]))
