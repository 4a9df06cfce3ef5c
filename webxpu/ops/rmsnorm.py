"""Root mean square norm over the last axis."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from webxpu.gpu.kernels import resolve
from webxpu.gpu.op import check, op
from webxpu.gpu.plan import Dispatch, Plan, Spec, arg, fold, out
from webxpu.gpu.target import Gpu


@op
def rmsnorm(x: NDArray[np.float32], weight: NDArray[np.float32], *, eps: float) -> NDArray[np.float32]:
    """`torch.nn.functional.rms_norm(x, (D,), eps=eps) * weight`.

    x        (..., D) float32
    weight   (D,) float32, or (G, D): row n of x takes group n % G, so G is the axis left of D
    returns  x's shape, float32; the mean of squares is summed in float64 (float32 on the GPU)

    eps keeps a row of zeros at zero. Raises ShapeError.
    """
    wide = x.astype(np.float64).reshape(-1, x.shape[-1])
    groups = weight.astype(np.float64).reshape(-1, x.shape[-1])
    scale = 1 / np.sqrt(np.mean(wide * wide, axis=1, keepdims=True) + eps)
    return np.asarray(wide * scale * groups[np.arange(len(wide)) % len(groups)], np.float32).reshape(x.shape)


@rmsnorm.spec
def _(x: Spec, weight: Spec, *, eps: float) -> Spec:
    check(x.dtype == "float32" and x.shape[-1:] > (0,), "rmsnorm", "x", "float32 of shape (..., D), D >= 1", x)
    d = x.shape[-1]
    rule = f"float32 of shape ({d},) or (G, {d}), G >= 1"
    check(weight.dtype == "float32" and len(weight.shape) in (1, 2), "rmsnorm", "weight", rule, weight)
    check(weight.shape[-1] == d and weight.size, "rmsnorm", "weight", rule, weight)
    check(eps >= 0, "rmsnorm", "eps", "at least 0", eps)
    return x


@rmsnorm.plan
def _(gpu: Gpu, outputs: Sequence[Spec], x: Spec, weight: Spec, *, eps: float) -> Plan:
    d = x.shape[-1]
    constants = {"D": d, "GROUPS": weight.size // d, "EPS": eps, "THREADS": row_threads(d)}
    kernel = resolve(gpu, "rmsnorm")
    return Plan([Dispatch(kernel, constants, [arg(0), arg(1), out(0)], fold(x.size // d))])


def row_threads(d: int) -> int:
    """Threads of a workgroup that reduces rows of `d`: each has a few elements, and none is idle in a short row."""
    return 64 if d <= 1024 else 256
