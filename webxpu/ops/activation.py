"""Activations, element by element."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from webxpu.gpu.kernels import resolve
from webxpu.gpu.op import check, op
from webxpu.gpu.plan import Dispatch, Plan, Spec, arg, flat_grid, in_chunks, out
from webxpu.gpu.target import Gpu

F64 = NDArray[np.float64]
# Numbers of the kinds in kernels/_with/activation.wgsl.
KINDS = {"relu2": 0, "silu": 1, "elu": 2, "tanh": 3, "gelu": 4, "gelu_tanh": 5}

_erf = np.vectorize(math.erf, otypes=[np.float64])


@op
def activation(x: NDArray[np.float32], *, kind: str, alpha: float = 1.0) -> NDArray[np.float32]:
    """The functions of `torch.nn.functional`, by name.

    x        any shape, float32
    kind     "relu2" max(0, x)^2, "silu", "elu" (the only one that uses alpha), "tanh", "gelu" (torch's default, by
             erf), "gelu_tanh" (torch's approximate="tanh"; it differs from gelu by up to 4.7e-4)
    returns  x's shape, float32; computed in float64 (float32 on the GPU)

    Raises ShapeError.
    """
    wide = x.astype(np.float64)
    if kind == "elu":
        return np.asarray(np.where(wide > 0, wide, alpha * np.expm1(np.minimum(wide, 0))), np.float32)
    return _FUNCTIONS[kind](wide).astype(np.float32)


@activation.spec
def _(x: Spec, *, kind: str, alpha: float = 1.0) -> Spec:
    check(x.dtype == "float32", "activation", "x", "float32", x)
    check_kind("activation", kind)
    return x


@activation.plan
def _(gpu: Gpu, outputs: Sequence[Spec], x: Spec, *, kind: str, alpha: float = 1.0) -> Plan:
    constants = {"KIND": KINDS[kind], "ALPHA": alpha}
    dispatch = Dispatch(resolve(gpu, "activation"), constants, [arg(0), out(0)], flat_grid(x.size))
    return Plan(in_chunks(gpu, dispatch, x.size, (4, 4), flat_grid))


def check_kind(op_name: str, kind: str) -> None:
    """Raises ShapeError unless `kind` is an activation's name."""
    check(kind in KINDS, op_name, "kind", f"one of {', '.join(KINDS)}", repr(kind))


def _silu(x: F64) -> F64:
    with np.errstate(over="ignore"):  # exp(-x) may overflow to inf; x / inf is the right 0
        return np.asarray(x / (1 + np.exp(-x)))


def _gelu(x: F64) -> F64:
    return np.asarray(0.5 * x * (1 + _erf(x / math.sqrt(2))))


def _gelu_tanh(x: F64) -> F64:
    return np.asarray(0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))))


_FUNCTIONS: dict[str, Callable[[F64], F64]] = {
    "relu2": lambda x: np.maximum(x, 0) ** 2,
    "silu": _silu,
    "tanh": np.tanh,
    "gelu": _gelu,
    "gelu_tanh": _gelu_tanh,
}
