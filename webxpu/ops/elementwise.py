"""Sums and products, element by element."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from webxpu.gpu.kernels import resolve
from webxpu.gpu.op import check, op
from webxpu.gpu.plan import Dispatch, Plan, Spec, arg, flat_grid, in_chunks, out
from webxpu.gpu.target import Gpu

# Numbers of the kinds in kernels/elementwise.
KINDS = {"add": 0, "multiply": 1}


@op
def elementwise(a: NDArray[np.float32], b: NDArray[np.float32], *, kind: str) -> NDArray[np.float32]:
    """`torch.add(a, b)` or `torch.mul(a, b)` for equal shapes: nothing is broadcast.

    a, b     the same shape, float32
    kind     "add" or "multiply"
    returns  their shape, float32

    Raises ShapeError.
    """
    return _compute(a, b, kind)


@elementwise.spec
def _(a: Spec, b: Spec, *, kind: str) -> Spec:
    _check("elementwise", a, b, kind)
    check(b.shape == a.shape, "elementwise", "b", f"of shape {list(a.shape)} as a is", b)
    return a


@elementwise.plan
def _(gpu: Gpu, outputs: Sequence[Spec], a: Spec, b: Spec, *, kind: str) -> Plan:
    kernel = resolve(gpu, "elementwise")
    dispatch = Dispatch(kernel, {"KIND": KINDS[kind]}, [arg(0), arg(1), out(0)], flat_grid(a.size))
    return Plan(in_chunks(gpu, dispatch, a.size, (4, 4, 4), flat_grid))


@op
def elementwise_rows(a: NDArray[np.float32], b: NDArray[np.float32], *, kind: str) -> NDArray[np.float32]:
    """`torch.add(a, b)` or `torch.mul(a, b)` where every row of a meets the same b: a bias, a scale.

    a        (S, D) float32
    b        (D,) float32
    kind     "add" or "multiply"
    returns  (S, D) float32

    Raises ShapeError.
    """
    return _compute(a, b, kind)


@elementwise_rows.spec
def _(a: Spec, b: Spec, *, kind: str) -> Spec:
    _check("elementwise_rows", a, b, kind)
    check(len(a.shape) == 2, "elementwise_rows", "a", "of shape (S, D)", a)
    check(b.shape == a.shape[1:], "elementwise_rows", "b", f"of shape ({a.shape[1]},)", b)
    return a


@elementwise_rows.plan
def _(gpu: Gpu, outputs: Sequence[Spec], a: Spec, b: Spec, *, kind: str) -> Plan:
    kernel = resolve(gpu, "elementwise", "rows")
    rows, d = a.shape
    dispatch = Dispatch(kernel, {"KIND": KINDS[kind], "D": d}, [arg(0), arg(1), out(0)], flat_grid(a.size))
    return Plan(in_chunks(gpu, dispatch, rows, (4 * d, 0, 4 * d), lambda count: flat_grid(count * d)))


def _compute(a: NDArray[np.float32], b: NDArray[np.float32], kind: str) -> NDArray[np.float32]:
    left, right = a.astype(np.float64), b.astype(np.float64)
    return (left + right if kind == "add" else left * right).astype(np.float32)


def _check(op_name: str, a: Spec, b: Spec, kind: str) -> None:
    check(a.dtype == "float32", op_name, "a", "float32", a)
    check(b.dtype == "float32", op_name, "b", "float32", b)
    check(kind in KINDS, op_name, "kind", f"one of {', '.join(KINDS)}", repr(kind))
