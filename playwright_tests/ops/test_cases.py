"""Every case of every op on every kernel variant that this device can run; the quick ones with WebGPU's least limits,
to which tests without a GPU hold every plan."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from webxpu.cases.case import Case, gather_cases
from webxpu.gpu.frames import SENTINEL
from webxpu.host.gpu_page import GpuPage
from webxpu.report import Report

CASES = gather_cases()
RUNS = [("adapter", case) for case in CASES] + [("default", case) for case in CASES if case.quick]


@pytest.mark.parametrize(("gpu_page", "case"), RUNS, ids=str, indirect=["gpu_page"])
def test_a_case_agrees_with_its_numpy_body(case: Case, gpu_page: GpuPage, count_run: Counter[tuple[str, str]]) -> None:
    report = Report()
    gpu_page.try_case(report, case, every=gpu_page.limits == "adapter")
    if report.skipped == {str(case): "shader-f16"}:
        pytest.skip("needs shader-f16")  # the one thing that is skipped, and counted at the end
    assert not report.failures, "\n".join(map(str, report.failures))
    assert report.cases == 1
    for by, runs in report.ways.items():
        count_run[by, gpu_page.limits] += runs


def test_no_case_holds_the_sentinel() -> None:
    sentinel = np.array([SENTINEL], np.uint32).view(np.float32)[0]
    for case in CASES:
        for array in case.make():
            if isinstance(array, np.ndarray) and array.dtype.kind == "f":
                assert not np.any(array == sentinel), str(case)
