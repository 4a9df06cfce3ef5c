"""Norms among NaNs and infinities, which a comparison with a tolerance cannot judge: they stay in their own line."""

from __future__ import annotations

import numpy as np
import pytest

from playwright_tests.ops.every_plan import by_every_plan
from webxpu import ops
from webxpu.host.gpu_page import GpuPage


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("place", [0, 64, 69])
def test_a_layernorm_keeps_what_is_not_finite_in_its_row(gpu_page: GpuPage, value: float, place: int) -> None:
    x = np.tile(np.array([1, -1], np.float32), (3, 35))
    x[1, place] = value
    ones, zeros = np.ones(70, np.float32), np.zeros(70, np.float32)
    for name, out in by_every_plan(gpu_page, ops.layernorm, (x, ones, zeros), eps=0.0).items():
        assert np.isnan(out[1]).all(), name
        assert out[0].tolist() == out[2].tolist() == x[0].tolist(), name


@pytest.mark.parametrize("length", [30, 16_500])
def test_a_group_norm_keeps_what_is_not_finite_in_its_group(gpu_page: GpuPage, length: int) -> None:
    x = np.tile(np.array([1, -1], np.float32), (1, 6, length // 2))
    x[0, 3, -1] = np.nan
    ones, zeros = np.ones(6, np.float32), np.zeros(6, np.float32)
    for name, out in by_every_plan(gpu_page, ops.group_norm, (x, ones, zeros), groups=3, eps=0.0).items():
        assert np.isnan(out[0, 2:4]).all(), name
        assert np.array_equal(out[0, [0, 1, 4, 5]], x[0, [0, 1, 4, 5]]), name
