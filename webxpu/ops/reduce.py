"""Sum, mean, largest and smallest along one axis."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from webxpu.gpu.kernels import resolve
from webxpu.gpu.op import check, op
from webxpu.gpu.plan import Binding, Dispatch, Plan, Spec, arg, flat_grid, in_chunks, out, scratch
from webxpu.gpu.target import Gpu
from webxpu.ops._lines import ALONE_THREADS, alone, team

# Numbers of the kinds in kernels/_with/reduce_line.wgsl.
KINDS = {"sum": 0, "max": 1, "min": 2, "mean": 3}
_FUNCTIONS: dict[str, Callable[[NDArray[np.float64], int], Any]] = {
    "sum": lambda x, axis: x.sum(axis),
    "max": lambda x, axis: x.max(axis),
    "min": lambda x, axis: x.min(axis),
    "mean": lambda x, axis: x.sum(axis) / np.float64(x.shape[axis]),  # of nothing a NaN without a warning
}
# A NaN's bits, the mean of no values.
_NAN_BITS = 0x7FC00000
# Values side by side go to a workgroup's threads from so many on; fewer go to one thread.
_TEAM_VALUES = 32
# Threads of a workgroup of which each has an output: few, so that not many outputs reach many processors.
_APART_THREADS = 64
# Lines are divided until so many workgroups, or so many threads, have a share, ...
_BUSY_TEAMS = 1024
_BUSY_THREADS = 131_072
# ... unless a share would have fewer values than this, or there would be fewer shares than another pass is worth.
_TEAM_SHARE = 4096
_THREAD_SHARE = 64
_LEAST_PARTS = 4


@op
def reduce(x: NDArray[np.float32], *, axis: int, kind: str) -> NDArray[np.float32]:
    """`torch.sum`, `torch.mean`, `torch.amax` or `torch.amin` of x along one axis, which is then gone.

    x        (..., A, ...) float32
    axis     which one, from the end if negative
    kind     "sum", "mean", "max", "min"
    returns  x's shape without the axis, float32; sums in float64 (float32 on the GPU)

    A NaN along the axis gives NaN in all four. On the GPU that is certain of max and min, which compare bits; a sum is
    what the device's own addition makes of it. No values have the sum 0 and the mean NaN, and no largest or smallest:
    that raises. Raises ShapeError.
    """
    wide = x.astype(np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        return np.asarray(_FUNCTIONS[kind](wide, axis), np.float32)


@reduce.spec
def _(x: Spec, *, axis: int, kind: str) -> Spec:
    check(x.dtype == "float32" and x.shape, "reduce", "x", "float32 with at least one axis", x)
    n = len(x.shape)
    check(-n <= axis < n, "reduce", "axis", f"at least {-n} and less than {n}", axis)
    check(kind in KINDS, "reduce", "kind", f"one of {', '.join(KINDS)}", repr(kind))
    if kind in ("max", "min"):
        check(x.shape[axis], "reduce", "x", f"of non-zero size along axis {axis}: no values have no {kind}", x)
    axis %= n
    return Spec(x.shape[:axis] + x.shape[axis + 1 :], "float32")


@reduce.plan
def _(gpu: Gpu, outputs: Sequence[Spec], x: Spec, *, axis: int, kind: str) -> Plan:
    axis %= len(x.shape)
    outer, a, inner = math.prod(x.shape[:axis]), x.shape[axis], math.prod(x.shape[axis + 1 :])
    if not outputs[0].size:
        return Plan([])
    if not a:
        kernel = resolve(gpu, "reduce", "empty")
        bits = _NAN_BITS if kind == "mean" else 0
        return Plan([Dispatch(kernel, {"BITS": bits}, [out(0)], flat_grid(outputs[0].size))])
    passes: list[Dispatch] = []
    shares: list[Spec] = []
    source = arg(0)
    while (parts := _parts(gpu, outer, a, inner)) > 1:
        place = len(shares)
        shares.append(Spec((outer, parts, inner), "float32"))
        passes += _pass(gpu, kind, (outer, a, inner), parts, source, scratch(place))
        # The shares of a mean are divided by the whole length already.
        kind = "sum" if kind == "mean" else kind
        a, source = parts, scratch(place, "read")
    return Plan([*passes, *_pass(gpu, kind, (outer, a, inner), 1, source, out(0))], shares)


def _parts(gpu: Gpu, outer: int, a: int, inner: int) -> int:
    """Into how many shares each line is divided: a power of two, so that few numbers are compiled."""
    side_by_side = _side_by_side(gpu, a, inner)
    busy, share = (_BUSY_TEAMS, _TEAM_SHARE) if side_by_side else (_BUSY_THREADS, _THREAD_SHARE)
    wanted = min(busy // (outer * inner), a // share)
    return 1 << wanted.bit_length() - 1 if wanted >= _LEAST_PARTS else 1


def _side_by_side(gpu: Gpu, a: int, inner: int) -> bool:
    """Whether a workgroup's threads read neighbouring values of one line: on a CPU adapter barriers cost more."""
    return inner == 1 and a >= _TEAM_VALUES and gpu.target != "cpu"


def _pass(
    gpu: Gpu, kind: str, shape: tuple[int, int, int], parts: int, source: Binding, target: Binding
) -> list[Dispatch]:
    """From (outer, a, inner) to (outer, parts, inner)."""
    outer, a, inner = shape
    if _side_by_side(gpu, a, inner):
        kernel = resolve(gpu, "reduce", "rows")
        threads, grid = team(kernel, a)
    else:
        kernel = resolve(gpu, "reduce")
        threads, grid = alone(ALONE_THREADS if gpu.target == "cpu" else _APART_THREADS)
    constants = {"KIND": KINDS[kind], "INNER": inner, "PARTS": parts, "THREADS": threads}
    dispatch = Dispatch(kernel, constants, [source, target], (1, 1, 1))
    return in_chunks(gpu, dispatch, outer, [4 * a * inner, 4 * parts * inner], lambda n: grid(n * parts * inner))
