"""Every case of every op on every kernel variant that this device can run, and once more with WebGPU's least limits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from webxpu import ops
from webxpu.cases.case import EXACT, Case, agree, gather_cases
from webxpu.gpu.frames import SENTINEL
from webxpu.gpu.op import Op
from webxpu.gpu.op import spec as spec_of
from webxpu.gpu.variants import Planner
from webxpu.host.gpu_page import GpuPage

CASES = gather_cases()
Ran = Counter[tuple[str, str]]


def expected(op: Op, case: Case, args: tuple[Any, ...]) -> tuple[np.ndarray, ...]:
    """What the NumPy body returns. It writes into the arguments that the op declares."""
    returned = op(*args, **case.kwargs)
    return returned if isinstance(returned, tuple) else () if returned is None else (returned,)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_case_agrees_with_its_numpy_body(case: Case, gpu_page: GpuPage, count_run: Ran) -> None:
    op: Op = getattr(ops, case.op)
    args = case.make()
    planner = Planner(op, [spec_of(a) for a in args], case.kwargs)
    if planner.needs(gpu_page.gpu) == "shader-f16":
        pytest.skip("needs shader-f16")  # the one thing that is skipped, and counted at the end
    planner.add(gpu_page.gpu)
    if gpu_page.limits == "adapter":
        planner.add_all(gpu_page.gpu)
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
