"""attend and attend_combine against PyTorch's attention. The GPU's cases are webxpu/cases/attend.py."""

import numpy as np
import pytest

from webxpu import ops
from webxpu.errors import ShapeError
from webxpu.gpu.plan import Spec
from webxpu.llm.state import State
from webxpu.ops.attend import LOWEST


@pytest.fixture
def torchs(golden):
    """q, a cache that holds NaN wherever no row may look, its page table, and the state."""
    k, v = golden("attend.k"), golden("attend.v")
    cache = np.full((3, 2, 64, 2, 8), np.nan, np.float32)
    pages = np.array([2, 0, 1], np.int32)
    position = np.arange(72)
    cache[pages[position // 64], 0, position % 64] = k
    cache[pages[position // 64], 1, position % 64] = v
    return golden("attend.q"), cache, pages, State(position=67, rows=5, capacity=192).to_words()


@pytest.mark.parametrize("parts", [1, 2, 7, 80])
def test_it_is_torchs_attention_in_any_number_of_parts(torchs, golden, parts):
    acc, stats = ops.attend(*torchs, parts=parts)
    assert (acc.shape, stats.shape) == ((5, 6, parts, 8), (5, 6, parts, 2))
    np.testing.assert_allclose(ops.attend_combine(acc, stats), golden("attend.out"), rtol=1e-5, atol=1e-6)


def test_the_scale_may_be_given(torchs, golden):
    joined = ops.attend_combine(*ops.attend(*torchs, parts=2, scale=0.9))
    np.testing.assert_allclose(joined, golden("attend.scaled"), rtol=1e-5, atol=1e-6)


def test_a_row_alone_is_what_it_is_among_others(torchs, golden):
    q, cache, pages, _ = torchs
    for row in range(5):
        state = State(position=67 + row, capacity=192).to_words()
        joined = ops.attend_combine(*ops.attend(q[row : row + 1], cache, pages, state, parts=3))
        np.testing.assert_allclose(joined, golden("attend.out")[row : row + 1], rtol=1e-5, atol=1e-6)


def test_the_first_position_attends_only_itself(torchs):
    q, cache, pages, _ = torchs
    acc, stats = ops.attend(q[:1], cache, pages, State(capacity=192).to_words(), parts=2)
    np.testing.assert_allclose(acc[0, :, 0] / stats[0, :, 0, 1:], np.repeat(cache[2, 1, 0], 3, axis=0), rtol=1e-6)
    assert (stats[0, :, 1] == [LOWEST, 0]).all()
    assert not acc[0, :, 1].any()


@pytest.mark.parametrize(("rows", "capacity", "live"), [(2, 192, 2), (0, 192, 0), (5, 70, 3)])
def test_padding_and_rows_past_the_capacity_are_empty(torchs, rows, capacity, live):
    q, cache, pages, _ = torchs
    acc, stats = ops.attend(q, cache, pages, State(position=67, rows=rows, capacity=capacity).to_words(), parts=1)
    assert (stats[live:] == [LOWEST, 0]).all()
    assert (stats[:live, ..., 1] >= 1).all()
    assert not acc[live:].any()
    assert not ops.attend_combine(acc, stats)[live:].any()


def test_parts_divide_the_keys_of_each_row():
    q, cache = np.zeros((2, 1, 4), np.float32), np.zeros((1, 2, 64, 1, 4), np.float32)
    cache[0, 1, :, 0, 0] = np.arange(64)  # with equal scores, acc is the sum of the positions that a part takes
    state = State(position=7, rows=2, capacity=64).to_words()
    acc, _ = ops.attend(q, cache, np.zeros(1, np.int32), state, parts=4)
    assert acc[0, 0, :, 0].tolist() == [0 + 1, 2 + 3, 4 + 5, 6 + 7]  # eight keys in steps of two
    assert acc[1, 0, :, 0].tolist() == [0 + 1 + 2, 3 + 4 + 5, 6 + 7 + 8, 0]  # nine keys in steps of three


def test_large_scores_do_not_overflow(torchs):
    q, *rest = torchs
    joined = ops.attend_combine(*ops.attend(q * np.float32(1000), *rest, parts=4))
    assert np.isfinite(joined).all()


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"q": np.zeros((5, 6, 4), np.float32)}, r"q must be float32\[L, H, 8\] with H a multiple of 2, got .*6, 4\]"),
        ({"q": np.zeros((5, 5, 8), np.float32)}, r"q must be float32\[L, H, 8\] with H a multiple of 2, got .*5, 8\]"),
        ({"parts": 0}, r"parts must be at least 1, got 0"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_named(torchs, change, text):
    q, *rest = torchs
    with pytest.raises(ShapeError, match=f"^attend: {text}"):
        ops.attend(change.get("q", q), *rest, parts=change.get("parts", 1))


@pytest.mark.parametrize("d", [6, 260])
def test_a_width_that_no_kernel_holds_is_refused(d):
    q, cache = np.zeros((1, 2, d), np.float32), np.zeros((1, 2, 64, 1, d), np.float32)
    text = r"^attend: q must be of a width D that is a multiple of 4 up to 256, got"
    with pytest.raises(ShapeError, match=text):
        ops.attend(q, cache, np.zeros(1, np.int32), State(capacity=64).to_words(), parts=1)


def test_stats_must_belong_to_acc():
    acc, stats = np.zeros((1, 2, 3, 4), np.float32), np.zeros((1, 2, 2, 2), np.float32)
    with pytest.raises(
        ShapeError, match=r"^attend_combine: stats must be float32\[1, 2, 3, 2\], got float32\[1, 2, 2, 2\]"
    ):
        ops.attend_combine(acc, stats)


def plan(gpu, rows, parts):
    specs = [(rows, 9, 64), (8, 2, 64, 3, 64)]
    q, cache = (Spec(s, "float32") for s in specs)
    return ops.attend.plan_of(gpu, q, cache, Spec((8,), "int32"), Spec((64,), "uint32"), parts=parts)[1].dispatches


def test_each_device_attends_its_own_way(plain_gpu, wide_gpu, cpu_gpu):
    expected = {
        "decode": (plain_gpu, 1, 16, (144, 1, 1)),
        "decode.subgroups": (wide_gpu, 1, 16, (144, 1, 1)),
        "decode.cpu": (cpu_gpu, 1, 1, (3, 1, 1)),
        "prefill": (wide_gpu, 40, 2, (3, 9, 2)),
        "prefill.cpu": (cpu_gpu, 40, 1, (90, 1, 1)),
    }
    for name, (gpu, rows, parts, grid) in expected.items():
        (dispatch,) = plan(gpu, rows, parts)
        assert (dispatch.kernel.variant.name, dispatch.grid) == (name, grid)
        sizes = {"H": 9, "G": 3, "WIDE": 16, "PARTS": parts}
        assert dispatch.constants == {**sizes, "SCALE": 0.125, "WINDOW": 0, "TURN": 0}
