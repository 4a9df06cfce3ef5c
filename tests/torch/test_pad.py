"""pad against torch on random shapes, axes and amounts, among them such that neither takes."""

import numpy as np
import pytest
import torch

from webxpu import ops
from webxpu.errors import ShapeError


@pytest.mark.parametrize("mode", ["constant", "reflect", "replicate"])
def test_random_amounts_agree_with_torch_and_raise_where_it_raises(rng, mode):
    raised = 0
    for _ in range(200):
        rank = int(rng.integers(2, 4))
        x = rng.standard_normal([int(n) for n in rng.integers(1, 8, rank)], np.float32)
        axis, before, after = int(rng.integers(rank)), int(rng.integers(0, 9)), int(rng.integers(0, 9))
        # torch pads the last axis by its first two numbers.
        last = torch.from_numpy(x).movedim(axis, -1)
        value = {"value": float(rng.standard_normal())} if mode == "constant" else {}
        kwargs = {"axis": axis - rank, "before": before, "after": after, "mode": mode, **value}
        try:
            want = torch.nn.functional.pad(last, (before, after), mode, **value).movedim(-1, axis)
        except RuntimeError:
            raised += 1
            with pytest.raises(ShapeError, match=r"^pad: (before|after) must be less than the axis'"):
                ops.pad(x, **kwargs)
        else:
            np.testing.assert_array_equal(ops.pad(x, **kwargs), want.numpy())
    assert raised if mode == "reflect" else not raised
