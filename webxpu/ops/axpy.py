"""A multiple of one array added to another: a step along a direction."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from webxpu.gpu.kernels import resolve
from webxpu.gpu.op import check, op
from webxpu.gpu.plan import Dispatch, Plan, Spec, arg, flat_grid, in_chunks, out
from webxpu.gpu.target import Gpu

F32 = NDArray[np.float32]


@op
def axpy(x: F32, y: F32, *, a: float) -> F32:
    """`torch.add(y, x, alpha=a)`: y + a * x.

    x, y     the same shape, float32
    a        taken as a float32, as torch does
    returns  their shape, float32; rounded once (on the GPU once or twice, as its compiler likes)

    Raises ShapeError.
    """
    return _sum(x, y, a)


@axpy.spec
def _(x: Spec, y: Spec, *, a: float) -> Spec:
    return _check("axpy", x, y, a)


@axpy.plan
def _(gpu: Gpu, outputs: Sequence[Spec], x: Spec, y: Spec, *, a: float) -> Plan:
    dispatch = Dispatch(resolve(gpu, "axpy"), _constants(a), [arg(0), arg(1), out(0)], (1, 1, 1))
    return Plan(in_chunks(gpu, dispatch, x.size, (4, 4, 4), flat_grid))


@op(writes=("y",))
def axpy_inplace(x: F32, y: F32, *, a: float) -> None:
    """`y.add_(x, alpha=a)`: `axpy` with the result in y.

    x        y's shape, float32
    y        float32, written
    a        taken as a float32

    Raises ShapeError.
    """
    y[...] = _sum(x, y, a)


@axpy_inplace.spec
def _(x: Spec, y: Spec, *, a: float) -> tuple[Spec, ...]:
    _check("axpy_inplace", x, y, a)
    return ()


@axpy_inplace.plan
def _(gpu: Gpu, outputs: Sequence[Spec], x: Spec, y: Spec, *, a: float) -> Plan:
    bindings = [arg(0), arg(1, "read_write")]
    dispatch = Dispatch(resolve(gpu, "axpy", "inplace"), _constants(a), bindings, (1, 1, 1))
    return Plan(in_chunks(gpu, dispatch, x.size, (4, 4), flat_grid))


def _sum(x: F32, y: F32, a: float) -> F32:
    return np.asarray(y.astype(np.float64) + float(np.float32(a)) * x.astype(np.float64), np.float32)


def _constants(a: float) -> dict[str, float]:
    return {"A": float(np.float32(a))}


def _check(op_name: str, x: Spec, y: Spec, a: float) -> Spec:
    check(x.dtype == "float32", op_name, "x", "float32", x)
    check(y == x, op_name, "y", f"{x} as x is", y)
    check(abs(a) <= float(np.finfo(np.float32).max), op_name, "a", "a float32", a)
    return x
