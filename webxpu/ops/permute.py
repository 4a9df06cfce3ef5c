"""Axes in another order."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from webxpu.gpu.kernels import resolve
from webxpu.gpu.op import check, op
from webxpu.gpu.plan import Dispatch, Plan, Spec, arg, flat_grid, out
from webxpu.gpu.target import Gpu
from webxpu.ops.transpose import WORD_BYTES, WORDS, WORDS_RULE, by_batches, swaps

# How many axes kernels/permute moves, after the leading ones that stay and with neighbours that stay together as one.
_AXES = 5


@op
def permute(x: NDArray[Any], *, dims: Sequence[int]) -> NDArray[Any]:
    """`torch.permute(x, dims)`, as an array of its own. (L, H, D) by (1, 0, 2) splits heads, and merges them again.

    x        any shape, float32, int32 or uint32
    dims     each axis of x once, in the order that they have in the result; negative ones count from the end
    returns  x's dtype, axis i is x's axis dims[i]

    Every bit is kept. Any number of axes is taken, as long as what is moved are at most five groups of neighbours, not
    counting axes of size 1 and leading axes that stay: as patches of images, (B, C, H, p, W, p) by (0, 2, 4, 3, 5, 1),
    which is as much as fits. Raises ShapeError.
    """
    return np.transpose(x, dims).copy()


@permute.spec
def _(x: Spec, *, dims: Sequence[int]) -> Spec:
    rank = len(x.shape)
    check(x.dtype in WORDS, "permute", "x", WORDS_RULE, x)
    whole = all(-rank <= d < rank and isinstance(d, int) for d in dims)
    check(
        whole and sorted(d % rank for d in dims) == [*range(rank)], "permute", "dims", f"each of {rank} axes once", dims
    )
    order = _merged(x.shape, dims)[2]
    check(len(order) <= _AXES, "permute", "dims", f"at most {_AXES} groups of axes that move", f"{len(order)}: {dims}")
    return Spec(tuple(x.shape[d] for d in dims), x.dtype)


@permute.plan
def _(gpu: Gpu, outputs: Sequence[Spec], x: Spec, *, dims: Sequence[int]) -> Plan:
    batch, sizes, order = _merged(x.shape, dims)
    if order == [1, 0]:
        return Plan(swaps(gpu, batch, *sizes))
    # Sizes are constants, so that divisions by them become products. Only the larger of the first axis of x and the
    # first of the result is counted by the kernel: as heads are split or merged that is the number of rows, which
    # varies, and the one that is a constant then is below the number of heads.
    counted = max((0, order[0]), key=lambda axis: sizes[axis])
    constants = {f"N{axis}": 0 if axis == counted else n for axis, n in enumerate(sizes)}
    constants |= {f"P{k}": axis for k, axis in enumerate(order)}
    constants |= {f"{name}{i}": 1 if name == "N" else i for name in "NP" for i in range(len(sizes), _AXES)}
    dispatch = Dispatch(resolve(gpu, "permute"), constants, [arg(0), out(0)], (1, 1, 1))
    words = prod(sizes)
    row_bytes = (WORD_BYTES * words, WORD_BYTES * words)
    return Plan(by_batches(gpu, dispatch, batch, row_bytes, lambda count: flat_grid(count * words)))


def _merged(shape: Sequence[int], dims: Sequence[int]) -> tuple[int, list[int], list[int]]:
    """The same move with as few axes as it takes: how many arrays are moved alike, their sizes, their order.

    Axes of size 1 go, axes that stay neighbours become one, and a first axis that stays is the number of arrays.
    """
    live = [axis for axis, n in enumerate(shape) if n != 1]
    runs: list[list[int]] = []
    for axis in (d % len(shape) for d in dims):
        if axis not in live:
            continue
        if runs and live.index(axis) == live.index(runs[-1][-1]) + 1:
            runs[-1].append(axis)
        else:
            runs.append([axis])
    by_place = sorted(runs)
    sizes = [prod(shape[axis] for axis in run) for run in by_place] or [1]
    order = [by_place.index(run) for run in runs] or [0]
    if len(order) > 1 and order[0] == 0:
        return sizes[0], sizes[1:], [k - 1 for k in order[1:]]
    return 1, sizes, order
