"""One case on one device: the plans that it can run, and what they gave beside what the definition gives."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from webxpu import ops
from webxpu.cases.case import Case
from webxpu.gpu.frames import Result
from webxpu.gpu.op import Op
from webxpu.gpu.op import spec as spec_of
from webxpu.gpu.plan import Plan, Spec
from webxpu.gpu.target import Gpu
from webxpu.gpu.variants import Planner

Pair = tuple[NDArray[Any], NDArray[Any]]


@dataclass
class Trial:
    """A case made ready for a device.

    plans    a name and a plan for each way of doing it; none where nothing is asked of the GPU
    needs    the WebGPU feature without which this device cannot run the case at all
    lacking  the kernels that this device cannot run, each with the WebGPU feature that is missing
    """

    case: Case
    op: Op
    args: tuple[Any, ...]
    specs: list[Spec | None]
    outputs: tuple[Spec, ...]
    plans: list[tuple[str, Plan]] = field(default_factory=list)
    needs: str | None = None
    lacking: dict[str, str] = field(default_factory=dict)
    _wanted: tuple[NDArray[Any], ...] | None = None

    def wanted(self) -> tuple[NDArray[Any], ...]:
        """What the definition returns. It writes into the arguments that the op declares, so the arguments' bytes must
        have been taken before."""
        if self._wanted is None:
            returned = self.op(*self.args, **self.case.kwargs)
            self._wanted = returned if isinstance(returned, tuple) else () if returned is None else (returned,)
        return self._wanted

    def pairs(self, result: Result) -> list[Pair]:
        """What was computed beside what was wanted: the outputs, then the arguments that the op writes."""
        wanted, decode = self.wanted(), self.case.decode or np.asarray
        written = [(decode(array), decode(self.args[i])) for i, array in result.written.items()]
        return [*zip(result.outputs, wanted, strict=True), *written]


def prepare(case: Case, gpu: Gpu, *, every: bool = True) -> Trial:
    """The trial of a case, by every plan or by the device's own alone."""
    op: Op = getattr(ops, case.op)
    args = case.make()
    specs = [spec_of(a) for a in args]
    planner = Planner(op, specs, case.kwargs)
    trial = Trial(case, op, args, specs, op.spec_of(*specs, **case.kwargs), planner.found, planner.needs(gpu))
    if every:
        trial.lacking = planner.lacking(gpu)
    # As Device.dispatch does: for empty outputs nothing is asked of the GPU.
    empty = bool(trial.outputs) and all(spec.size == 0 for spec in trial.outputs) and not op.writes
    if trial.needs is None and not empty:
        planner.add(gpu)
        if every:
            planner.add_all(gpu)
    return trial
