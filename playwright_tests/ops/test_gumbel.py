"""The random words of `sample` on the GPU, exactly, and their noise, which WGSL's own logarithm would spoil."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from webxpu.cases.case import hashed
from webxpu.data import data_folder
from webxpu.host.gpu_page import GpuPage
from webxpu.ops.sample import gumbel, philox


def test_noise_is_good_to_two_millionths_and_random_words_are_exact(gpu_page: GpuPage) -> None:
    ends = np.array([0, 1 << 9, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF - (1 << 9), 0xFFFFFFFF], np.uint32)
    words = np.concatenate([ends, hashed(20_000, 3)])
    parts = data_folder("kernels") / "_with"
    part = "".join((parts / name).read_text("utf-8") for name in ("wide.wgsl", "ln.wgsl", "philox.wgsl"))
    probe = Path(__file__).with_name("gumbel_probe.wgsl").read_text("utf-8")
    got = gpu_page.run_code(part + probe, words, (len(words), 2), -(-len(words) // 64))
    assert np.abs(got[:, 0] - gumbel(words)).max() < 2e-6
    np.testing.assert_array_equal(got[:, 1], philox((words, 7, 0, 0), (0x89ABCDEF, 0x01234567))[0] >> 8)
