"""rmsnorm: its values, errors and plans. The GPU's cases are webxpu/cases/rmsnorm.py."""

import numpy as np
import pytest

from webxpu import ops
from webxpu.errors import ShapeError, Unsupported
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


def test_a_row_of_zeros_stays_zero():
    assert ops.rmsnorm(np.zeros((1, 4), np.float32), np.ones(4, np.float32), eps=1e-6).tolist() == [[0, 0, 0, 0]]


def test_eps_lies_inside_the_root():
    ones = np.ones(4, np.float32)
    assert ops.rmsnorm(ones[None], ones, eps=3.0).tolist() == [[0.5, 0.5, 0.5, 0.5]]


def test_float16_is_rounded_once(golden):
    out = ops.rmsnorm(golden("rmsnorm-f16.x"), golden("rmsnorm-f16.weight"), eps=1e-5)
    assert out.dtype == np.float16
    np.testing.assert_array_equal(out, golden("rmsnorm-f16.out"))


def test_what_is_too_large_for_float16_is_infinite():
    out = ops.rmsnorm(np.ones((1, 2), np.float16), np.full(2, 60_000, np.float16), eps=0.0)
    assert out.tolist() == [[60_000, 60_000]]
    out = ops.rmsnorm(np.array([[0, 2]], np.float16), np.full(2, 60_000, np.float16), eps=0.0)
    assert out.tolist() == [[0, np.inf]]


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
            r"rmsnorm: x must be float32 or float16 of shape \(\.\.\., D\), D >= 1, got",
        ),
        (X[:, :0], np.ones(0, np.float32), 0, r"rmsnorm: x must be float32 or float16 of shape"),
        (
            X,
            np.ones(4, np.float16),
            0,
            r"rmsnorm: weight must be float32 of shape \(4,\) or \(G, 4\), G >= 1, got float16",
        ),
        (X.astype(np.float16), np.ones(4, np.float32), 0, r"rmsnorm: weight must be float16 of shape \(4,\)"),
        (X, np.ones(4, np.float32), -1e-6, r"rmsnorm: eps must be at least 0, got -1e-06"),
    ],
)
def test_what_does_not_fit_is_named(x, weight, eps, text):
    with pytest.raises(ShapeError, match=f"^{text}"):
        ops.rmsnorm(x, weight, eps=eps)


def test_a_workgroup_a_row_and_no_constant_that_counts_rows(wide_gpu):
    for rows, grid in [(1, (1, 1, 1)), (70_000, (35_000, 2, 1))]:
        _, plan = ops.rmsnorm.plan_of(wide_gpu, Spec((rows, 96), "float32"), Spec((3, 96), "float32"), eps=1e-5)
        (dispatch,) = plan.dispatches
        assert dispatch.kernel.label == "rmsnorm/kernel.subgroups"
        assert dispatch.constants == {"D": 96, "GROUPS": 3, "EPS": 1e-5, "THREADS": 64}
        assert dispatch.grid == grid


def test_float16_has_kernels_of_its_own(half_gpu, wide_gpu):
    specs = Spec((3, 576), "float16"), Spec((576,), "float16")
    _, plan = ops.rmsnorm.plan_of(half_gpu, *specs, eps=1e-5)
    assert [d.kernel.label for d in plan.dispatches] == ["rmsnorm/kernel.f16.subgroups"]
    with pytest.raises(Unsupported, match=r"^rmsnorm: f16 tensors need the WebGPU feature 'shader-f16', which this"):
        ops.rmsnorm.plan_of(wide_gpu, *specs, eps=1e-5)


def test_on_a_cpu_adapter_a_thread_has_a_row_to_itself(cpu_gpu):
    _, plan = ops.rmsnorm.plan_of(cpu_gpu, Spec((9, 576), "float32"), Spec((576,), "float32"), eps=1e-5)
    (dispatch,) = plan.dispatches
    assert (dispatch.kernel.label, dispatch.constants["THREADS"], dispatch.grid) == ("rmsnorm/kernel.cpu", 4, (3, 1, 1))


@pytest.mark.parametrize(("groups", "first"), [(1, 335_536), (3, 335_520)])
def test_more_rows_than_one_binding_holds_are_chunks_that_begin_with_the_first_group(plain_gpu, groups, first):
    rows = 700_000  # of 400 bytes; 128 MiB hold 335,544
    specs = Spec((rows, 100), "float32"), Spec((groups, 100), "float32")
    _, plan = ops.rmsnorm.plan_of(plain_gpu, *specs, eps=1e-5)
    assert len(plan.dispatches) == 3
    for i, dispatch in enumerate(plan.dispatches):
        source, weight, target = dispatch.bindings
        assert source.offset == target.offset == i * first * 400
        assert source.offset // 400 % groups == 0
        assert weight.nbytes == 0
    assert sum(d.bindings[0].nbytes for d in plan.dispatches) == rows * 400
