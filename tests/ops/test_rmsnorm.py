"""rmsnorm: its values, errors and plans. The GPU's cases are webxpu/cases/rmsnorm.py."""

import numpy as np
import pytest

from webxpu import ops
from webxpu.errors import ShapeError
from webxpu.gpu.plan import Spec

X = np.arange(12, dtype=np.float32).reshape(3, 4)


def test_it_is_torchs_rms_norm_times_the_weight(golden):
    out = ops.rmsnorm(golden("rmsnorm.x"), golden("rmsnorm.weight"), eps=1e-5)
    assert out.dtype == np.float32
    np.testing.assert_allclose(out, golden("rmsnorm.out"), rtol=1e-6)


def test_a_grouped_weight_follows_the_axis_left_of_the_last(golden):
    out = ops.rmsnorm(golden("rmsnorm.x"), golden("rmsnorm.groups"), eps=1e-5)
    np.testing.assert_allclose(out, golden("rmsnorm.grouped"), rtol=1e-6)
    assert not np.allclose(golden("rmsnorm.groups")[0], golden("rmsnorm.groups")[1])


def test_groups_repeat_where_the_rows_are_no_multiple_of_them():
    weight = np.array([[1] * 4, [10] * 4], np.float32)
    out = ops.rmsnorm(X + 1, weight, eps=0)
    np.testing.assert_allclose(out[2], ops.rmsnorm(X + 1, weight[0], eps=0)[2])
    np.testing.assert_allclose(out[1], 10 * ops.rmsnorm(X + 1, weight[0], eps=0)[1], rtol=1e-6)


def test_a_row_of_zeros_stays_zero_and_eps_lies_inside_the_root():
    ones = np.ones(4, np.float32)
    assert ops.rmsnorm(np.zeros((1, 4), np.float32), ones, eps=1e-6).tolist() == [[0, 0, 0, 0]]
    assert ops.rmsnorm(ones[None], ones, eps=3.0).tolist() == [[0.5, 0.5, 0.5, 0.5]]


def test_it_is_not_a_norm_over_two_axes():
    x = np.stack([np.ones((2, 4)), 5 * np.ones((2, 4))], axis=1).astype(np.float32)
    np.testing.assert_allclose(ops.rmsnorm(x, np.ones((2, 4), np.float32), eps=0), 1)


@pytest.mark.parametrize(
    ("x", "weight", "eps", "text"),
    [
        (X, np.ones(3, np.float32), 0, r"rmsnorm: weight must be float32 of shape \(4,\) or \(G, 4\), G >= 1, got"),
        (X, np.ones((0, 4), np.float32), 0, r"rmsnorm: weight must be float32 of shape \(4,\)"),
        (X, np.ones((1, 1, 4), np.float32), 0, r"rmsnorm: weight must be float32 of shape \(4,\)"),
        (X, np.ones(4, np.int32), 0, r"rmsnorm: weight must be float32 of shape \(4,\)"),
        (
            X.astype(np.int32),
            np.ones(4, np.float32),
            0,
            r"rmsnorm: x must be float32 of shape \(\.\.\., D\), D >= 1, got",
        ),
        (X[:, :0], np.ones(0, np.float32), 0, r"rmsnorm: x must be float32 of shape"),
        (X, np.ones(4, np.float32), -1e-6, r"rmsnorm: eps must be at least 0, got -1e-06"),
    ],
)
def test_what_does_not_fit_is_named(x, weight, eps, text):
    with pytest.raises(ShapeError, match=f"^{text}"):
        ops.rmsnorm(x, weight, eps=eps)


def test_a_workgroup_a_row_and_no_constant_that_counts_rows(wide_gpu):
    for rows, grid in [(1, (1, 1, 1)), (70_000, (35_000, 2, 1))]:
        _, plan = ops.rmsnorm.plan_of(wide_gpu, Spec((rows, 576), "float32"), Spec((3, 576), "float32"), eps=1e-5)
        (dispatch,) = plan.dispatches
        assert dispatch.kernel.label == "rmsnorm/kernel.subgroups"
        assert dispatch.constants == {"D": 576, "GROUPS": 3, "EPS": 1e-5, "THREADS": 64}
        assert dispatch.grid == grid
