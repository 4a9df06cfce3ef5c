"""Softmax over the last axis."""

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
def softmax(x: NDArray[Any]) -> NDArray[Any]:
    """`torch.softmax(x, -1)`.

    x        (..., D) float32 or float16
    returns  x's shape and dtype, rounded once; the row's maximum is subtracted, the sum is in float64 (float32 on the
             GPU)

    A row that is all -inf gives NaN. Raises ShapeError.
    """
    wide = x.astype(np.float64)
    with np.errstate(invalid="ignore"):
        powers = np.exp(wide - wide.max(axis=-1, keepdims=True, initial=-np.inf))
        return narrow(powers / powers.sum(axis=-1, keepdims=True), x)


@softmax.spec
def _(x: Spec) -> Spec:
    check(x.dtype in REAL and x.shape, "softmax", "x", "float32 or float16 of shape (..., D)", x)
    return x


@softmax.plan
def _(gpu: Gpu, outputs: Sequence[Spec], x: Spec) -> Plan:
    return Plan(line_dispatches(gpu, "softmax", x, {}, [arg(0), out(0)]))
