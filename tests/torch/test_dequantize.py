"""dequantize against torch in float64."""

import numpy as np
import torch

from webxpu import ops


def test_random_integers_are_torchs_product(rng):
    for _ in range(100):
        x = rng.integers(-(2**31), 2**31, int(rng.integers(0, 200))).astype(np.int32)
        weight_scale, input_scale = (float(v) for v in rng.standard_normal(2))
        want = (torch.from_numpy(x).double() * weight_scale * input_scale).float()
        out = ops.dequantize(x, weight_scale=weight_scale, input_scale=input_scale)
        np.testing.assert_array_equal(out, want.numpy())
