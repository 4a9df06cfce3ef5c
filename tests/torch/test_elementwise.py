"""elementwise and elementwise_rows against torch in float64."""

import numpy as np
import pytest
import torch

from webxpu import ops


@pytest.mark.parametrize(("kind", "function"), [("add", torch.add), ("multiply", torch.mul)])
def test_random_shapes_are_torchs_rounded_once(rng, kind, function):
    for _ in range(100):
        shape = [int(n) for n in rng.integers(0, 20, int(rng.integers(0, 4)))]
        a, b = (np.asarray(rng.standard_normal(shape, np.float32)) for _ in range(2))
        want = function(torch.from_numpy(a).double(), torch.from_numpy(b).double()).float()
        np.testing.assert_array_equal(ops.elementwise(a, b, kind=kind), want.numpy())


@pytest.mark.parametrize(("kind", "function"), [("add", torch.add), ("multiply", torch.mul)])
def test_random_rows_are_broadcast_as_torch_does(rng, kind, function):
    for _ in range(100):
        s, d = (int(n) for n in rng.integers(0, 40, 2))
        a, b = rng.standard_normal((s, d), np.float32), rng.standard_normal(d, np.float32)
        want = function(torch.from_numpy(a).double(), torch.from_numpy(b).double()).float()
        np.testing.assert_array_equal(ops.elementwise_rows(a, b, kind=kind), want.numpy())
