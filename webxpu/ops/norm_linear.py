"""A norm and a linear layer; where a projection's rows have several weight types, each part by itself, then joined."""

from __future__ import annotations

from typing import Any

import numpy as np

from webxpu.gpu.kernels import resolve
from webxpu.gpu.op import check, op
from webxpu.gpu.plan import Dispatch, Plan, Spec, arg, compose, fold, out
from webxpu.gpu.target import Gpu
from webxpu.ops._rows import DECODE_ROWS
from webxpu.ops._staged import staged_columns, stages
from webxpu.ops.matmul import linear
from webxpu.ops.matvec import check_weight
from webxpu.ops.project import subgroups_of, units_of
from webxpu.ops.rmsnorm import rmsnorm
from webxpu.quant.ggml import weight_part

# Threads of a workgroup of the portable kernels, and of the subgroups one, which takes a subgroup an output.
WORKGROUP = 64
THREADS = 128


@op
def norm_linear(weight: Any, x: Any, gain: Any, *, eps: float) -> Any:
    """`torch.nn.functional.linear(rmsnorm(x, gain), weight)`.

    weight   (N, K) float32 or Blocks
    x        (L, K) float32, K a multiple of 4
    gain     (K,) float32, the norm's weight
    eps      added to the norm's mean of squares
    returns  (L, N) float32, summed in float64 (float32 on the GPU)

    Up to nine rows are summed in the order of one row, by one kernel that multiplies by the norm's root after the sum.
    Raises ShapeError.
    """
    return linear(rmsnorm(x, gain, eps=eps), weight)


def check_norm(op_name: str, x: Spec, gain: Spec, weight: Spec) -> None:
    """The checks that the ops which begin with a norm share."""
    fits = x.dtype == "float32" and len(x.shape) == 2 and x.shape[1] % 4 == 0
    check(fits, op_name, "x", "float32[L, K] with K a multiple of 4", x)
    k = x.shape[1]
    check(gain == Spec((k,), "float32"), op_name, "gain", f"float32[{k}]", gain)
    check(check_weight(op_name, weight)[1] == k, op_name, "weight", f"(N, {k}) like the rows of x", weight)


@norm_linear.spec
def _(weight: Spec, x: Spec, gain: Spec, *, eps: float) -> Spec:
    check_norm("norm_linear", x, gain, weight)
    return Spec((x.shape[0], weight.shape[0]), "float32")


@norm_linear.plan
def _(gpu: Gpu, outputs: tuple[Spec, ...], weight: Spec, x: Spec, gain: Spec, *, eps: float) -> Plan:
    if x.shape[0] > DECODE_ROWS:
        c = compose(gpu, weight, x, gain)
        (normed,) = c.call(rmsnorm, c.args[1], c.args[2], eps=eps)
        c.call(linear, normed, c.args[0], into=[out(0)])
        return c.plan()
    (rows, k), n = x.shape, weight.shape[0]
    kernel = resolve(gpu, "norm_linear", weights=weight_part(weight.dtype, weight.shape))
    constants: dict[str, int | float] = {"N": n, "K": k, "EPS": eps}
    if stages(gpu, kernel, k):
        kernel = resolve(gpu, "norm_linear", "staged", weights=kernel.weights)
        groups = rows * -(-n // staged_columns(gpu, constants, n))
    elif kernel.features:
        groups = rows * -(-n // subgroups_of(gpu, THREADS))
    else:
        constants["UNITS"] = units_of(gpu, 4)
        groups = rows * -(-n // (WORKGROUP * units_of(gpu, 4)))
    return Plan([Dispatch(kernel, constants, [arg(0), arg(1), arg(2), out(0)], fold(groups))])


@op
def join(a: Any, b: Any) -> Any:
    """`torch.cat((a, b), dim=1)`.

    a        (L, A) float32
    b        (L, B) float32
    returns  (L, A + B) float32

    Values are moved, not computed. Raises ShapeError.
    """
    return np.concatenate([a, b], axis=1)


@join.spec
def _(a: Spec, b: Spec) -> Spec:
    check(a.dtype == "float32" and len(a.shape) == 2 and a.shape[1] >= 1, "join", "a", "float32[L, A], A >= 1", a)
    fits = b.dtype == "float32" and len(b.shape) == 2 and b.shape[0] == a.shape[0] and b.shape[1] >= 1
    check(fits, "join", "b", f"float32[{a.shape[0]}, B], B >= 1", b)
    return Spec((a.shape[0], a.shape[1] + b.shape[1]), "float32")


@join.plan
def _(gpu: Gpu, outputs: tuple[Spec, ...], a: Spec, b: Spec) -> Plan:
    constants = {"A": a.shape[1], "B": b.shape[1]}
    grid = fold(-(-outputs[0].size // WORKGROUP))
    return Plan([Dispatch(resolve(gpu, "norm_linear", "join"), constants, [arg(0), arg(1), out(0)], grid)])
