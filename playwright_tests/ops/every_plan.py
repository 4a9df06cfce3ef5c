"""What each way of computing an op gives, for tests that look at single values."""

from __future__ import annotations

from typing import Any

import numpy as np

from playwright_tests.ops.gpu_page import GpuPage
from tests.gpu.planner import Planner
from webxpu.gpu.op import Op
from webxpu.gpu.op import spec as spec_of


def by_every_plan(page: GpuPage, op: Op, args: tuple[Any, ...], **kwargs: Any) -> dict[str, np.ndarray]:
    planner = Planner(op, [spec_of(a) for a in args], kwargs)
    planner.add(page.gpu)
    if page.limits == "adapter":
        planner.add_all(page.gpu)
    results = page.run(op, args, kwargs, [plan for _, plan in planner.found])
    return {name: result.outputs[0] for (name, _), result in zip(planner.found, results, strict=True)}
