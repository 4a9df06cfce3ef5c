"""conv1d, conv2d and conv3d against torch on random shapes and options, among them such that neither takes."""

import numpy as np
import pytest
import torch

from webxpu import ops
from webxpu.errors import ShapeError


def double(array):
    return torch.from_numpy(array).double()


def sizes(rng, low, high, rank):
    return tuple(int(n) for n in rng.integers(low, high, rank))


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_random_shapes_agree_with_torch_and_raise_where_it_raises(rng, rank):
    raised = 0
    for _ in range(100):
        groups = int(rng.integers(1, 4))
        c_in, c_out = (groups * int(n) for n in rng.integers(1, 4, 2))
        x = rng.standard_normal((int(rng.integers(1, 3)), c_in, *sizes(rng, 1, 9, rank)), np.float32)
        weight = rng.standard_normal((c_out, c_in // groups, *sizes(rng, 1, 5, rank)), np.float32)
        bias = rng.standard_normal(c_out, np.float32) if rng.integers(2) else None
        options = {
            "stride": sizes(rng, 1, 4, rank), "padding": sizes(rng, 0, 4, rank), "dilation": sizes(rng, 1, 4, rank),
            "groups": groups,
        }  # fmt: skip
        op, function = getattr(ops, f"conv{rank}d"), getattr(torch.nn.functional, f"conv{rank}d")
        try:
            want = function(double(x), double(weight), None if bias is None else double(bias), **options)
        except RuntimeError:
            raised += 1
            with pytest.raises(ShapeError, match=f"^conv{rank}d: weight must be no wider than the padded input"):
                op(x, weight, bias, **options)
        else:
            np.testing.assert_allclose(op(x, weight, bias, **options), want.numpy(), rtol=1e-5, atol=1e-6)
    assert 0 < raised < 50


@pytest.mark.parametrize(
    "options",
    [{"stride": 0}, {"dilation": 0}, {"padding": -1}, {"groups": 2}, {"groups": 3}, {"groups": 0}, {"stride": (1, 1)}],
    ids=str,
)
def test_options_that_torch_refuses_are_refused(options):
    x, weight = np.ones((1, 3, 8), np.float32), np.ones((4, 3, 2), np.float32)
    with pytest.raises(RuntimeError):
        torch.nn.functional.conv1d(double(x), double(weight), **options)
    with pytest.raises(ShapeError):
        ops.conv1d(x, weight, **options)
