"""gather against torch's index_select, and the zeros that it gives where torch raises."""

import numpy as np
import pytest
import torch

from webxpu import ops


def test_random_indices_are_torchs_index_select(rng):
    for _ in range(100):
        r, d, n = (int(v) for v in rng.integers([1, 0, 0], [50, 40, 80]))
        table, indices = rng.standard_normal((r, d), np.float32), rng.integers(0, r, n)
        want = torch.index_select(torch.from_numpy(table), 0, torch.from_numpy(indices))
        np.testing.assert_array_equal(ops.gather(table, indices), want.numpy())


def test_indices_that_torch_refuses_give_zeros(rng):
    for _ in range(30):
        r = int(rng.integers(1, 20))
        table = rng.standard_normal((r, 5), np.float32)
        index = np.array([rng.choice([-int(rng.integers(1, 30)), r + int(rng.integers(0, 30))])])
        with pytest.raises((IndexError, RuntimeError)):
            torch.index_select(torch.from_numpy(table), 0, torch.from_numpy(index))
        assert not ops.gather(table, index).any()
