"""transpose: its values, errors and plans. The GPU's cases are webxpu/cases/transpose.py."""

from dataclasses import replace

import numpy as np
import pytest

from webxpu import ops
from webxpu.errors import ShapeError
from webxpu.gpu.plan import Spec


def constants(gpu, *shape):
    _, plan = ops.transpose.plan_of(gpu, Spec(shape, "float32"))
    return [d.constants for d in plan.dispatches]


def test_it_is_torchs_mt(golden):
    out = ops.transpose(golden("transpose.x"))
    np.testing.assert_array_equal(out, golden("transpose.out"))
    assert out.flags.c_contiguous


def test_the_result_is_an_array_of_its_own():
    x = np.ones((1, 3), np.float32)
    ops.transpose(x)[0] = 7
    assert x.tolist() == [[1, 1, 1]]


@pytest.mark.parametrize("dtype", ["int32", "uint32"])
def test_words_stay_what_they_are(dtype):
    x = np.array([[1, 2**31 - 1], [3, 4]], dtype)
    out = ops.transpose(x)
    assert (out.dtype, out.tolist()) == (dtype, [[1, 3], [2**31 - 1, 4]])


@pytest.mark.parametrize(
    ("x", "got"),
    [(np.ones(3, np.float32), r"float32\[3\]"), (np.ones((2, 3), np.float16), r"float16\[2, 3\]")],
)
def test_what_does_not_fit_is_named(x, got):
    text = r"transpose: x must be float32, int32 or uint32 of shape \(\.\.\., R, C\), got "
    with pytest.raises(ShapeError, match=f"^{text}{got}$"):
        ops.transpose(x)


def test_a_number_of_rows_or_columns_above_the_other_is_no_constant(plain_gpu):
    assert constants(plain_gpu, 100, 40) == constants(plain_gpu, 70_000, 40) == [{"BATCH": 1, "R": 0, "C": 40}]
    assert constants(plain_gpu, 5, 40, 100) == constants(plain_gpu, 5, 40, 41) == [{"BATCH": 5, "R": 40, "C": 0}]


def test_tiles_past_65535_fold_in_both_directions(plain_gpu):
    for shape, tiles in [((70_000 * 32, 1), 70_000), ((1, 70_000 * 32), 70_000), ((70_000, 3, 5), 70_000)]:
        _, plan = ops.transpose.plan_of(plain_gpu, Spec(shape, "float32"))
        (dispatch,) = plan.dispatches
        assert dispatch.grid == (tiles // 2, 2, 1)


def test_a_cpu_adapter_gets_the_kernel_without_a_barrier(cpu_gpu):
    _, plan = ops.transpose.plan_of(cpu_gpu, Spec((2, 40, 100), "float32"))
    (dispatch,) = plan.dispatches
    assert (dispatch.kernel.label, dispatch.grid) == ("transpose/kernel.cpu", (8, 1, 1))


def test_matrices_are_moved_in_parts_where_they_cannot_be_bound_at_once(plain_gpu):
    small = replace(plain_gpu, limits={**plain_gpu.limits, "maxStorageBufferBindingSize": 2048})
    _, plan = ops.transpose.plan_of(small, Spec((5, 4, 32), "float32"))
    assert [d.constants["BATCH"] for d in plan.dispatches] == [4, 1]
    assert [d.bindings[0].offset for d in plan.dispatches] == [0, 2048]
    assert [d.grid for d in plan.dispatches] == [(4, 1, 1), (1, 1, 1)]
