"""norm_qkv and rope_write against PyTorch and transformers. The GPU's cases are webxpu/cases/norm_qkv.py."""

import numpy as np
import pytest

from webxpu import ops
from webxpu.errors import ShapeError
from webxpu.gpu.plan import Spec
from webxpu.llm.state import State
from webxpu.ops._rows import DECODE_ROWS
from webxpu.quant.kv import kv_spec, stored

KW = {"heads": 4, "kv_heads": 2, "eps": 1e-5}


@pytest.fixture
def layer(golden):
    names = "layer.weight", "layer.x", "layer.gain"
    table = ops.rope_table(40, 6, base=100.0)
    cache, pages = np.zeros((2, 2, 64, 2, 6), np.float32), np.array([1, 0], np.int32)
    return [*map(golden, names), table, cache, pages, State(position=9, rows=3, capacity=128).to_words()]


@pytest.mark.parametrize("pairs", ["half", "adjacent"])
def test_q_comes_back_and_k_and_v_go_into_the_cache(layer, golden, pairs):
    q = ops.norm_qkv(*layer, **KW, pairs=pairs)
    near = {"rtol": 1e-5, "atol": 1e-6}
    np.testing.assert_allclose(q, golden(f"layer.{pairs}.q"), **near)
    cache = layer[4]
    np.testing.assert_allclose(cache[1, 0, 9:12], golden(f"layer.{pairs}.k"), **near)
    np.testing.assert_allclose(cache[1, 1, 9:12], golden("layer.v"), **near)
    assert not cache[0].any()
    assert not np.delete(cache[1], [9, 10, 11], axis=1).any()


@pytest.fixture
def qwen(layer, golden):
    """The layer with a bias and the gains of q and k."""
    return [*layer, *(golden(f"layer.{name}") for name in ("bias", "q_gain", "k_gain"))]


def test_a_bias_and_the_norms_of_q_and_k_are_those_of_transformers(qwen, golden):
    q = ops.norm_qkv(*qwen, **KW, pairs="half")
    near = {"rtol": 1e-5, "atol": 2e-6}
    np.testing.assert_allclose(q, golden("layer.normed.q"), **near)
    np.testing.assert_allclose(qwen[4][1, 0, 9:12], golden("layer.normed.k"), **near)
    np.testing.assert_allclose(qwen[4][1, 1, 9:12], golden("layer.biased.v"), **near)


def test_unroped_keys_are_written_as_they_are_before_rope(qwen, golden):
    q = ops.norm_qkv(*qwen, **KW, pairs="half", keys="unroped")
    near = {"rtol": 1e-5, "atol": 2e-6}
    np.testing.assert_allclose(q, golden("layer.normed.q"), **near)
    np.testing.assert_allclose(qwen[4][1, 0, 9:12], golden("layer.normed.unroped_k"), **near)
    np.testing.assert_allclose(qwen[4][1, 1, 9:12], golden("layer.biased.v"), **near)


def test_a_bias_alone_is_added_before_rope(qwen, golden):
    q = ops.norm_qkv(*qwen[:8], **KW, pairs="half")
    weight, x, gain, table, _, pages, state, bias = qwen[:8]
    cache = np.zeros((2, 2, 64, 2, 6), np.float32)
    qkv = ops.linear(ops.rmsnorm(x, gain, eps=1e-5), weight) + bias
    plain = ops.rope_write(qkv, table, cache, pages, state, heads=4, kv_heads=2, pairs="half")
    np.testing.assert_allclose(q, plain, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(qwen[4], cache, rtol=1e-6, atol=1e-6)
    assert np.abs(plain - golden("layer.half.q")).max() > 0.1


@pytest.mark.parametrize("kv", ["f16", "q8"])
def test_a_smaller_cache_holds_what_the_large_one_does_rounded_once(kv):
    rng = np.random.default_rng(3)
    qkv = rng.standard_normal((3, 4 * 32), np.float32)
    table, pages = ops.rope_table(40, 32, base=100.0), np.array([1, 0], np.int32)
    state, spec = State(position=9, rows=3, capacity=128).to_words(), kv_spec(kv, 2, 1, 32)
    wide, small = np.zeros((2, 2, 64, 1, 32), np.float32), np.zeros(spec.shape, spec.dtype)
    options = {"heads": 2, "kv_heads": 1, "pairs": "half"}
    q = ops.rope_write(qkv, table, wide, pages, state, **options)
    np.testing.assert_array_equal(ops.rope_write(qkv, table, small, pages, state, **options), q)
    np.testing.assert_array_equal(small[1, :, 9:12], stored(wide[1, :, 9:12], spec.dtype))


def test_padding_writes_nothing_and_valid_rows_do_not_change(layer, golden):
    layer[6] = State(position=9, rows=2, capacity=128).to_words()
    q = ops.norm_qkv(*layer, **KW, pairs="half")
    np.testing.assert_allclose(q[:2], golden("layer.half.q")[:2], rtol=1e-5, atol=1e-6)
    assert layer[4][1, :, 10].all()
    assert not layer[4][1, :, 11].any()


def test_a_position_past_the_table_takes_its_last_row(layer):
    layer[3] = layer[3][:10]
    q = ops.norm_qkv(*layer, **KW, pairs="half")
    layer[6] = State(position=8, rows=3, capacity=128).to_words()
    before = ops.norm_qkv(*layer, **KW, pairs="half")
    np.testing.assert_array_equal(q[1:], before[1:])


@pytest.mark.parametrize(
    ("index", "shape", "text"),
    [
        (0, (47, 12), r"weight must be \(48, K\), the rows of q, k and v, got float32\[47, 12\]"),
        (0, (48, 8), r"weight must be \(N, 12\) like the rows of x, got float32\[48, 8\]"),
        (1, (3, 14), r"x must be float32\[L, K\] with K a multiple of 4, got float32\[3, 14\]"),
        (2, (8,), r"gain must be float32\[12\], got float32\[8\]"),
        (3, (40, 6, 2), r"table must be float32\[P, 3, 2\], got float32\[40, 6, 2\]"),
        (3, (0, 3, 2), r"table must be float32\[P, 3, 2\], got float32\[0, 3, 2\]"),
        (4, (2, 2, 64, 1, 6), r"kv_heads must be 1 as in cache, got 2"),
        (4, (2, 2, 64, 2, 5), r"cache must be of an even width D, got"),
    ],
)
def test_what_does_not_fit_is_named(layer, index, shape, text):
    layer[index] = np.zeros(shape, np.float32)
    with pytest.raises(ShapeError, match=f"^norm_qkv: {text}"):
        ops.norm_qkv(*layer, **KW, pairs="half")


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"heads": 3}, r"heads must be a multiple of kv_heads 2, got 3"),
        ({"pairs": "both"}, r"pairs must be one of adjacent, half, got 'both'"),
        ({"keys": "turned"}, r"keys must be one of roped, unroped, got 'turned'"),
        ({"eps": -1e-5}, r"eps must be at least 0, got -1e-05"),
    ],
)
def test_options_are_checked(layer, change, text):
    with pytest.raises(ShapeError, match=f"^norm_qkv: {text}"):
        ops.norm_qkv(*layer, **{**KW, "pairs": "half", **change})


