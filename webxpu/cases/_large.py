"""Large cases: more rows than a grid is wide, rows longer than a workgroup takes at once, 16,776,961 elements, weights
over WebGPU's least binding. The GPU makes its arrays itself; rows from everywhere are compared with the NumPy body."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from webxpu import ops
from webxpu.cases._fill import Fill
from webxpu.cases.case import Tolerance, hashed, tolerance_of
from webxpu.gpu.op import Op

Arrays = tuple[NDArray[Any], ...]
# One more than 65,535 workgroups of 256: the least count that no line of such workgroups covers.
PAST_A_LINE = 65_535 * 256 + 1
# More than the 65,535 workgroups that a grid is wide; and the length of a long row.
MANY = 70_000
# A float32 weight of (VOCAB, WIDTH) is 151 MB: more than the 134 MB that every device can bind.
VOCAB, WIDTH = 49_152, 768


@dataclass(frozen=True)
class Large:
    """One call of an op whose outputs are made of `rows` independent rows.

    args       arrays, and `Fill`s in place of large ones
    reference  (first, stop) -> the rows of each output, in float32 or as integers
    """

    op: Op
    name: str
    args: tuple[Any, ...]
    rows: int
    reference: Callable[[int, int], Arrays]
    kwargs: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.op.name}-{self.name}"

    @property
    def tolerance(self) -> Tolerance:
        return tolerance_of(self.op.body.__module__)

    def samples(self, count: int = 24) -> list[tuple[int, int]]:
        """Runs of up to four rows: the ends, the rows about 65,535, and some from everywhere."""
        starts = {0, max(self.rows - 4, 0), *(int(h) % self.rows for h in hashed(count, self.rows))}
        if self.rows > 65_535:
            starts.add(65_533)
        return [(start, min(start + 4, self.rows)) for start in sorted(starts)]


def _by_rows(op: Op, args: tuple[Any, ...], sliced: tuple[int, ...], kwargs: Mapping[str, Any]) -> Any:
    """The reference of an op each of whose rows depends on the same row of the arguments named in `sliced` alone."""

    def reference(first: int, stop: int) -> Arrays:
        parts = [_part(a, first, stop) if i in sliced else _whole(a) for i, a in enumerate(args)]
        found = op(*parts, **kwargs)
        return found if isinstance(found, tuple) else (found,)

    return reference


def _part(value: Any, first: int, stop: int) -> Any:
    return value.rows(first, stop) if isinstance(value, Fill) else value[first:stop]


def _whole(value: Any) -> Any:
    return value.rows(0, value.shape[0]) if isinstance(value, Fill) else value


def large(op: Op, name: str, *args: Any, sliced: tuple[int, ...] = (0,), **kwargs: Any) -> Large:
    """A case of an op that computes row by row; `sliced` are the arguments that have its rows."""
    return Large(op, name, args, args[sliced[0]].shape[0], _by_rows(op, args, sliced, kwargs), kwargs)


def _picked(table: Fill, indices: NDArray[np.int32]) -> Large:
    def reference(first: int, stop: int) -> Arrays:
        rows = [
            table.rows(i, i + 1) if 0 <= i < table.shape[0] else np.zeros((1, table.shape[1]), np.float32)
            for i in indices[first:stop].tolist()
        ]
        return (np.concatenate(rows),)

    return Large(ops.gather, "151-MB-table", (table, indices), len(indices), reference)


_WEIGHT = Fill((VOCAB, WIDTH), 11)
_LINE = Fill((PAST_A_LINE,), 1, 4.0)

LARGE = [
    large(ops.activation, "16776961-elements", _LINE, kind="gelu"),
    large(ops.elementwise, "16776961-elements", _LINE, Fill((PAST_A_LINE,), 2), sliced=(0, 1), kind="multiply"),
    large(ops.elementwise, "160-MB", Fill((40_000_000,), 3), Fill((40_000_000,), 4), sliced=(0, 1), kind="add"),
    large(ops.elementwise_rows, "70000-rows", Fill((MANY, 9), 5), Fill((9,), 6), kind="add"),
    large(ops.softmax, "70000-rows", Fill((MANY, 5), 7, 4.0)),
    large(ops.softmax, "rows-of-70000", Fill((2, MANY), 8, 4.0)),
    large(ops.rmsnorm, "70000-rows", Fill((MANY, 8), 9), Fill((8,), 10), eps=1e-5),
    large(ops.rmsnorm, "rows-of-70000", Fill((2, MANY), 11), Fill((MANY,), 12), eps=1e-5),
    large(ops.matvec, "151-MB-weight", _WEIGHT, Fill((WIDTH,), 13)),
    _picked(_WEIGHT, np.array([0, VOCAB - 1, -1, 43_689, 43_690, 43_691, VOCAB, 7, 65_536], np.int32)),
]
