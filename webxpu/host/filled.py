"""Ops on arrays too large to send: the page makes them by a hash and answers with parts of the outputs, or times."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from webxpu.cases._fill import Fill
from webxpu.gpu.op import Op
from webxpu.gpu.op import spec as spec_of
from webxpu.gpu.plan import Plan, Spec, out
from webxpu.gpu.program import NO_RANGE, Call, Range, bind, bound_bytes, encode
from webxpu.gpu.tensor import stored_bytes
from webxpu.host.gpu_page import GpuPage

Part = tuple[int, int]


class FilledRun:
    """A plan on arguments that are arrays or `Fill`s. Raises Unsupported where it passes the device's limits."""

    def __init__(self, page: GpuPage, name: str, args: Sequence[Any], outputs: Sequence[Spec], plan: Plan) -> None:
        self.page = page
        self.outputs = outputs
        self.plan = plan
        specs = [spec_of(a) for a in args]
        data = [None if a is None or isinstance(a, Fill) else stored_bytes(a)[1].tobytes() for a in args]
        self._question = b"".join(d for d in data if d)
        starts = itertools.accumulate((len(d or b"") for d in data), initial=0)
        sizes = [bound_bytes(s) if s else 4 for s in [*specs, *outputs, *plan.scratch]]
        self._buffers: list[dict[str, Any]] = [
            {"bytes": size, "start": start if d else None} for size, d, start in zip(sizes, data, starts)
        ]
        self._buffers += [{"bytes": size, "start": None} for size in sizes[len(specs) :]]
        ranges: list[Range] = [(i, 0, size) for i, size in enumerate(sizes)]
        first, scratch = len(specs), len(specs) + len(outputs)
        inputs = [r if s else NO_RANGE for r, s in zip(ranges, specs)]
        limits = dict(page.gpu.limits)
        self._name, self._limits = name, limits
        self._calls = bind(plan, inputs, ranges[first:scratch], ranges[scratch:])
        fills: list[Call] = []
        for a, r in zip(args, ranges, strict=False):
            if isinstance(a, Fill):
                fills += bind(a.plan(page.gpu, out(0)), [], [r], [])
        self._fill = encode("fill", fills, limits)
        self._first = first

    @classmethod
    def of(cls, page: GpuPage, op: Op, args: Sequence[Any], kwargs: Mapping[str, Any]) -> FilledRun:
        """An op's call, by the plan that the page's device gets."""
        return cls(page, op.name, args, *op.plan_of(page.gpu, *map(spec_of, args), **kwargs))

    def parts(self, wanted: Sequence[Sequence[Part]]) -> list[list[NDArray[Any]]]:
        """For each output the elements from `start` to `stop` of each part that is wanted of it."""
        read, kinds = [], []
        for i, (spec, ranges) in enumerate(zip(self.outputs, wanted, strict=True)):
            itemsize = np.dtype(spec.dtype).itemsize
            for start, stop in ranges:
                # Reads begin and end at whole words.
                low, high = start * itemsize // 4 * 4, -(-stop * itemsize // 4) * 4
                read.append([self._first + i, low, high - low])
                kinds.append((i, start * itemsize - low, stop - start, spec.dtype))
        answer, _ = self._run(read, 1, 0)
        found: list[list[NDArray[Any]]] = [[] for _ in self.outputs]
        at = 0
        for (_, _, nbytes), (i, skip, count, dtype) in zip(read, kinds, strict=True):
            body = answer[at + skip : at + skip + count * np.dtype(dtype).itemsize]
            found[i].append(np.frombuffer(body, dtype))
            at += nbytes
        return found

    def milliseconds(self, copies: int, rounds: int = 3) -> float:
        """The time of the plan's dispatches together: the least of some rounds, each of some copies in one submit."""
        _, times = self._run([], copies, rounds)
        count = len(self._calls)
        return min(math.fsum(times[i : i + count]) for i in range(0, len(times), count))

    def _run(self, read: Sequence[Sequence[int]], copies: int, rounds: int) -> tuple[bytes, list[float]]:
        program = encode(self._name, self._calls * copies, self._limits)
        job = {"fill": self._fill, "program": program, "buffers": self._buffers, "read": read, "repeats": rounds}
        return self.page.exchange("runFilled", self._question, job)
