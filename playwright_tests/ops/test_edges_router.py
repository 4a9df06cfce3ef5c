"""What a comparison with a tolerance cannot say of the router: a NaN stays in its token, and ids stay ids."""

from __future__ import annotations

import numpy as np

from webxpu import ops
from webxpu.gpu.op import spec as spec_of
from webxpu.gpu.variants import Planner
from webxpu.host.gpu_page import GpuPage


def test_a_nan_spoils_the_gates_of_its_own_token_and_no_id(gpu_page: GpuPage) -> None:
    logits = np.array([[0, 2, 1], [np.nan, 2, 1], [3, np.nan, -np.nan], [1, 0, 2]], np.float32)
    for normalize in (False, True):
        kwargs = {"k": 2, "normalize": normalize}
        planner = Planner(ops.router, [spec_of(logits)], kwargs)
        planner.add(gpu_page.gpu)
        if gpu_page.limits == "adapter":
            planner.add_all(gpu_page.gpu)
        results = gpu_page.run(ops.router, (logits,), kwargs, [plan for _, plan in planner.found])
        for (name, _), result in zip(planner.found, results, strict=True):
            expert, gate = result.outputs
            assert np.isnan(gate).all(axis=1).tolist() == [False, True, True, False], name
            assert expert[[0, 3]].tolist() == [[1, 2], [2, 0]], name
            assert all(len(set(row)) == 2 and set(row) < {0, 1, 2} for row in expert), name
