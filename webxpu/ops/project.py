"""A linear layer whose result is added to a residual; for attention it also joins the parts split over keys."""

from __future__ import annotations

from typing import Any

from webxpu.gpu.op import check, op
from webxpu.gpu.plan import Spec
from webxpu.ops.attend import attend_combine, check_parts
from webxpu.ops.matmul import linear


@op
def project(weight: Any, x: Any, residual: Any) -> Any:
    """`residual + torch.nn.functional.linear(x, weight)`.

    weight    (N, K) float32 or Blocks
    x         (L, K) float32
    residual  (L, N) float32
    returns   (L, N) float32, summed in float64 (float32 on the GPU)

    Raises ShapeError.
    """
    return linear(x, weight) + residual


def _check(op_name: str, weight: Spec, rows: int, k: int, residual: Spec) -> Spec:
    check(len(weight.shape) == 2 and weight.shape[1] == k, op_name, "weight", f"(N, {k}) like the row of x", weight)
    wanted = Spec((rows, weight.shape[0]), "float32")
    check(residual == wanted, op_name, "residual", wanted, residual)
    return wanted


@project.spec
def _(weight: Spec, x: Spec, residual: Spec) -> Spec:
    check(x.dtype == "float32" and len(x.shape) == 2, "project", "x", "float32[L, K]", x)
    return _check("project", weight, *x.shape, residual)


@op
def attend_project(weight: Any, acc: Any, stats: Any, residual: Any) -> Any:
    """`residual + linear(attend_combine(acc, stats), weight)`: the output projection of attention.

    weight    (N, H * D) float32 or Blocks
    acc       (L, H, parts, D) float32, stats (L, H, parts, 2) float32: what `attend` returns
    residual  (L, N) float32
    returns   (L, N) float32, summed in float64 (float32 on the GPU)

    Raises ShapeError.
    """
    return linear(attend_combine(acc, stats), weight) + residual


@attend_project.spec
def _(weight: Spec, acc: Spec, stats: Spec, residual: Spec) -> Spec:
    rows, heads, _, d = check_parts("attend_project", acc, stats)
    return _check("attend_project", weight, rows, heads * d, residual)
