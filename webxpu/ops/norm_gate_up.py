"""The start of a gated feed-forward layer: norm, the gate and up projections, and the activation between them."""

from __future__ import annotations

from typing import Any

import numpy as np

from webxpu.gpu.op import check, op
from webxpu.gpu.plan import Spec
from webxpu.ops.activation import activation
from webxpu.ops.matmul import linear
from webxpu.ops.norm_qkv import check_norm
from webxpu.ops.rmsnorm import rmsnorm

# Activations of gated layers, and their numbers in the kernels.
GLU_KINDS = {"silu": 0, "gelu": 1, "gelu_tanh": 2, "relu": 3}


@op
def glu(x: Any, *, kind: str = "silu") -> Any:
    """`activation(gate) * up`.

    x        (L, 2 F) float32: gate and up of a row side by side
    kind     silu, gelu, gelu_tanh or relu
    returns  (L, F) float32

    Raises ShapeError.
    """
    gate, up = np.split(x, 2, axis=1)
    return activation(np.ascontiguousarray(gate), kind=kind) * up


@glu.spec
def _(x: Spec, *, kind: str = "silu") -> Spec:
    check(x.dtype == "float32" and len(x.shape) == 2 and x.shape[1] % 2 == 0, "glu", "x", "float32[L, 2 F]", x)
    check(kind in GLU_KINDS, "glu", "kind", f"one of {sorted(GLU_KINDS)}", repr(kind))
    return Spec((x.shape[0], x.shape[1] // 2), "float32")


@op
def norm_gate_up(weight: Any, x: Any, gain: Any, *, kind: str = "silu", eps: float) -> Any:
    """`glu(linear(rmsnorm(x, gain), weight))`.

    weight   (2 F, K) float32 or Blocks: the rows of gate, then up
    x        (L, K) float32
    gain     (K,) float32, the norm's weight
    kind     silu, gelu, gelu_tanh or relu
    returns  (L, F) float32, summed in float64 (float32 on the GPU)

    At L == 1 one kernel multiplies by the norm's root after the sum. Raises ShapeError.
    """
    return glu(linear(rmsnorm(x, gain, eps=eps), weight), kind=kind)


@norm_gate_up.spec
def _(weight: Spec, x: Spec, gain: Spec, *, kind: str = "silu", eps: float) -> Spec:
    check_norm("norm_gate_up", x, gain, weight)
    check(weight.shape[0] % 2 == 0, "norm_gate_up", "weight", "(2 F, K), gate rows then up rows", weight)
    check(kind in GLU_KINDS, "norm_gate_up", "kind", f"one of {sorted(GLU_KINDS)}", repr(kind))
    return Spec((x.shape[0], weight.shape[0] // 2), "float32")
