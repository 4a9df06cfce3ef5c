"""softmax: its values, errors and plans. The GPU's cases are webxpu/cases/softmax.py."""

import numpy as np
import pytest

from webxpu import ops
from webxpu.errors import ShapeError
from webxpu.gpu.plan import Spec


def test_it_is_torchs_softmax(golden):
    out = ops.softmax(golden("softmax.x"))
    assert out.dtype == np.float32
    np.testing.assert_allclose(out, golden("softmax.out"), rtol=1e-6)


def test_exponentials_do_not_overflow():
    # torch 2.13.0: torch.softmax(torch.tensor([100., 200., 800.]), -1)
    assert ops.softmax(np.array([100, 200, 800], np.float32)).tolist() == [0, 0, 1]


def test_a_row_of_negative_infinities_is_nan_and_one_beside_others_is_zero():
    x = np.array([[-np.inf, -np.inf], [-np.inf, 3]], np.float32)
    out = ops.softmax(x)
    assert np.isnan(out[0]).all()
    assert out[1].tolist() == [0, 1]


def test_no_columns_give_nothing():
    assert ops.softmax(np.zeros((3, 0), np.float32)).shape == (3, 0)


@pytest.mark.parametrize("x", [np.zeros((2, 2), np.int32), np.float32(1)])
def test_what_does_not_fit_is_named(x):
    with pytest.raises(ShapeError, match=r"^softmax: x must be float32 of shape \(\.\.\., D\), got "):
        ops.softmax(x)


@pytest.mark.parametrize(("d", "threads"), [(1, 64), (1024, 64), (1025, 256), (49_152, 256)])
def test_long_rows_get_more_threads(plain_gpu, d, threads):
    _, plan = ops.softmax.plan_of(plain_gpu, Spec((2, 3, d), "float32"))
    (dispatch,) = plan.dispatches
    assert dispatch.constants == {"D": d, "THREADS": threads}
    assert dispatch.grid == (6, 1, 1)
