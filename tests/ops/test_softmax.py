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


def test_a_row_far_below_zero_is_no_zero():
    assert ops.softmax(np.array([-2000, -2000], np.float32)).tolist() == [0.5, 0.5]


def test_a_row_of_negative_infinities_is_nan_and_one_beside_others_is_zero():
    x = np.array([[-np.inf, -np.inf], [-np.inf, 3]], np.float32)
    out = ops.softmax(x)
    assert np.isnan(out[0]).all()
    assert out[1].tolist() == [0, 1]


def test_float16_is_rounded_once(golden):
    out = ops.softmax(golden("softmax-f16.x"))
    assert out.dtype == np.float16
    np.testing.assert_array_equal(out, golden("softmax-f16.out"))


def test_no_columns_give_nothing():
    assert ops.softmax(np.zeros((3, 0), np.float32)).shape == (3, 0)


@pytest.mark.parametrize("x", [np.zeros((2, 2), np.int32), np.float32(1)])
def test_what_does_not_fit_is_named(x):
    with pytest.raises(ShapeError, match=r"^softmax: x must be float32 or float16 of shape \(\.\.\., D\), got "):
        ops.softmax(x)


@pytest.mark.parametrize(("d", "threads"), [(1, 64), (1024, 64), (1025, 256), (49_152, 256)])
def test_long_rows_get_more_threads(plain_gpu, d, threads):
    _, plan = ops.softmax.plan_of(plain_gpu, Spec((2, 3, d), "float32"))
    (dispatch,) = plan.dispatches
    assert dispatch.constants == {"D": d, "THREADS": threads}
    assert dispatch.grid == (6, 1, 1)


@pytest.mark.parametrize(("rows", "groups"), [(4, 1), (5, 2), (300_000, 37_500)])
def test_on_a_cpu_adapter_a_thread_has_a_row_to_itself(cpu_gpu, rows, groups):
    _, plan = ops.softmax.plan_of(cpu_gpu, Spec((rows, 8), "float32"))
    (dispatch,) = plan.dispatches
    assert dispatch.kernel.label == "softmax/kernel.cpu"
    assert dispatch.grid == ((groups, 1, 1) if rows < 300_000 else (groups, 2, 1))


def test_float16_has_kernels_of_its_own(half_gpu):
    _, plan = ops.softmax.plan_of(half_gpu, Spec((3, 8), "float16"))
    assert [d.kernel.label for d in plan.dispatches] == ["softmax/kernel.f16.subgroups"]


def test_no_columns_ask_nothing_of_the_gpu(plain_gpu):
    _, plan = ops.softmax.plan_of(plain_gpu, Spec((3, 0), "float32"))
    assert not plan.dispatches
