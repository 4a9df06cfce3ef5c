"""Matrices with their last two axes swapped."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from webxpu.gpu.kernels import resolve
from webxpu.gpu.op import check, op
from webxpu.gpu.plan import Dispatch, Grid, Plan, Spec, arg, flat_grid, fold, in_chunks, out
from webxpu.gpu.target import Gpu

# Rows and columns of a workgroup's tile in kernels/transpose.
_TILE = 32
WORD_BYTES = 4
# Ops that only move values move words of 32 bits, whatever they mean.
WORDS = ("float32", "int32", "uint32")
WORDS_RULE = "float32, int32 or uint32"


@op
def transpose(x: NDArray[Any]) -> NDArray[Any]:
    """`torch.transpose(x, -1, -2)`, which is `x.mT`, as an array of its own.

    x        (..., R, C) float32, int32 or uint32
    returns  (..., C, R), x's dtype

    Every bit is kept, a NaN's too. Raises ShapeError.
    """
    return np.swapaxes(x, -1, -2).copy()


@transpose.spec
def _(x: Spec) -> Spec:
    check(x.dtype in WORDS and len(x.shape) >= 2, "transpose", "x", f"{WORDS_RULE} of shape (..., R, C)", x)
    *batch, r, c = x.shape
    return Spec((*batch, c, r), x.dtype)


@transpose.plan
def _(gpu: Gpu, outputs: Sequence[Spec], x: Spec) -> Plan:
    *batch, r, c = x.shape
    return Plan(swaps(gpu, int(np.prod(batch, dtype=np.int64)), r, c))


def swaps(gpu: Gpu, batch: int, r: int, c: int) -> list[Dispatch]:
    """The dispatches that take input 0, (batch, R, C), to output 0, (batch, C, R)."""
    kernel = resolve(gpu, "transpose")
    # The larger of two sizes is counted by the kernel. So rows that vary compile at most C pipelines, one for each
    # number below C, and a model's sequences have one.
    constants = {"R": r if r < c else 0, "C": 0 if r < c else c}
    dispatch = Dispatch(kernel, constants, [arg(0), out(0)], (1, 1, 1))
    on_cpu = kernel.variant.target == "cpu"
    tiles = -(-r // _TILE) * -(-c // _TILE)
    matrix = r * c
    return by_batches(
        gpu,
        dispatch,
        batch,
        (WORD_BYTES * matrix, WORD_BYTES * matrix),
        lambda count: flat_grid(count * matrix) if on_cpu else fold(count * tiles),
    )


def by_batches(
    gpu: Gpu, dispatch: Dispatch, batch: int, row_bytes: Sequence[int], grid: Callable[[int], Grid]
) -> list[Dispatch]:
    """`in_chunks` for a kernel that is told by BATCH how many there are, and counts the rest."""
    return in_chunks(gpu, dispatch, batch, row_bytes, grid, told=lambda _, count: {"BATCH": count})
