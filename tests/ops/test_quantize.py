"""quantize: its values, errors and plans. The GPU's cases are webxpu/cases/quantize.py."""

from fractions import Fraction
from math import floor

import numpy as np
import pytest

from webxpu import ops
from webxpu.cases.case import uniform
from webxpu.errors import ShapeError
from webxpu.gpu.plan import Spec


def codes(*values):
    return ops.quantize(np.array([values], np.float32))[0][0].tolist()


def test_codes_times_their_rows_scale_are_near_the_values():
    x = uniform((5, 3, 40), seed=4)
    found, scales = ops.quantize(x)
    assert (found.dtype, found.shape, scales.dtype, scales.shape) == (np.int32, (5, 3, 40), np.float32, (5, 3))
    assert np.abs(found).max(axis=-1).tolist() == [[127] * 3] * 5
    assert (np.abs(found * scales[..., None] - x) <= scales[..., None] * 0.5001).all()
    np.testing.assert_array_equal(scales, np.abs(x).max(axis=-1) / np.float32(127))


def test_codes_are_the_nearest_whole_numbers():
    (row,) = x = uniform((1, 200), seed=5)
    largest = Fraction(float(np.abs(row).max()))
    exact = [Fraction(float(v)) * 127 / largest for v in row]
    assert all(v % 1 != Fraction(1, 2) for v in exact)
    assert ops.quantize(x)[0][0].tolist() == [floor(v + Fraction(1, 2)) for v in exact]


def test_ties_go_up():
    assert codes(127, 62.5, -62.5, 0, -0.5, 0.5, 1.5, -1.5) == [127, 63, -62, 0, 0, 1, 2, -1]


def test_what_float64_finds_just_below_a_half_is_not_rounded_a_second_time():
    a, x = 1.3530999422073364, 0.005327165126800537
    assert x * (127 / a) == 0.49999999999999994
    assert codes(a, x, -x) == [127, 0, 0]


def test_a_row_of_zeros_has_codes_of_zero_and_a_scale_of_one():
    found, scales = ops.quantize(np.array([[0, -0.0], [1, 2]], np.float32))
    assert (found.tolist(), scales.tolist()) == ([[0, 0], [64, 127]], [1, np.float32(2 / 127)])


@pytest.mark.parametrize(
    ("x", "got"),
    [
        (np.ones((2, 0), np.float32), r"float32\[2, 0\]"),
        (np.float32(1), r"float32\[\]"),
        (np.ones((2, 3), np.int32), r"int32\[2, 3\]"),
    ],
)
def test_what_does_not_fit_is_named(x, got):
    with pytest.raises(ShapeError, match=rf"^quantize: x must be float32 of shape \(\.\.\., D\), D >= 1, got {got}$"):
        ops.quantize(x)


def test_a_workgroup_a_row_and_no_constant_that_counts_rows(wide_gpu):
    for rows, grid in [(1, (1, 1, 1)), (70_000, (35_000, 2, 1))]:
        _, plan = ops.quantize.plan_of(wide_gpu, Spec((rows, 300), "float32"))
        (dispatch,) = plan.dispatches
        assert dispatch.kernel.label == "quantize/kernel.subgroups"
        assert (dispatch.constants, dispatch.grid) == ({"D": 300, "THREADS": 64}, grid)


def test_a_cpu_adapter_gets_a_thread_a_row(cpu_gpu):
    _, plan = ops.quantize.plan_of(cpu_gpu, Spec((9, 300), "float32"))
    (dispatch,) = plan.dispatches
    assert (dispatch.kernel.label, dispatch.grid) == ("quantize/kernel.cpu", (3, 1, 1))
