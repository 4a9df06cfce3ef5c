"""norm_qkv and rope_write against PyTorch and transformers. The GPU's cases are webxpu/cases/norm_qkv.py."""

import numpy as np
import pytest

from webxpu import ops
from webxpu.errors import ShapeError
from webxpu.gpu.plan import Spec
from webxpu.llm.state import State

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
    ],
)
def test_options_are_checked(layer, change, text):
    with pytest.raises(ShapeError, match=f"^norm_qkv: {text}"):
        ops.norm_qkv(*layer, **{**KW, "pairs": "half", **change})


def plan(gpu, rows):
    floats = [(rows, 576), (576,), (512, 32, 2), (8, 2, 64, 3, 64)]
    specs = [
        Spec((960, 576), "q4_1"),
        *(Spec(s, "float32") for s in floats),
        Spec((8,), "int32"),
        Spec((64,), "uint32"),
    ]
    return ops.norm_qkv.plan_of(gpu, *specs, heads=9, kv_heads=3, eps=1e-5, pairs="adjacent")[1].dispatches


def test_one_row_is_one_dispatch_and_more_are_composed(plain_gpu, wide_gpu, cpu_gpu):
    for gpu, name, groups in [(plain_gpu, "kernel", 8), (wide_gpu, "kernel.subgroups", 120), (cpu_gpu, "kernel", 4)]:
        (dispatch,) = plan(gpu, 1)
        assert (dispatch.kernel.label, dispatch.grid) == (f"norm_qkv/{name}:q4_1", (groups, 1, 1))
    many = [d.kernel.op for d in plan(wide_gpu, 16)]
    assert many == ["rmsnorm", "matmul", "matmul", "norm_qkv"]
