"""transpose against torch's mT on random shapes and dtypes."""

import numpy as np
import torch

from webxpu import ops


def test_random_shapes_are_torchs_mt(rng):
    for _ in range(200):
        shape = rng.integers(0, 40, int(rng.integers(2, 5)))
        x = rng.integers(-(2**31), 2**31, shape).astype(["float32", "int32"][rng.integers(2)])
        out = ops.transpose(x)
        np.testing.assert_array_equal(out, torch.from_numpy(x).mT.numpy())
        assert out.dtype == x.dtype
