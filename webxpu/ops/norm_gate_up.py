"""The start of a gated feed-forward layer: norm, the gate and up projections, and the activation between them."""

from __future__ import annotations

from typing import Any

import numpy as np

from webxpu.gpu.kernels import resolve
from webxpu.gpu.op import check, op
from webxpu.gpu.plan import Dispatch, Plan, Spec, arg, compose, fold, out
from webxpu.gpu.target import Gpu
from webxpu.ops._rows import DECODE_ROWS
from webxpu.ops._staged import staged_columns, stages
from webxpu.ops.activation import KINDS, activation, check_kind
from webxpu.ops.matmul import linear
from webxpu.ops.norm_linear import check_norm
from webxpu.ops.project import subgroups_of, units_of
from webxpu.ops.rmsnorm import rmsnorm
from webxpu.quant.ggml import weight_part

# Threads of a workgroup of the portable kernels, and of the subgroups one, which takes a subgroup a gate.
WORKGROUP = 64
THREADS = 128


@op
def glu(x: Any, *, kind: str = "silu") -> Any:
    """`activation(gate) * up`.

    x        (L, 2 F) float32: gate and up of a row side by side
    kind     an activation, see `activation`
    returns  (L, F) float32

    Raises ShapeError.
    """
    gate, up = np.split(x, 2, axis=1)
    return activation(np.ascontiguousarray(gate), kind=kind) * up


@glu.spec
def _(x: Spec, *, kind: str = "silu") -> Spec:
    check(x.dtype == "float32" and len(x.shape) == 2 and x.shape[1] % 2 == 0, "glu", "x", "float32[L, 2 F]", x)
    check_kind("glu", kind)
    return Spec((x.shape[0], x.shape[1] // 2), "float32")


@glu.plan
def _(gpu: Gpu, outputs: tuple[Spec, ...], x: Spec, *, kind: str = "silu") -> Plan:
    constants = {"F": outputs[0].shape[1], "KIND": KINDS[kind]}
    grid = fold(-(-outputs[0].size // WORKGROUP))
    return Plan([Dispatch(resolve(gpu, "norm_gate_up", "glu"), constants, [arg(0), out(0)], grid)])


@op
def norm_gate_up(weight: Any, x: Any, gain: Any, *, kind: str = "silu", eps: float) -> Any:
    """`glu(linear(rmsnorm(x, gain), weight))`.

    weight   (2 F, K) float32 or Blocks: the rows of gate, then up
    x        (L, K) float32, K a multiple of 4
    gain     (K,) float32, the norm's weight
    kind     an activation, see `activation`
    eps      added to the norm's mean of squares
    returns  (L, F) float32, summed in float64 (float32 on the GPU)

    Up to L == 9 one kernel multiplies by the norm's root after the sum, and a GPU gives each row the bits that it has
    alone. Raises ShapeError.
    """
    return glu(linear(rmsnorm(x, gain, eps=eps), weight), kind=kind)


@norm_gate_up.spec
def _(weight: Spec, x: Spec, gain: Spec, *, kind: str = "silu", eps: float) -> Spec:
    check_norm("norm_gate_up", x, gain, weight)
    check(weight.shape[0] % 2 == 0, "norm_gate_up", "weight", "(2 F, K), gate rows then up rows", weight)
    check_kind("norm_gate_up", kind)
    return Spec((x.shape[0], weight.shape[0] // 2), "float32")


@norm_gate_up.plan
def _(
    gpu: Gpu, outputs: tuple[Spec, ...], weight: Spec, x: Spec, gain: Spec, *, kind: str = "silu", eps: float
) -> Plan:
    rows = x.shape[0]
    if not 1 <= rows <= DECODE_ROWS:
        c = compose(gpu, weight, x, gain)
        (normed,) = c.call(rmsnorm, c.args[1], c.args[2], eps=eps)
        (both,) = c.call(linear, normed, c.args[0])
        c.call(glu, both, into=[out(0)], kind=kind)
        return c.plan()
    n, k = weight.shape
    kernel = resolve(gpu, "norm_gate_up", weights=weight_part(weight.dtype, weight.shape))
    constants: dict[str, int | float] = {"N": n, "K": k, "KIND": KINDS[kind], "EPS": eps}
    if stages(gpu, kernel, k):
        kernel = resolve(gpu, "norm_gate_up", "staged", weights=kernel.weights)
        columns = staged_columns(gpu, constants, n, least=2) // 2
    elif kernel.features:
        columns = subgroups_of(gpu, THREADS)
    else:
        constants["UNITS"] = units_of(gpu, 4)
        columns = WORKGROUP * units_of(gpu, 4)
    return Plan([Dispatch(kernel, constants, [arg(0), arg(1), arg(2), out(0)], fold(rows * -(-n // 2 // columns)))])
