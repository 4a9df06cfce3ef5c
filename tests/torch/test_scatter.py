"""scatter against torch's scatter_add_ on random shapes and indices."""

import numpy as np
import torch

from webxpu import ops


def test_random_indices_are_torchs_scatter_add(rng):
    for _ in range(200):
        n, s, width = (int(v) for v in rng.integers([0, 0, 1], [6, 300, 60]))
        src = rng.standard_normal((n, s), np.float32)
        index = rng.integers(0, width, (n, s))
        want = torch.zeros(n, width).scatter_add_(1, torch.from_numpy(index), torch.from_numpy(src))
        np.testing.assert_array_equal(ops.scatter(src, index, width=width), want.numpy())


def test_indices_outside_are_what_torch_adds_to_columns_that_are_cut_off(rng):
    for _ in range(50):
        src = rng.standard_normal((4, 50), np.float32)
        index = rng.integers(-10, 30, (4, 50))
        moved = torch.from_numpy(np.where(index < 0, index + 40, index))
        want = torch.zeros(4, 40).scatter_add_(1, moved, torch.from_numpy(src))[:, :20]
        np.testing.assert_array_equal(ops.scatter(src, index, width=20), want.numpy())
