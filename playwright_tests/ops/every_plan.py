"""What each way of computing an op gives, for tests that look at single values."""

from __future__ import annotations

from typing import Any

import numpy as np

from webxpu.gpu.op import Op
from webxpu.gpu.op import spec as spec_of
from webxpu.gpu.variants import Planner
from webxpu.host.gpu_page import GpuPage


def by_every_plan(page: GpuPage, op: Op, args: tuple[Any, ...], **kwargs: Any) -> dict[str, np.ndarray]:
    planner = Planner(op, [spec_of(a) for a in args], kwargs)
    planner.add(page.gpu)
    if page.limits == "adapter":
        planner.add_all(page.gpu)
    results = page.run(op, args, kwargs, [plan for _, plan in planner.found])
    return {name: result.outputs[0] for (name, _), result in zip(planner.found, results, strict=True)}
