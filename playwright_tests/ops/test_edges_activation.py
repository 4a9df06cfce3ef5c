"""A NaN is no number after an activation either: WGSL's max, min and clamp may drop it."""

from __future__ import annotations

import numpy as np
import pytest

from playwright_tests.ops.every_plan import by_every_plan
from webxpu import ops
from webxpu.host.gpu_page import GpuPage
from webxpu.ops.activation import KINDS


@pytest.mark.parametrize("kind", KINDS)
def test_a_nan_of_either_sign_stays_one_and_its_neighbours_do_not_become_one(gpu_page: GpuPage, kind: str) -> None:
    x = np.linspace(-3, 3, 9, dtype=np.float32)
    x[2:5] = np.nan, -np.nan, 1e30
    for name, out in by_every_plan(gpu_page, ops.activation, (x,), kind=kind).items():
        np.testing.assert_array_equal(np.isnan(out), np.isnan(x), err_msg=name)


@pytest.mark.parametrize("db", [False, True])
def test_energies_of_a_nan_are_no_numbers_in_decibels_either(gpu_page: GpuPage, db: bool) -> None:
    real = np.ones((3, 4), np.float32)
    real[1, 2] = np.nan
    bank = np.ones((2, 4), np.float32)
    for name, out in by_every_plan(gpu_page, ops.mel_spectrogram, (real, real, bank), db=db).items():
        np.testing.assert_array_equal(np.isnan(out).any(axis=1), [False, True, False], err_msg=name)
