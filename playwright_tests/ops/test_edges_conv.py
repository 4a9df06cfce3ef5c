"""Convolutions: an infinity or a NaN is met by the windows that hold it and by no others, whatever a tile is filled up
with."""

from __future__ import annotations

import numpy as np

from playwright_tests.ops.every_plan import by_every_plan
from webxpu import ops
from webxpu.host.gpu_page import GpuPage


def test_a_convolution_keeps_infinities_and_nans_to_their_windows(gpu_page: GpuPage) -> None:
    """Ten channels take a tile, whose rows, columns and terms past the end hold something."""
    x, weight = np.ones((2, 3, 21), np.float32), np.ones((10, 3, 3), np.float32)
    x[0, 2, 20], x[1, 0, 0] = np.inf, np.nan
    weight[9, 2, 2] = np.inf
    with np.errstate(invalid="ignore"):
        want = ops.conv1d(x, weight, None, stride=2, padding=2)
    assert np.isinf(want[0, 0]).sum() == np.isnan(want[1, 0]).sum() == 2
    for name, out in by_every_plan(gpu_page, ops.conv1d, (x, weight, None), stride=2, padding=2).items():
        np.testing.assert_array_equal(out[:, :9], want[:, :9], err_msg=name)
        np.testing.assert_array_equal(out[0, 9, 1:-1], np.inf, err_msg=name)


def test_a_transposed_convolution_keeps_them_too(gpu_page: GpuPage) -> None:
    """Five elements and a stride of 3: phases have one or two, and the terms of a tile are counted for two. What would
    be the sixth element of a channel is the first of the next."""
    x, weight = np.ones((2, 3, 9), np.float32), np.ones((3, 10, 5), np.float32)
    x[0, 2, 8], x[1, 0, 0] = np.inf, np.nan
    weight[1, 9, 0] = np.inf
    options = {"stride": 3, "padding": 1, "output_padding": 2}
    with np.errstate(invalid="ignore"):
        want = ops.conv_transpose1d(x, weight, None, **options)
    assert (np.isinf(want[0, 0]).sum(), np.isnan(want[1, 0]).sum()) == (5, 4)
    assert want[0, 0, -1] == 0
    for name, out in by_every_plan(gpu_page, ops.conv_transpose1d, (x, weight, None), **options).items():
        np.testing.assert_array_equal(out[:, :9], want[:, :9], err_msg=name)
