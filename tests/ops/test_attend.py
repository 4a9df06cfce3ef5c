"""attend and attend_combine against PyTorch's attention, and against a dense one over what a cache holds. The GPU's
cases are webxpu/cases/attend.py."""

import numpy as np
import pytest

from webxpu import ops
from webxpu.errors import ShapeError
from webxpu.gpu.plan import Spec
from webxpu.llm.state import State
from webxpu.ops._rows import DECODE_ROWS
from webxpu.ops.attend import LOWEST
from webxpu.quant.kv import kv_spec, restored


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


@pytest.mark.parametrize("window", [1, 10, 70])
@pytest.mark.parametrize("parts", [1, 3, 80])
def test_a_window_is_that_of_transformers_and_nothing_before_it_is_looked_at(torchs, golden, window, parts):
    _, cache, pages, _ = torchs
    hidden = np.arange(68 - window)  # no row sees these
    cache[pages[hidden // 64], :, hidden % 64] = np.nan
    joined = ops.attend_combine(*ops.attend(*torchs, parts=parts, window=window))
    np.testing.assert_allclose(joined, golden(f"attend.window_{window}"), rtol=1e-5, atol=1e-6)


def test_a_window_wider_than_the_keys_is_none(torchs, golden):
    for window in (0, 72, 2**32 - 1):
        joined = ops.attend_combine(*ops.attend(*torchs, parts=2, window=window))
        np.testing.assert_allclose(joined, golden("attend.out"), rtol=1e-5, atol=1e-6)


def test_parts_divide_the_keys_of_a_window():
    q, cache = np.zeros((1, 1, 4), np.float32), np.zeros((1, 2, 64, 1, 4), np.float32)
    cache[0, 1, :, 0, 0] = np.arange(64)
    acc, _ = ops.attend(q, cache, np.zeros(1, np.int32), State(position=9, capacity=64).to_words(), parts=3, window=5)
    assert acc[0, 0, :, 0].tolist() == [5 + 6, 7 + 8, 9]


def dense(q, k, v, position, window):
    """Attention in float64 by its formula: every row against every key, with a mask."""
    rows, heads, d = q.shape
    k, v = (np.repeat(x.astype(np.float64), heads // x.shape[1], axis=1) for x in (k, v))
    scores = np.einsum("lhd,shd->hls", q.astype(np.float64), k) / np.sqrt(d)
    back = position + np.arange(rows)[:, None] - np.arange(len(k))
    scores = np.where((back >= 0) & (back < (window or len(k))), scores, -np.inf)
    p = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return np.einsum("hls,shd->lhd", p / p.sum(axis=-1, keepdims=True), v).reshape(rows, heads * d)


@pytest.mark.parametrize("window", [0, 20])
@pytest.mark.parametrize("pairs", [None, "adjacent", "half"])
@pytest.mark.parametrize("kv", ["f32", "f16", "q8"])
def test_every_type_of_cache_is_attended_as_what_it_holds(kv, pairs, window):
    rng = np.random.default_rng(8)
    spec, pages = kv_spec(kv, 3, 2, 32), np.array([1, 2, 0], np.int32)
    cache, state = np.zeros(spec.shape, spec.dtype), State(position=0, rows=75, capacity=192).to_words()
    k, v = (rng.standard_normal((75, 2, 32), np.float32) for _ in range(2))
    ops.cache_write(k, v, cache, pages, state)
    place = np.arange(75)
    k, v = (restored(cache[pages[place // 64], which, place % 64]) for which in (0, 1))
    table = None
    if pairs is not None:
        table = ops.rope_table(80, 32, base=100.0)
        k = ops.rope(k, place.astype(np.int32), table, pairs=pairs)
    q = rng.standard_normal((5, 4, 32), np.float32)
    state = State(position=70, rows=5, capacity=192).to_words()
    more = {} if pairs is None else {"pairs": pairs}
    joined = ops.attend_combine(*ops.attend(q, cache, pages, state, table, parts=3, window=window, **more))
    np.testing.assert_allclose(joined, dense(q, k, v, 70, window), rtol=1e-5, atol=1e-6)


def test_keys_past_the_table_are_turned_by_its_last_row():
    rng = np.random.default_rng(8)
    cache, pages = rng.standard_normal((1, 2, 64, 1, 8), np.float32), np.zeros(1, np.int32)
    table, state = ops.rope_table(64, 8, base=100.0), State(position=40, capacity=64).to_words()
    q = rng.standard_normal((1, 2, 8), np.float32)
    flat = table.copy()
    flat[20:] = table[20]
    short = ops.attend(q, cache, pages, state, table[:21], parts=2)
    for got, want in zip(short, ops.attend(q, cache, pages, state, flat, parts=2), strict=True):
        np.testing.assert_array_equal(got, want)


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
        ({"window": -1}, r"window must be from 0 to 2\*\*32 - 1, got -1"),
        ({"window": 2**32}, r"window must be from 0 to 2\*\*32 - 1, got 4294967296"),
        ({"pairs": "both"}, r"pairs must be one of adjacent, half, got 'both'"),
        ({"table": np.zeros((9, 3, 2), np.float32)}, r"table must be float32\[C, 4, 2\], got float32\[9, 3, 2\]"),
        ({"table": np.zeros((0, 4, 2), np.float32)}, r"table must be at least one position, got float32\[0, 4, 2\]"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_named(torchs, change, text):
    q, *rest = torchs
    with pytest.raises(ShapeError, match=f"^attend: {text}"):
        ops.attend(change.pop("q", q), *rest, change.pop("table", None), **{"parts": 1, **change})


@pytest.mark.parametrize("d", [6, 260])
def test_a_width_that_no_kernel_holds_is_refused(d):
    q, cache = np.zeros((1, 2, d), np.float32), np.zeros((1, 2, 64, 1, d), np.float32)
    text = r"^attend: q must be of a width D that is a multiple of 4 up to 256, got"
    with pytest.raises(ShapeError, match=text):
        ops.attend(q, cache, np.zeros(1, np.int32), State(capacity=64).to_words(), parts=1)


def test_keys_are_turned_eight_values_at_a_time():
    q, cache = np.zeros((1, 2, 12), np.float32), np.zeros((1, 2, 64, 1, 12), np.float32)
    table = np.zeros((4, 6, 2), np.float32)
    text = r"^attend: q must be of a width D that is a multiple of 8 where a table is given, got float32\[1, 2, 12\]"
    with pytest.raises(ShapeError, match=text):
        ops.attend(q, cache, np.zeros(1, np.int32), State(capacity=64).to_words(), table, parts=1)


def test_stats_must_belong_to_acc():
    acc, stats = np.zeros((1, 2, 3, 4), np.float32), np.zeros((1, 2, 2, 2), np.float32)
    with pytest.raises(
        ShapeError, match=r"^attend_combine: stats must be float32\[1, 2, 3, 2\], got float32\[1, 2, 2, 2\]"
    ):
        ops.attend_combine(acc, stats)


def plan(gpu, rows, parts, kv="f32", table=None, **more):
    q, cache = Spec((rows, 9, 64), "float32"), kv_spec(kv, 8, 3, 64)
    given = [q, cache, Spec((8,), "int32"), Spec((64,), "uint32"), *([table] if table else [])]
    return ops.attend.plan_of(gpu, *given, parts=parts, **more)[1].dispatches


def test_each_device_attends_its_own_way(plain_gpu, wide_gpu, cpu_gpu):
    expected = {
        "decode": [(plain_gpu, 1, 16, (144, 1, 1)), (plain_gpu, DECODE_ROWS, 16, (9 * 144, 1, 1))],
        "decode.subgroups": [(wide_gpu, 1, 16, (144, 1, 1)), (wide_gpu, DECODE_ROWS, 16, (9 * 144, 1, 1))],
        "decode.cpu": [(cpu_gpu, 1, 1, (3, 1, 1))],
        "prefill": [(wide_gpu, 40, 2, (3, 9, 2)), (plain_gpu, DECODE_ROWS + 1, 2, (1, 9, 2))],
        "prefill.cpu": [(cpu_gpu, 40, 1, (90, 1, 1))],
    }
    for name, runs in expected.items():
        for gpu, rows, parts, grid in runs:
            (dispatch,) = plan(gpu, rows, parts)
            assert (dispatch.kernel.label, dispatch.grid) == (f"attend/{name}", grid)
            sizes = {"H": 9, "G": 3, "WIDE": 16, "PARTS": parts}
            assert dispatch.constants == {**sizes, "SCALE": 0.125, "WINDOW": 0, "TURN": 0}


@pytest.mark.parametrize("kv", ["f16", "q8"])
def test_the_type_of_the_cache_chooses_a_part_of_the_kernel(wide_gpu, kv):
    table = Spec((512, 32, 2), "float32")
    (dispatch,) = plan(wide_gpu, 1, 4, kv, table, window=100, pairs="half")
    assert dispatch.kernel.label == f"attend/decode.subgroups:kv-{kv}"
    assert (dispatch.constants["WINDOW"], dispatch.constants["TURN"]) == (100, 2)
    assert dispatch.bindings[3].index == 4
