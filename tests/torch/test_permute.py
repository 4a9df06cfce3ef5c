"""permute against torch on random shapes and orders, and its plan's few axes against the many that it was asked for."""

from itertools import pairwise

import numpy as np
import torch

from webxpu import ops
from webxpu.ops.permute import _merged


def test_random_orders_are_torchs_also_when_axes_are_merged(rng):
    kinds = set()
    for _ in range(200):
        rank = int(rng.integers(0, 6))
        x = rng.standard_normal([int(n) for n in rng.choice([1, 2, 3, 5], rank)], np.float32)
        order = [int(d) for d in rng.permutation(rank)]
        dims = [d - rank if rng.integers(2) else d for d in order]
        want = torch.permute(torch.from_numpy(np.asarray(x)), dims).numpy()
        np.testing.assert_array_equal(ops.permute(x, dims=dims), want)
        batch, sizes, moved = _merged(x.shape, dims)
        few = x.reshape(batch, *sizes).transpose(0, *(k + 1 for k in moved))
        np.testing.assert_array_equal(few.reshape(want.shape), want)
        assert all(b != a + 1 for a, b in pairwise(moved))
        kinds.add(len(moved))
    assert kinds == {1, 2, 3, 4, 5}
