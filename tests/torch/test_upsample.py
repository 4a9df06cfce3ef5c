"""nearest_upsample_2d against torch on random sizes, small and large."""

import numpy as np
import torch

from webxpu import ops


def test_random_sizes_are_torchs_interpolate(rng):
    for _ in range(100):
        n, c, h, w = (int(v) for v in rng.integers(1, [3, 4, 80, 80]))
        out_h, out_w = h + int(rng.integers(0, 200)), w + int(rng.integers(0, 200))
        x = rng.standard_normal((n, c, h, w), np.float32)
        want = torch.nn.functional.interpolate(torch.from_numpy(x), size=(out_h, out_w), mode="nearest")
        np.testing.assert_array_equal(ops.nearest_upsample_2d(x, out_h=out_h, out_w=out_w), want.numpy())


def test_random_widths_of_thousands_are_torchs(rng):
    for _ in range(100):
        size = int(rng.integers(1, 5000))
        larger = size + int(rng.integers(0, 20_000))
        x = np.arange(size, dtype=np.float32).reshape(1, 1, 1, size)
        want = torch.nn.functional.interpolate(torch.from_numpy(x), size=(1, larger), mode="nearest")
        np.testing.assert_array_equal(ops.nearest_upsample_2d(x, out_h=1, out_w=larger), want.numpy())
