"""gather: its values, errors and plans. The GPU's cases are webxpu/cases/gather.py."""

import numpy as np
import pytest

from webxpu import ops
from webxpu.cases.case import FEW_CASES, MANY_CASES
from webxpu.errors import ShapeError
from webxpu.gpu.plan import Spec
from webxpu.quant.ggml import Blocks

TABLE = np.arange(1, 13, dtype=np.float32).reshape(6, 2)


def test_it_is_torchs_index_select(golden):
    out = ops.gather(golden("gather.table"), golden("gather.indices"))
    np.testing.assert_array_equal(out, golden("gather.out"))


@pytest.mark.parametrize("name", MANY_CASES)
def test_rows_of_blocks_are_what_gguf_makes_of_them(golden, name):
    table = Blocks(name, (5, 64), golden(f"linear.{name}.data").reshape(-1))
    out = ops.gather(table, np.array([4, 0, 9, 4], np.int32))
    values = golden(f"linear.{name}.values")
    np.testing.assert_array_equal(out, np.stack([values[4], values[0], np.zeros(64, np.float32), values[4]]))


@pytest.mark.parametrize("name", FEW_CASES)
def test_rows_of_larger_blocks_are_what_libgguf_makes_of_them(golden, name):
    table = Blocks(name, (4, 256), golden(f"blocks.{name}.data").reshape(-1))
    out = ops.gather(table, np.array([3, 0, 9], np.int32))
    values = golden(f"blocks.{name}.values")
    np.testing.assert_array_equal(out, np.stack([values[3], values[0], np.zeros(256, np.float32)]))


def test_an_index_outside_the_table_gives_zeros():
    out = ops.gather(TABLE, np.array([5, -1, 6, 0, -100, 1000], np.int32))
    assert out.tolist() == [[11, 12], [0, 0], [0, 0], [1, 2], [0, 0], [0, 0]]


def test_int64_indices_are_taken_where_they_fit():
    assert ops.gather(TABLE, np.array([1], np.int64)).tolist() == [[3, 4]]
    text = "gather: indices must be within the range of int32, got int64 from 5 to 1099511627776"
    with pytest.raises(ShapeError, match=f"^{text}$"):
        ops.gather(TABLE, np.array([5, 2**40], np.int64))


@pytest.mark.parametrize(
    ("table", "indices", "text"),
    [
        (TABLE[0], np.array([0], np.int32), r"gather: table must be of shape \(R, D\), got float32\[2\]"),
        (TABLE, np.array([0], np.uint32), r"gather: indices must be int32 of shape \(N,\), got uint32\[1\]"),
        (TABLE, np.array([[0]], np.int32), r"gather: indices must be int32 of shape \(N,\), got int32\[1, 1\]"),
        (TABLE.astype(np.float16), np.array([0], np.int32), "gather: table must be float32 or Blocks of f16"),
    ],
)
def test_what_does_not_fit_is_named(table, indices, text):
    with pytest.raises(ShapeError, match=f"^{text}"):
        ops.gather(table, indices)


def test_the_number_of_indices_is_no_constant(plain_gpu):
    _, plain = ops.gather.plan_of(plain_gpu, Spec((6, 96), "float32"), Spec((100,), "int32"))
    _, blocks = ops.gather.plan_of(plain_gpu, Spec((6, 96), "q4_0"), Spec((100,), "int32"))
    assert (plain.dispatches[0].grid, plain.dispatches[0].constants) == ((10, 1, 1), {"R": 6, "D": 96, "FIRST": 0})
    assert (blocks.dispatches[0].grid, blocks.dispatches[0].constants) == ((5, 1, 1), {"N": 6, "K": 96})
