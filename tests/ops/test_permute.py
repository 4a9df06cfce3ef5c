"""permute: its values, errors and plans. The GPU's cases are webxpu/cases/permute.py."""

from dataclasses import replace

import numpy as np
import pytest

from webxpu import ops
from webxpu.errors import ShapeError
from webxpu.gpu.plan import Spec

HEADS = (1, 0, 2)


def only(gpu, shape, dims):
    _, plan = ops.permute.plan_of(gpu, Spec(shape, "float32"), dims=dims)
    (dispatch,) = plan.dispatches
    return dispatch


def sizes(dispatch):
    return [dispatch.constants[f"N{i}"] for i in range(5)], [dispatch.constants[f"P{i}"] for i in range(5)]


def test_it_is_torchs_permute(golden):
    out = ops.permute(golden("permute.x"), dims=(0, 2, -2, 5, 3, 1))
    np.testing.assert_array_equal(out, golden("permute.out"))
    assert (out.dtype, out.flags.c_contiguous) == (np.int32, True)


@pytest.mark.parametrize("shape", [(1, 1, 1), (5, 3, 4), (3, 16, 112), (3, 8, 112)])
def test_it_splits_heads_and_merges_them_again(shape):
    rows, heads, d = shape
    x = np.arange(rows * heads * d, dtype=np.float32).reshape(rows, heads * d)
    split = ops.permute(x.reshape(shape), dims=HEADS)
    np.testing.assert_array_equal(split, np.stack([x[:, h * d : h * d + d] for h in range(heads)]))
    np.testing.assert_array_equal(ops.permute(split, dims=HEADS).reshape(rows, heads * d), x)


def test_it_is_not_the_identity():
    x = np.arange(72, dtype=np.float32).reshape(4, 9, 2)
    assert not np.array_equal(ops.permute(x, dims=HEADS).ravel(), x.ravel())


def test_even_an_order_that_changes_nothing_gives_an_array_of_its_own():
    x = np.ones((2, 3), np.float32)
    ops.permute(x, dims=(0, 1))[0] = 7
    assert x.max() == 1


@pytest.mark.parametrize(
    ("shape", "dims", "text"),
    [
        ((2, 3), (0,), r"dims must be each of 2 axes once, got \(0,\)"),
        ((2, 3), (0, 1, 2), r"dims must be each of 2 axes once, got \(0, 1, 2\)"),
        ((2, 3), (0, -2), r"dims must be each of 2 axes once, got \(0, -2\)"),
        ((2, 3), (0, -3), r"dims must be each of 2 axes once, got \(0, -3\)"),
        ((2, 3), (2, 1), r"dims must be each of 2 axes once, got \(2, 1\)"),
        ((2, 3), (1.0, 0), r"dims must be each of 2 axes once, got \(1\.0, 0\)"),
        ((2,) * 6, (5, 4, 3, 2, 1, 0), r"dims must be at most 5 groups of axes that move, got 6: \(5, 4, 3, 2, 1, 0\)"),
    ],
)
def test_what_does_not_fit_is_named(shape, dims, text):
    with pytest.raises(ShapeError, match=f"^permute: {text}$"):
        ops.permute(np.ones(shape, np.float32), dims=dims)


def test_halves_are_refused():
    with pytest.raises(ShapeError, match=r"^permute: x must be float32, int32 or uint32, got float16\[2, 3\]$"):
        ops.permute(np.ones((2, 3), np.float16), dims=(1, 0))


def test_axes_that_stay_neighbours_are_moved_as_one(plain_gpu):
    # 24 and 5 x 6 swap, and the 1 is nobody's neighbour: a matrix of 24 x 30.
    dispatch = only(plain_gpu, (4, 6, 1, 5, 6), (3, 4, 2, 0, 1))
    assert (dispatch.kernel.label, dispatch.constants) == ("transpose/kernel", {"BATCH": 1, "R": 24, "C": 0})
    dispatch = only(plain_gpu, (2, 7, 3, 5, 4), (0, 3, 2, 1, 4))
    assert (dispatch.constants["BATCH"], sizes(dispatch)) == (2, ([0, 3, 5, 4, 1], [2, 1, 0, 3, 4]))


def test_nothing_moves_in_one_run_of_words(plain_gpu):
    dispatch = only(plain_gpu, (2, 3, 4), (0, 1, 2))
    assert (dispatch.constants["BATCH"], sizes(dispatch)) == (1, ([0, 1, 1, 1, 1], [0, 1, 2, 3, 4]))


def test_more_rows_than_heads_compile_nothing_new_in_either_direction(plain_gpu):
    split = [only(plain_gpu, (rows, 9, 64), HEADS) for rows in (10, 70_000)]
    merge = [only(plain_gpu, (9, rows, 64), HEADS) for rows in (10, 70_000)]
    assert split[0].constants == split[1].constants
    assert merge[0].constants == merge[1].constants
    assert (sizes(split[0])[0], sizes(merge[0])[0]) == ([0, 9, 64, 1, 1], [9, 0, 64, 1, 1])
    assert split[1].grid == (39_375, 1, 1)


def test_arrays_are_moved_in_parts_where_they_cannot_be_bound_at_once(plain_gpu):
    small = replace(plain_gpu, limits={**plain_gpu.limits, "maxStorageBufferBindingSize": 2048})
    _, plan = ops.permute.plan_of(small, Spec((5, 4, 8, 4), "float32"), dims=(0, 2, 1, 3))
    assert [d.constants["BATCH"] for d in plan.dispatches] == [4, 1]
    assert [d.bindings[1].offset for d in plan.dispatches] == [0, 2048]
