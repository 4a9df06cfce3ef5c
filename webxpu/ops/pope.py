"""Positions as orthogonal polynomials (PoPE)."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from webxpu.gpu.kernels import resolve
from webxpu.gpu.op import check, op, whole
from webxpu.gpu.plan import Dispatch, Plan, Spec, fold, out
from webxpu.gpu.target import Gpu

# Threads of a workgroup, each with a column.
_THREADS = 64


def legendre(n: int, x: ArrayLike) -> NDArray[np.float64]:
    """The Legendre polynomial of order n at x, in float64: `scipy.special.eval_legendre(n, x)`.

    By the recurrence (k + 1) P[k+1] = (2k + 1) x P[k] - k P[k-1], which keeps |P| within 1 on [-1, 1]; powers of x
    would cancel. Raises ShapeError.
    """
    check(whole(n) and n >= 0, "legendre", "n", "a whole number, at least 0", repr(n))
    return next(itertools.islice(_orders(np.asarray(x, np.float64)), n, None))


@op(generates=True)
def pope(length: int, width: int, *, pos_offset: int) -> NDArray[np.float32]:
    """The table of PoPE (arXiv 2405.04585, equations 14 and 15), which is added to embeddings. torch has none.

    length      L, how many positions
    width       D, how wide an embedding is
    pos_offset  the order of the first row. The paper does not say whether that is 0, which is a constant row, or 1
    returns     (L, D) float32: element (t, i) is the Legendre polynomial of order t + pos_offset at -1 + 2 i / D: the
                position is the order, the feature the argument; in float64 (float32 on the GPU, where errors grow with
                the order: 5e-6 at order 70)

    Raises ShapeError.
    """
    rows = itertools.islice(_orders(-1 + 2 * np.arange(width) / width), pos_offset, pos_offset + length)
    return np.array(list(rows), np.float32).reshape(length, width)


@pope.spec
def _(length: int, width: int, *, pos_offset: int) -> Spec:
    check(length >= 0, "pope", "length", "at least 0", length)
    check(width >= 1, "pope", "width", "at least 1", width)
    check(pos_offset >= 0, "pope", "pos_offset", "at least 0", pos_offset)
    return Spec((length, width), "float32")


@pope.plan
def _(gpu: Gpu, outputs: Sequence[Spec], length: int, width: int, *, pos_offset: int) -> Plan:
    constants = {"D": width, "OFFSET": pos_offset}
    return Plan([Dispatch(resolve(gpu, "pope"), constants, [out(0)], fold(-(-width // _THREADS)))])


def _orders(x: NDArray[np.float64]) -> Iterator[NDArray[np.float64]]:
    """P[0](x), P[1](x), and so on."""
    before, last = np.zeros_like(x), np.ones_like(x)
    for k in itertools.count():
        yield last
        before, last = last, ((2 * k + 1) * x * last - k * before) / (k + 1)
