"""The end of a layer with a norm of its own: it is normed before the residual is added."""

from __future__ import annotations

from typing import Any

from webxpu.gpu.kernels import resolve
from webxpu.gpu.op import check, op
from webxpu.gpu.plan import Dispatch, Plan, Spec, arg, out
from webxpu.gpu.target import Gpu
from webxpu.ops._lines import team
from webxpu.ops.rmsnorm import rmsnorm


@op
def norm_add(y: Any, gain: Any, residual: Any, *, eps: float) -> Any:
    """`residual + rmsnorm(y, gain)`.

    y         (L, D) float32
    gain      (D,) float32, the norm's weight
    residual  (L, D) float32
    eps       added to the mean of squares, at least 0
    returns   (L, D) float32; the mean of squares is summed in float64 (float32 on the GPU)

    Raises ShapeError.
    """
    return residual + rmsnorm(y, gain, eps=eps)


@norm_add.spec
def _(y: Spec, gain: Spec, residual: Spec, *, eps: float) -> Spec:
    fits = y.dtype == "float32" and len(y.shape) == 2 and y.size
    check(fits, "norm_add", "y", "float32[L, D] with L and D of at least 1", y)
    wanted = Spec((y.shape[1],), "float32")
    check(gain == wanted, "norm_add", "gain", str(wanted), gain)
    check(residual == y, "norm_add", "residual", str(y), residual)
    check(eps >= 0, "norm_add", "eps", "at least 0", eps)
    return y


@norm_add.plan
def _(gpu: Gpu, outputs: tuple[Spec, ...], y: Spec, gain: Spec, residual: Spec, *, eps: float) -> Plan:
    kernel = resolve(gpu, "norm_add")
    threads, grid = team(kernel, y.shape[1])
    constants = {"D": y.shape[1], "EPS": eps, "THREADS": threads}
    return Plan([Dispatch(kernel, constants, [arg(0), arg(1), arg(2), out(0)], grid(y.shape[0]))])
