"""axpy and axpy_inplace: values, errors and plans. The GPU's cases are webxpu/cases/axpy.py."""

import numpy as np
import pytest

from webxpu import ops
from webxpu.errors import ShapeError
from webxpu.gpu.plan import Spec, arg, out

BOTH = pytest.mark.parametrize("op", [ops.axpy, ops.axpy_inplace], ids=["axpy", "axpy_inplace"])
THREE, TENTHS = np.array([3], np.float32), np.array([-0.3], np.float32)


def test_it_is_torchs_add_with_alpha(golden):
    # torch rounds a * x before it adds, or not, as its CPU kernel likes: an ulp of a * x.
    result = ops.axpy(golden("axpy.x"), golden("axpy.y"), a=0.1)
    assert result.dtype == np.float32
    np.testing.assert_allclose(result, golden("axpy.out"), rtol=1.2e-7, atol=3e-8)


def test_the_sum_is_rounded_once(golden):
    # A product that is rounded before the sum gives 0 here.
    assert np.float32(0.1) * THREE + TENTHS == 0
    assert ops.axpy(THREE, TENTHS, a=0.1) == np.float32(-(2.0**-27)) == golden("axpy.witness")


def test_in_place_changes_y_and_returns_nothing():
    y = np.array([1, 2], np.float32)
    assert ops.axpy_inplace(np.array([10, 20], np.float32), y, a=-0.5) is None
    assert y.tolist() == [-4, -8]


def test_in_place_is_the_same_sum():
    y = TENTHS.copy()
    ops.axpy_inplace(THREE, y, a=0.1)
    assert y == np.float32(-(2.0**-27))


@BOTH
@pytest.mark.parametrize(
    ("x", "y", "a", "text"),
    [
        (np.ones(3, np.float32), np.ones(1, np.float32), 1, r"y must be float32\[3\] as x is, got float32\[1\]"),
        (
            np.ones((2, 3), np.float32),
            np.ones((3, 2), np.float32),
            1,
            r"y must be float32\[2, 3\] as x is, got float32\[3, 2\]",
        ),
        (np.ones(3, np.float32), np.ones(3, np.int32), 1, r"y must be float32\[3\] as x is, got int32\[3\]"),
        (np.ones(3, np.int32), np.ones(3, np.int32), 1, r"x must be float32, got int32\[3\]"),
        (np.ones(3, np.float32), np.ones(3, np.float32), np.nan, "a must be a float32, got nan"),
        (np.ones(3, np.float32), np.ones(3, np.float32), 1e39, r"a must be a float32, got 1e\+39"),
    ],
)
def test_what_does_not_fit_is_named(op, x, y, a, text):
    with pytest.raises(ShapeError, match=f"^{op.name}: {text}$"):
        op(x, y, a=a)


def test_y_is_bound_once_where_it_is_written(plain_gpu):
    spec = Spec((50, 100), "float32")
    (whole,), (inplace,) = (
        op.plan_of(plain_gpu, spec, spec, a=0.1)[1].dispatches for op in (ops.axpy, ops.axpy_inplace)
    )
    assert (whole.kernel.label, list(whole.bindings)) == ("axpy/kernel", [arg(0), arg(1), out(0)])
    assert (inplace.kernel.label, list(inplace.bindings)) == ("axpy/inplace", [arg(0), arg(1, "read_write")])
    assert whole.constants == inplace.constants == {"A": float(np.float32(0.1))}
    assert whole.grid == inplace.grid == (5, 1, 1)
