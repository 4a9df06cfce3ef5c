"""norm_add by hand. The GPU's cases are webxpu/cases/norm_add.py; tests/ops/test_rmsnorm.py holds the norm to torch."""

import numpy as np
import pytest

from webxpu import ops
from webxpu.errors import ShapeError


def test_the_norm_comes_before_the_residual():
    # mean of squares (9 + 16) / 2 = 12.5, and 12.5 + 3.5 = 16: 3 / 4 * 2 + 10 and 4 / 4 * 3 + 20.
    out = ops.norm_add(
        np.array([[3, 4]], np.float32), np.array([2, 3], np.float32), np.array([[10, 20]], np.float32), eps=3.5
    )
    np.testing.assert_array_equal(out, np.array([[11.5, 23]], np.float32))


@pytest.mark.parametrize(
    ("shapes", "eps", "text"),
    [
        (((8,), (8,), (8,)), 1, r"y must be float32\[L, D\] with L and D of at least 1, got float32\[8\]"),
        (((0, 8), (8,), (0, 8)), 1, r"y must be float32\[L, D\] with L and D of at least 1, got float32\[0, 8\]"),
        (((3, 8), (4,), (3, 8)), 1, r"gain must be float32\[8\], got float32\[4\]"),
        (((3, 8), (8,), (1, 8)), 1, r"residual must be float32\[3, 8\], got float32\[1, 8\]"),
        (((3, 8), (8,), (3, 8)), -1.0, r"eps must be at least 0, got -1\.0"),
    ],
)
def test_what_does_not_fit_is_named(shapes, eps, text):
    with pytest.raises(ShapeError, match=f"^norm_add: {text}"):
        ops.norm_add(*(np.zeros(s, np.float32) for s in shapes), eps=eps)
