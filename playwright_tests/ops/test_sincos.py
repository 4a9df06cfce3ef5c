"""The shared sine and cosine, which hold an accuracy that WGSL's own do not promise."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from webxpu.data import data_folder
from webxpu.host.gpu_page import GpuPage


@pytest.mark.parametrize(("reach", "error"), [(6.2832, 1.2e-7), (500, 1.2e-7), (6000, 1.2e-7)])
def test_sine_and_cosine_are_good_to_a_ten_millionth(gpu_page: GpuPage, reach: float, error: float) -> None:
    angles = np.linspace(-reach, reach, 20_001).astype(np.float32)
    part = (data_folder("kernels") / "_with" / "sincos.wgsl").read_text("utf-8")
    probe = Path(__file__).with_name("sincos_probe.wgsl").read_text("utf-8")
    got = gpu_page.run_code(part + probe, angles, (len(angles), 2), -(-len(angles) // 64))
    wide = angles.astype(np.float64)
    want = np.stack([np.sin(wide), np.cos(wide)], axis=1)
    assert np.abs(got - want).max() < error
