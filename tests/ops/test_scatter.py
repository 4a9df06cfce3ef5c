"""scatter: its values, errors and plans. The GPU's cases are webxpu/cases/scatter.py."""

import numpy as np
import pytest

from webxpu import ops
from webxpu.errors import ShapeError
from webxpu.gpu.plan import Spec

SRC = np.arange(1, 9, dtype=np.float32).reshape(2, 4)


def test_it_is_torchs_scatter_add(golden):
    out = ops.scatter(golden("scatter.src"), golden("scatter.index"), width=9)
    np.testing.assert_array_equal(out, golden("scatter.out"))


def test_values_of_one_index_are_added_up_and_a_sum_of_none_is_zero():
    index = np.array([[0, 1, 1, 3], [3, 3, 3, 0]], np.int32)
    assert ops.scatter(SRC, index, width=4).tolist() == [[1, 5, 0, 4], [8, 0, 0, 18]]


def test_an_index_outside_is_left_out_and_reaches_no_other_row():
    index = np.array([[0, 4, 5, 2], [-1, 3, -4, 1]], np.int64)
    assert ops.scatter(SRC, index, width=4).tolist() == [[1, 0, 4, 0], [0, 8, 0, 6]]


def test_sums_are_made_in_float32_in_the_order_of_the_values():
    src = np.array([[1e8, 3, 3, -1e8]], np.float32)
    assert ops.scatter(src, np.zeros((1, 4), np.int32), width=1).tolist() == [[0]]


def test_a_permutation_is_exact():
    src = np.arange(300, dtype=np.float32)[None]
    index = ((7 * np.arange(300) + 3) % 300).astype(np.int32)
    assert ops.scatter(src, index[None], width=300)[0, index].tolist() == src[0].tolist()


@pytest.mark.parametrize(
    ("src", "index", "width", "text"),
    [
        (SRC[0], np.zeros(4, np.int32), 4, r"src must be float32 of shape \(N, S\), got float32\[4\]"),
        (
            SRC.astype(np.int32),
            np.zeros((2, 4), np.int32),
            4,
            r"src must be float32 of shape \(N, S\), got int32\[2, 4\]",
        ),
        (SRC, np.zeros((2, 3), np.int32), 4, r"index must be int32 of shape \(2, 4\) as src is, got int32\[2, 3\]"),
        (SRC, np.zeros((2, 4), np.uint32), 4, r"index must be int32 of shape \(2, 4\) as src is, got uint32\[2, 4\]"),
        (SRC, np.zeros((2, 4), np.int32), -1, "width must be a whole number, at least 0, got -1"),
        (SRC, np.zeros((2, 4), np.int32), 1.5, r"width must be a whole number, at least 0, got 1\.5"),
    ],
)
def test_what_does_not_fit_is_named(src, index, width, text):
    with pytest.raises(ShapeError, match=f"^scatter: {text}$"):
        ops.scatter(src, index, width=width)


def test_sums_are_cleared_before_and_rows_are_no_constant(plain_gpu):
    for rows, grid in [(4, (1, 1, 1)), (700_000, (3418, 1, 1))]:
        _, plan = ops.scatter.plan_of(plain_gpu, Spec((rows, 5), "float32"), Spec((rows, 5), "int32"), width=3)
        clear, add = plan.dispatches
        assert (clear.kernel.label, add.kernel.label) == ("scatter/clear", "scatter/kernel")
        assert (dict(clear.constants), add.constants, add.grid) == ({}, {"S": 5, "D": 3}, grid)


def test_rows_without_values_are_only_cleared(plain_gpu):
    _, plan = ops.scatter.plan_of(plain_gpu, Spec((4, 0), "float32"), Spec((4, 0), "int32"), width=3)
    assert [d.kernel.label for d in plan.dispatches] == ["scatter/clear"]