@pytest.mark.parametrize(
    ("more", "text"),
    [
        ([np.zeros(47, np.float32)], r"bias must be float32\[48\], got float32\[47\]"),
        ([None, np.zeros(5, np.float32), np.zeros(6, np.float32)], r"q_gain must be float32\[6\], got float32\[5\]"),
        ([None, np.zeros(6, np.float32), np.zeros(7, np.float32)], r"k_gain must be float32\[6\], got float32\[7\]"),
        ([None, np.zeros(6, np.float32)], r"q_gain and k_gain must be given both or neither, got .* and None"),
        ([None, None, np.zeros(6, np.float32)], r"q_gain and k_gain must be given both or neither, got None and "),
    ],
)
def test_a_bias_and_gains_that_do_not_fit_are_named(layer, more, text):
    with pytest.raises(ShapeError, match=f"^norm_qkv: {text}"):
        ops.norm_qkv(*layer, *more, **KW, pairs="half")
    qkv = np.zeros((3, 48), np.float32)
    with pytest.raises(ShapeError, match=f"^rope_write: {text}"):
        ops.rope_write(qkv, *layer[3:], *more, heads=4, kv_heads=2, pairs="half")


BIAS, GAIN = Spec((960,), "float32"), Spec((64,), "float32")


def plan(gpu, rows, kv="f32", *more, pairs="adjacent", keys="roped"):
    floats = [(rows, 576), (576,), (512, 32, 2)]
    specs = [
        Spec((960, 576), "q4_1"), *(Spec(s, "float32") for s in floats), kv_spec(kv, 8, 3, 64), Spec((8,), "int32"),
        Spec((64,), "uint32"), *more,
    ]  # fmt: skip
    options = {"heads": 9, "kv_heads": 3, "eps": 1e-5, "pairs": pairs, "keys": keys}
    return ops.norm_qkv.plan_of(gpu, *specs, **options)[1].dispatches


def test_few_rows_are_one_dispatch_and_more_are_composed(plain_gpu, wide_gpu, cpu_gpu):
    for rows in (1, 2, DECODE_ROWS):
        for gpu, name, groups in [
            (plain_gpu, "kernel", 8),
            (wide_gpu, "kernel.subgroups", 120),
            (cpu_gpu, "kernel", 4),
        ]:
            (dispatch,) = plan(gpu, rows)
            assert (dispatch.kernel.label, dispatch.grid) == (f"norm_qkv/{name}:q4_1", (rows * groups, 1, 1))
    many = [d.kernel.op for d in plan(wide_gpu, DECODE_ROWS + 1)]
    assert many == ["rmsnorm", "matmul", "matmul", "norm_qkv"]


def test_a_bias_and_unroped_keys_cost_no_dispatch(wide_gpu):
    (dispatch,) = plan(wide_gpu, 1, "f32", BIAS, keys="unroped")
    assert (dispatch.constants["BIASED"], dispatch.constants["TURNED"]) == (1, 9)
    (dispatch,) = plan(wide_gpu, 1)
    assert (dispatch.constants["BIASED"], dispatch.constants["TURNED"]) == (0, 12)


@pytest.mark.parametrize("rows", [1, DECODE_ROWS])
def test_what_needs_more_of_a_head_than_a_pair_is_turned_and_stored_by_a_second_dispatch(wide_gpu, rows):
    def labels(*args, **kwargs):
        return [d.kernel.label for d in plan(wide_gpu, rows, *args, **kwargs)]

    first = "norm_linear/kernel.subgroups:q4_1"
    assert labels("f16", pairs="adjacent") == ["norm_qkv/kernel.subgroups:q4_1:kv-f16"]
    assert labels("f16", pairs="half") == [first, "norm_qkv/rope_write:kv-f16"]
    assert labels("q8") == [first, "norm_qkv/rope_write:kv-q8"]
    assert labels("f32", None, GAIN, GAIN) == [first, "norm_qkv/rope_write"]
    norm, store = plan(wide_gpu, rows, "q8", BIAS, GAIN, GAIN)
    assert norm.grid == (rows * 240, 1, 1)
    assert store.grid == (-(-rows * 960 // 32 // 64), 1, 1)
