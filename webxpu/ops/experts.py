"""The feed-forward of a mixture of experts: every token through the experts that `router` chose, whose rows alone are
read. Weights hold all experts' rows, one expert behind the other."""

from __future__ import annotations

from typing import Any

import numpy as np

from webxpu.gpu.kernels import Kernel, resolve
from webxpu.gpu.op import check, op
from webxpu.gpu.plan import Binding, Dispatch, Plan, Spec, arg, fold, out
from webxpu.gpu.target import Gpu
from webxpu.ops.activation import KINDS, check_kind
from webxpu.ops.matmul import linear
from webxpu.ops.matvec import check_weight
from webxpu.ops.norm_gate_up import glu
from webxpu.ops.norm_linear import check_norm
from webxpu.ops.project import subgroups_of, units_of
from webxpu.ops.rmsnorm import rmsnorm
from webxpu.quant.ggml import Blocks, weight_part

# Threads of a workgroup of the portable kernels, and of the subgroups ones, which take a subgroup an output.
WORKGROUP = 64
THREADS = 128


@op
def expert_gate_up(weight: Any, x: Any, gain: Any, expert: Any, *, experts: int, kind: str = "silu", eps: float) -> Any:
    """`norm_gate_up` of a token's experts.

    weight   (2 E * F, K) float32 or Blocks: F gate rows of each expert, then F up rows of each
    x        (L, K) float32, K a multiple of 4
    gain     (K,) float32, the norm's weight
    expert   (L, R) int32, see `router`
    experts  E
    kind     an activation, see `activation`
    eps      added to the norm's mean of squares
    returns  (L, R, F) float32, summed in float64 (float32 on the GPU)

    An expert outside 0 to E - 1 gives zeros. However many rows, each is summed in the order of one row. Raises
    ShapeError.
    """
    f = weight.shape[0] // 2 // experts
    normed, result = rmsnorm(x, gain, eps=eps), np.zeros((*expert.shape, f), np.float32)
    for e in range(experts):
        token, rank = np.nonzero(expert == e)
        if len(token):
            rows = np.concatenate([np.arange(f) + e * f, np.arange(f) + (experts + e) * f])
            result[token, rank] = glu(linear(normed[token], _rows(weight, rows)), kind=kind)
    return result


