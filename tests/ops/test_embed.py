"""embed: rows of the table by what the history holds. The GPU's cases are webxpu/cases/embed.py."""

import numpy as np
import pytest

from webxpu import ops
from webxpu.cases.case import block_weight
from webxpu.errors import ShapeError
from webxpu.gpu.plan import Spec
from webxpu.llm.state import State
from webxpu.quant.ggml import BLOCK_TYPES, dequantize

HISTORY = np.array([4, 0, 2, 2, 1], np.int32)


def at(position):
    return State(position=position, rows=1, capacity=5).to_words()


def test_rows_follow_the_history_from_the_position_on():
    table = np.arange(15, dtype=np.float32).reshape(5, 3) + 1
    np.testing.assert_array_equal(ops.embed(table, HISTORY, at(1), rows=3), table[[0, 2, 2]])


def test_rows_are_multiplied_by_the_scale_and_rounded_once():
    table = np.linspace(-1, 1, 15, dtype=np.float32).reshape(5, 3)
    got = ops.embed(table, HISTORY, at(1), rows=2, scale=25.298)
    np.testing.assert_array_equal(got, table[[0, 2]] * np.float32(25.298))


def test_the_history_is_a_ring_behind_what_a_window_dropped():
    table, history = np.arange(6, dtype=np.float32)[:, None], np.arange(6, dtype=np.int32)
    state = State(position=3, rows=2, capacity=6, evicted=64).to_words()  # position 3 lies at 67 % 6
    assert ops.embed(table, history, state, rows=4)[:, 0].tolist() == [1, 2, 3, 0]


@pytest.mark.parametrize("name", BLOCK_TYPES)
def test_block_rows_are_decoded(name):
    table = block_weight(name, (5, 256))
    np.testing.assert_array_equal(ops.embed(table, HISTORY, at(0), rows=5), dequantize(table)[HISTORY])


def test_what_lies_outside_is_zeros():
    table = np.ones((5, 3), np.float32)
    history = np.array([5, -1, 4], np.int32)
    assert ops.embed(table, history, at(0), rows=5).tolist() == [[0] * 3, [0] * 3, [1] * 3, [0] * 3, [0] * 3]


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"rows": 0}, r"rows must be at least 1, got 0"),
        ({"history": HISTORY.astype(np.float32)}, r"history must be int32\[C\], got float32\[5\]"),
        ({"history": HISTORY[:0]}, r"history must be at least one position, got int32\[0\]"),
        ({"table": np.ones(5, np.float32)}, r"weight must be of shape \(N, K\), got float32\[5\]"),
    ],
)
def test_what_does_not_fit_is_named(change, text):
    given = {"table": np.ones((5, 3), np.float32), "history": HISTORY, "rows": 1, **change}
    with pytest.raises(ShapeError, match=f"^embed: {text}"):
        ops.embed(given["table"], given["history"], at(0), rows=given["rows"])


def test_a_thread_takes_a_block(plain_gpu):
    specs = Spec((49_152, 576), "q8_0"), Spec((4096,), "int32"), Spec((64,), "uint32")
    _, plan = ops.embed.plan_of(plain_gpu, *specs, rows=256)
    (dispatch,) = plan.dispatches
    assert (dispatch.kernel.label, dispatch.grid) == ("embed/kernel:q8_0", (72, 1, 1))
    assert dispatch.constants == {"N": 49_152, "K": 576, "SCALE": 1.0}
