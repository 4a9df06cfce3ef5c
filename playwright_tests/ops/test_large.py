"""Large cases under WebGPU's least limits, by the kernels that the device gets."""

from __future__ import annotations

import math

import pytest

from webxpu.cases._large import LARGE, Large
from webxpu.cases.case import EXACT, agree
from webxpu.host.filled import FilledRun
from webxpu.host.gpu_page import GpuPage


@pytest.mark.parametrize("gpu_page", ["default"], indirect=True)
@pytest.mark.parametrize("case", LARGE, ids=str)
def test_rows_from_everywhere_agree_with_the_numpy_body(case: Large, gpu_page: GpuPage) -> None:
    run = FilledRun.of(gpu_page, case.op, case.args, case.kwargs)
    widths = [math.prod(spec.shape) // case.rows for spec in run.outputs]
    samples = case.samples()
    found = run.parts([[(first * w, stop * w) for first, stop in samples] for w in widths])
    for i, (first, stop) in enumerate(samples):
        for parts, want in zip(found, case.reference(first, stop), strict=True):
            tolerance = case.tolerance if want.dtype.kind == "f" else EXACT
            worst = agree(parts[i], want.reshape(-1), tolerance)
            assert worst is None, f"{case}, rows {first} to {stop}: {worst}"
