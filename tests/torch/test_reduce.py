"""reduce against PyTorch, at random shapes, with NaNs and infinities among the values."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from webxpu import ops

FUNCTIONS = {"sum": torch.sum, "mean": torch.mean, "max": torch.amax, "min": torch.amin}


@pytest.mark.parametrize("kind", FUNCTIONS)
def test_reduce(rng, kind):
    for _ in range(200):
        shape = tuple(rng.integers(1, 9, rng.integers(1, 5)))
        axis = int(rng.integers(-len(shape), len(shape)))
        x = (rng.standard_normal(shape) * 10 ** rng.uniform(-3, 3)).astype(np.float32)
        for value in (np.nan, np.inf, -np.inf):
            x[rng.random(shape) < rng.choice([0, 0, 0.05])] = value
        out = ops.reduce(x, axis=axis, kind=kind)
        want = FUNCTIONS[kind](torch.from_numpy(x.astype(np.float64)), axis).numpy()
        assert out.shape == want.shape
        np.testing.assert_allclose(out, want, rtol=1e-7, atol=1e-9)


def test_nothing_is_reduced_as_torch_does_it():
    nothing = torch.zeros(2, 0, 3)
    array = nothing.numpy()
    assert ops.reduce(array, axis=1, kind="sum").tolist() == torch.sum(nothing, 1).tolist()
    assert np.isnan(ops.reduce(array, axis=1, kind="mean")).all()
    assert torch.isnan(torch.mean(nothing, 1)).all()
    for function in (torch.amax, torch.amin):
        with pytest.raises(IndexError, match="non-zero size"):
            function(nothing, 1)