@expert_gate_up.spec
def _(weight: Spec, x: Spec, gain: Spec, expert: Spec, *, experts: int, kind: str = "silu", eps: float) -> Spec:
    check_norm("expert_gate_up", x, gain, weight)
    check(experts >= 1, "expert_gate_up", "experts", "at least 1", experts)
    n = weight.shape[0]
    fits = n >= 1 and n % (2 * experts) == 0
    check(fits, "expert_gate_up", "weight", f"(2 E * F, K) with E = {experts} and F >= 1", weight)
    _check_expert("expert_gate_up", expert, x.shape[0])
    check_kind("expert_gate_up", kind)
    return Spec((*expert.shape, n // 2 // experts), "float32")


@expert_gate_up.plan
def _(
    gpu: Gpu,
    outputs: tuple[Spec, ...],
    weight: Spec,
    x: Spec,
    gain: Spec,
    expert: Spec,
    *,
    experts: int,
    kind: str = "silu",
    eps: float,
) -> Plan:
    kernel = resolve(gpu, "experts", "gate_up", weights=weight_part(weight.dtype, weight.shape))
    (n, k), f = weight.shape, outputs[0].shape[2]
    constants = {"N": n, "K": k, "F": f, "RANKS": expert.shape[1], "KIND": KINDS[kind], "EPS": eps}
    bindings = [arg(0), arg(1), arg(2), arg(3), out(0)]
    return Plan([_dispatch(gpu, kernel, constants, bindings, expert.size, f)])


@op
def expert_down(weight: Any, hidden: Any, expert: Any, gate: Any, residual: Any) -> Any:
    """`residual` and over a token's ranks the sum of `gate * linear(hidden, the expert's rows)`.

    weight    (E * N, K) float32 or Blocks: N rows of each expert
    hidden    (L, R, K) float32, K a multiple of 4, from `expert_gate_up`
    expert    (L, R) int32, and
    gate      (L, R) float32, from `router`
    residual  (L, N) float32
    returns   (L, N) float32, summed in float64 (float32 on the GPU)

    A rank whose expert is outside 0 to E - 1 adds nothing, whatever its gate. However many rows, each is summed in the
    order of one row. Raises ShapeError.
    """
    n = residual.shape[1]
    result = residual.astype(np.float64)
    for e in range(weight.shape[0] // n):
        token, rank = np.nonzero(expert == e)
        if len(token):
            y = linear(hidden[token, rank], _rows(weight, np.arange(n) + e * n))
            np.add.at(result, token, gate[token, rank, None].astype(np.float64) * y)
    return result.astype(np.float32)


@expert_down.spec
def _(weight: Spec, hidden: Spec, expert: Spec, gate: Spec, residual: Spec) -> Spec:
    fits = hidden.dtype == "float32" and len(hidden.shape) == 3 and hidden.shape[2] % 4 == 0 and hidden.shape[2]
    check(fits, "expert_down", "hidden", "float32[L, R, K] with K a multiple of 4", hidden)
    rows, ranks, k = hidden.shape
    fits = residual.dtype == "float32" and residual.shape[:1] == (rows,) and len(residual.shape) == 2
    check(fits and residual.shape[1], "expert_down", "residual", f"float32[{rows}, N] with N >= 1", residual)
    n, width = check_weight("expert_down", weight)
    rule = f"(E * {residual.shape[1]}, {k}) with E >= 1"
    check(width == k and n >= 1 and n % residual.shape[1] == 0, "expert_down", "weight", rule, weight)
    _check_expert("expert_down", expert, rows)
    check(expert.shape[1] == ranks, "expert_down", "expert", f"int32[{rows}, {ranks}]", expert)
    check(gate == Spec(expert.shape, "float32"), "expert_down", "gate", str(Spec(expert.shape, "float32")), gate)
    return residual


@expert_down.plan
def _(
    gpu: Gpu, outputs: tuple[Spec, ...], weight: Spec, hidden: Spec, expert: Spec, gate: Spec, residual: Spec
) -> Plan:
    kernel = resolve(gpu, "experts", "down", weights=weight_part(weight.dtype, weight.shape))
    (n, k), (rows, count) = weight.shape, residual.shape
    constants: dict[str, int | float] = {"N": n, "K": k, "OUT": count, "RANKS": expert.shape[1]}
    bindings = [arg(0), arg(1), arg(2), arg(3), arg(4), out(0)]
    return Plan([_dispatch(gpu, kernel, constants, bindings, rows, count)])


def _dispatch(
    gpu: Gpu, kernel: Kernel, constants: dict[str, int | float], bindings: list[Binding], lines: int, width: int
) -> Dispatch:
    """`width` outputs of each of `lines`: a subgroup each, or some a thread."""
    if kernel.features:
        groups = -(-lines * width // subgroups_of(gpu, THREADS))
    else:
        units = units_of(gpu, 4)
        constants = {**constants, "UNITS": units}
        groups = lines * -(-width // (WORKGROUP * units))
    return Dispatch(kernel, constants, bindings, fold(groups))


def _rows(weight: Any, rows: Any) -> Any:
    return weight.rows(rows) if isinstance(weight, Blocks) else weight[rows]


def _check_expert(op_name: str, expert: Spec, tokens: int) -> None:
    fits = expert.dtype == "int32" and len(expert.shape) == 2 and expert.shape[0] == tokens and expert.shape[1] >= 1
    check(fits, op_name, "expert", f"int32[{tokens}, R] with R >= 1", expert)
