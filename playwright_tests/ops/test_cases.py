"""Every case of every op on every kernel variant that this device can run, and once more with WebGPU's least limits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from playwright_tests.ops.gpu_page import SENTINEL, GpuPage
from webxpu import ops
from webxpu.cases.case import EXACT, Case, agree, gather_cases
from webxpu.gpu import plan as plans
from webxpu.gpu.kernels import Variant, variants
from webxpu.gpu.op import Op
from webxpu.gpu.op import spec as spec_of
from webxpu.gpu.plan import Plan, Spec
from webxpu.gpu.target import Gpu

CASES = gather_cases()
# A limit that nearly every grid passes, so that its kernels run folded too.
FEW_GROUPS = 3
Ran = Counter[tuple[str, str]]


class Planner:
    """Makes the different plans of one call."""

    def __init__(self, op: Op, specs: Sequence[Spec], kwargs: Mapping[str, Any]) -> None:
        self.op, self.specs, self.kwargs = op, specs, kwargs
        self.found: list[tuple[str, Plan]] = []

    def add(self, gpu: Gpu, note: str = "") -> Plan:
        """The plan for a device, kept unless an equal one is there already."""
        _, plan = self.op.plan_of(gpu, *self.specs, **self.kwargs)
        if all(work(plan) != work(other) for _, other in self.found):
            names = dict.fromkeys(f"{d.kernel.op}/{d.kernel.variant.name}" for d in plan.dispatches)
            self.found.append((" + ".join(names) + note, plan))
        return plan

    def add_all(self, gpu: Gpu, monkeypatch: pytest.MonkeyPatch) -> None:
        """Plans for an unknown device and for a CPU, which may take other kernels and tiles; for every other variant of
        each kernel; and one whose grids are folded."""
        for target in (gpu.target, None, "cpu"):
            known = replace(gpu, target=target)
            kernels = {(d.kernel.op, d.kernel.variant.entry) for d in self.add(known).dispatches}
            for folder, entry in sorted(kernels):
                for variant in variants(folder):
                    if variant.entry == entry and can_run(gpu, variant):
                        self.add(known.override({f"{folder}/{entry}": variant.name}))
        if all(d.grid[1] == 1 for d in self.found[0][1].dispatches):
            with monkeypatch.context() as patch:
                patch.setattr(plans, "MAX_GROUPS", FEW_GROUPS)
                self.add(gpu, " folded")


def work(plan: Plan) -> list[tuple[Any, ...]]:
    """What a plan does, whatever the way on which its kernels were found."""
    return [(d.kernel.label, dict(d.constants), list(d.bindings), d.grid) for d in plan.dispatches]


def can_run(gpu: Gpu, variant: Variant) -> bool:
    return gpu.features.issuperset({*variant.features, *filter(None, [variant.dtype])})


def expected(op: Op, case: Case, args: tuple[Any, ...]) -> tuple[np.ndarray, ...]:
    """What the NumPy body returns. It writes into the arguments that the op declares."""
    returned = op(*args, **case.kwargs)
    return returned if isinstance(returned, tuple) else () if returned is None else (returned,)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_case_agrees_with_its_numpy_body(
    case: Case, gpu_page: GpuPage, count_run: Ran, monkeypatch: pytest.MonkeyPatch
) -> None:
    op: Op = getattr(ops, case.op)
    args = case.make()
    planner = Planner(op, [spec_of(a) for a in args], case.kwargs)
    planner.add(gpu_page.gpu)
    if gpu_page.limits == "adapter":
        planner.add_all(gpu_page.gpu, monkeypatch)
    outputs = expected(op, case, args) if not op.writes else ()
    if outputs and all(array.size == 0 for array in outputs):
        return  # as Device.dispatch does: nothing is asked of the GPU
    results = gpu_page.run(op, args, case.kwargs, [plan for _, plan in planner.found])
    outputs = outputs or expected(op, case, args)
    for (name, _), result in zip(planner.found, results, strict=True):
        for got, want in wanted(result.outputs, outputs, result.written, args):
            worst = agree(got, want, case.tolerance if want.dtype.kind == "f" and case.tolerance else EXACT)
            assert worst is None, f"{case} by {name}: {worst}"
        count_run[name, gpu_page.limits] += 1


def wanted(
    outputs: Sequence[np.ndarray],
    references: Sequence[np.ndarray],
    written: Mapping[int, np.ndarray],
    args: Sequence[np.ndarray],
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    yield from zip(outputs, references, strict=True)
    yield from ((array, args[i]) for i, array in written.items())


def test_no_case_holds_the_sentinel() -> None:
    sentinel = np.array([SENTINEL], np.uint32).view(np.float32)[0]
    for case in CASES:
        for array in case.make():
            if isinstance(array, np.ndarray) and array.dtype.kind == "f":
                assert not np.any(array == sentinel), str(case)
