"""dequant_transpose against codes that torch multiplies and turns."""

import numpy as np
import torch

from webxpu import ops


def test_random_codes_are_torchs_product_turned(rng):
    for _ in range(100):
        n, k = (int(v) for v in rng.integers(1, 70, 2))
        rows = rng.integers(-128, 128, (n, -(-k // 4) * 4)).astype(np.int8)
        scale = rng.standard_normal(n, np.float32)
        want = (torch.from_numpy(rows[:, :k]).float() * torch.from_numpy(scale)[:, None]).T
        out = ops.dequant_transpose(rows.view(np.uint32), scale, in_features=k)
        np.testing.assert_array_equal(out, want.numpy())
