"""conv_transpose1d and conv_transpose2d against torch on random shapes and options, among them such that neither
takes."""

import numpy as np
import pytest
import torch

from webxpu import ops
from webxpu.errors import ShapeError


def double(array):
    return torch.from_numpy(array).double()


def sizes(rng, low, high, rank):
    return tuple(int(n) for n in rng.integers(low, high, rank))


@pytest.mark.parametrize("rank", [1, 2])
def test_random_shapes_agree_with_torch_and_raise_where_it_raises(rng, rank):
    raised = 0
    for _ in range(120):
        groups = int(rng.integers(1, 4))
        c_in, share = groups * int(rng.integers(1, 4)), int(rng.integers(1, 4))
        x = rng.standard_normal((int(rng.integers(1, 3)), c_in, *sizes(rng, 1, 9, rank)), np.float32)
        weight = rng.standard_normal((c_in, share, *sizes(rng, 1, 5, rank)), np.float32)
        bias = rng.standard_normal(share * groups, np.float32) if rng.integers(2) else None
        options = {
            "stride": sizes(rng, 1, 5, rank), "padding": sizes(rng, 0, 3, rank),
            "output_padding": sizes(rng, 0, 3, rank), "dilation": sizes(rng, 1, 5, rank), "groups": groups,
        }  # fmt: skip
        op, name = getattr(ops, f"conv_transpose{rank}d"), f"conv_transpose{rank}d"
        function = getattr(torch.nn.functional, name)
        try:
            want = function(double(x), double(weight), None if bias is None else double(bias), **options)
        except RuntimeError:
            raised += 1
            with pytest.raises(ShapeError, match=f"^{name}: (output_padding must be less|padding must be too small)"):
                op(x, weight, bias, **options)
        else:
            np.testing.assert_allclose(op(x, weight, bias, **options), want.numpy(), rtol=1e-5, atol=1e-6)
    assert 0 < raised < 90


def test_a_weight_in_a_convolutions_layout_is_refused():
    x, weight = np.ones((1, 3, 8), np.float32), np.ones((4, 3, 2), np.float32)
    with pytest.raises(RuntimeError):
        torch.nn.functional.conv_transpose1d(double(x), double(weight))
    with pytest.raises(ShapeError):
        ops.conv_transpose1d(x, weight)
