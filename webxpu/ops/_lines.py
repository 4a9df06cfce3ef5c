"""What ops share whose kernels give each line of values to a team of threads: kernels/_with/team_*.wgsl."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from webxpu.gpu.kernels import Kernel, resolve
from webxpu.gpu.plan import Binding, Dispatch, Grid, Spec, fold, in_chunks
from webxpu.gpu.target import Gpu

# What a float tensor may hold, and the suffix of the kernels for it.
REAL: Mapping[str, str | None] = {"float32": None, "float16": "f16"}
# Threads of a workgroup where each takes a line by itself: the lanes of a CPU adapter's subgroup.
ALONE_THREADS = 4


def narrow(wide: NDArray[np.float64], like: NDArray[Any]) -> NDArray[Any]:
    """Rounded once to the other array's dtype; what is too large for it becomes infinite."""
    with np.errstate(over="ignore"):
        return np.asarray(wide, like.dtype)


def line_dispatches(
    gpu: Gpu,
    op_name: str,
    x: Spec,
    constants: Mapping[str, int | float],
    bindings: Sequence[Binding],
    multiple: int = 1,
) -> list[Dispatch]:
    """The op's entry `kernel` on every row of x: its first binding is x, its last an output of x's shape, and every row
    reads the whole of the others. A chunk begins at a multiple of so many rows."""
    if not x.size:
        return []
    d = x.shape[-1]
    rows, row_bytes = x.size // d, d * np.dtype(x.dtype).itemsize
    kernel = resolve(gpu, op_name, dtype=REAL[x.dtype])
    threads, grid = team(kernel, d)
    dispatch = Dispatch(kernel, {**constants, "D": d, "THREADS": threads}, bindings, grid(rows))
    return in_chunks(gpu, dispatch, rows, [row_bytes, *[0] * (len(bindings) - 2), row_bytes], grid, multiple)


def team(kernel: Kernel, values: int) -> tuple[int, Callable[[int], Grid]]:
    """How many threads a workgroup has for lines of `values`, and its grid for a number of lines."""
    return alone(ALONE_THREADS) if kernel.variant.target == "cpu" else (row_threads(values), fold)


def alone(threads: int) -> tuple[int, Callable[[int], Grid]]:
    """The same where each thread has a line to itself."""
    return threads, lambda lines: fold(-(-lines // threads))


def row_threads(d: int) -> int:
    """Threads of a workgroup that reduces rows of `d`: each has a few elements, and none is idle in a short row."""
    return 64 if d <= 1024 else 256
