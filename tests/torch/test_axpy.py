"""axpy and axpy_inplace against torch.add in float64."""

import numpy as np
import torch

from webxpu import ops


def test_random_sums_are_torchs_add_rounded_once(rng):
    for _ in range(200):
        shape = [int(v) for v in rng.integers(0, 20, int(rng.integers(0, 4)))]
        x, y = np.asarray(rng.standard_normal(shape, np.float32)), np.asarray(rng.standard_normal(shape, np.float32))
        a = float(rng.standard_normal())
        wide = torch.add(torch.from_numpy(y).double(), torch.from_numpy(x).double(), alpha=float(np.float32(a)))
        want = wide.float().numpy()
        np.testing.assert_array_equal(ops.axpy(x, y, a=a), want)
        ops.axpy_inplace(x, y, a=a)
        np.testing.assert_array_equal(y, want)
