"""grouped_attention, kv_head_of and kv_cache_bytes: values, errors. The GPU's cases are webxpu/cases/gqa.py; arguments
that do not fit any kind of attention are in test_attention.py."""

import numpy as np
import pytest

from webxpu import ops
from webxpu.errors import ShapeError
from webxpu.gpu.plan import Spec
from webxpu.ops import kv_cache_bytes, kv_head_of


def waves(h, g, length, s, d=8, dv=5):
    shapes = [(2, h, length, d), (2, g, s, d), (2, g, s, dv)]
    return [
        (np.sin(np.arange(np.prod(n)) * f) * 1.5).astype(np.float32).reshape(n)
        for n, f in zip(shapes, (0.37, 0.11, 0.23), strict=True)
    ]


def spec(*shape):
    return Spec(shape, "float32")


@pytest.mark.parametrize("g", [1, 2, 3, 6])
def test_it_is_torchs_attention_with_enable_gqa(golden, g):
    probs, out = ops.grouped_attention(golden("gqa.q"), golden(f"gqa.k{g}"), golden(f"gqa.v{g}"), causal=True)
    np.testing.assert_allclose(probs, golden(f"gqa.{g}.probs"), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(out, golden(f"gqa.{g}.out"), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("g", "heads"), [(2, [0, 0, 0, 1, 1, 1]), (3, [0, 0, 1, 1, 2, 2]), (1, [0] * 6), (6, [0, 1, 2, 3, 4, 5])]
)
def test_neighbouring_heads_share_a_kv_head(g, heads):
    q, k, v = waves(6, g, 3, 7)
    got = ops.grouped_attention(q, k, v, causal=True)
    want = ops.attention(q, k[:, heads], v[:, heads], causal=True)
    for a, b in zip(got, want, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-7)
    assert [kv_head_of(h, 6, g) for h in range(6)] == heads


@pytest.mark.parametrize(
    "kwargs", [{}, {"causal": True}, {"causal": True, "query_offset": 4}, {"scale": 0.25}], ids=str
)
def test_with_a_kv_head_for_each_head_it_is_attention_to_the_bit(kwargs):
    arrays = waves(4, 4, 3, 7)
    for got, want in zip(ops.grouped_attention(*arrays, **kwargs), ops.attention(*arrays, **kwargs), strict=True):
        np.testing.assert_array_equal(got, want)


def test_a_mask_counts_query_heads():
    q, k, v = waves(4, 2, 3, 7)
    mask = np.zeros((1, 4, 1, 7), np.float32)
    mask[0, 1, 0, 2:] = -np.inf
    probs, _ = ops.grouped_attention(q, k, v, mask)
    plain, _ = ops.grouped_attention(q, k, v)
    assert not probs[:, 1, :, 2:].any()
    np.testing.assert_array_equal(probs[:, [0, 2, 3]], plain[:, [0, 2, 3]])
    with pytest.raises(ShapeError, match=r"^grouped_attention: mask must be float32 of shape .* 1 or 4,"):
        ops.grouped_attention(q, k, v, mask[:, :2])


@pytest.mark.parametrize(("length", "s", "offset", "filled"), [(1, 16, 5, 6), (5, 20, 3, 8)])
def test_a_cache_is_not_read_past_what_is_filled(length, s, offset, filled):
    q, k, v = waves(6, 2, length, s)
    short = ops.grouped_attention(q, k[:, :, :filled], v[:, :, :filled], query_offset=offset, causal=True)
    v[:, :, filled:] = np.inf
    probs, out = ops.grouped_attention(q, k, v, query_offset=offset, causal=True, s_eff=filled)
    np.testing.assert_array_equal(out, short[1])
    np.testing.assert_array_equal(probs[..., :filled], short[0])
    assert not probs[..., filled:].any()


@pytest.mark.parametrize(
    ("s_eff", "kwargs", "text"),
    [
        (0, {"causal": True}, "a whole number from 1 to 7, got 0"),
        (8, {"causal": True}, "a whole number from 1 to 7, got 8"),
        (2.5, {"causal": True}, r"a whole number from 1 to 7, got 2\.5"),
        (6, {}, "7, that of k, unless causal is true, got 6"),
        (2, {"causal": True}, "at least 3, which the queries see, got 2"),
        (4, {"causal": True, "query_offset": 2}, "at least 5, which the queries see, got 4"),
        (6, {"causal": True, "query_offset": 90}, "at least 7, which the queries see, got 6"),
    ],
)
def test_a_length_that_does_not_hold_what_is_seen_is_refused(s_eff, kwargs, text):
    with pytest.raises(ShapeError, match=f"^grouped_attention: s_eff must be {text}$"):
        ops.grouped_attention(*waves(4, 2, 3, 7), s_eff=s_eff, **kwargs)


def test_the_whole_length_may_be_said_in_every_way():
    arrays = waves(4, 2, 3, 7)
    for kwargs in ({}, {"causal": True}):
        for got, want in zip(
            ops.grouped_attention(*arrays, s_eff=7, **kwargs), ops.grouped_attention(*arrays, **kwargs), strict=True
        ):
            np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("g", [0, 4, 5, 7])
def test_kv_heads_divide_the_heads(g):
    with pytest.raises(
        ShapeError, match=r"^grouped_attention: k must be float32 of shape \(2, Hkv that divides 6, S, 8\)"
    ):
        ops.grouped_attention.spec_of(spec(2, 6, 3, 8), spec(2, g, 7, 8), spec(2, g, 7, 5))
    with pytest.raises(ShapeError, match=r"^kv_head_of: kv_heads must be a whole number from 1 up that divides 6, got"):
        kv_head_of(0, 6, g)


def test_keys_and_values_have_the_same_heads():
    with pytest.raises(
        ShapeError, match=r"^grouped_attention: v must be float32 of shape \(2, 2, 7, Dv\), Dv >= 1, got"
    ):
        ops.grouped_attention.spec_of(spec(2, 6, 3, 8), spec(2, 2, 7, 8), spec(2, 6, 7, 5))


def test_a_head_that_is_not_there_has_no_kv_head():
    for head in (-1, 6):
        with pytest.raises(ShapeError, match=rf"^kv_head_of: head must be from 0 to 5, got {head}$"):
            kv_head_of(head, 6, 2)


def test_a_cache_shrinks_with_its_kv_heads():
    sizes = {g: kv_cache_bytes(1, g, 8192, 128, 128) for g in (32, 8, 1)}
    assert sizes == {32: 268_435_456, 8: 67_108_864, 1: 8_388_608}
    assert 32 * (sizes[32] - sizes[8]) == 6_442_450_944
    assert kv_cache_bytes(1, 8, 8192, 128, 128, element_bytes=2) == 33_554_432
    assert kv_cache_bytes(2, 3, 5, 7, 11, element_bytes=1) == 2 * 3 * 5 * 18


def test_the_query_heads_of_a_kv_head_share_a_tile(wide_gpu):
    _, plan = ops.grouped_attention.plan_of(wide_gpu, spec(2, 32, 1, 64), spec(2, 8, 500, 64), spec(2, 8, 500, 64))
    scores, softmax, context = plan.dispatches
    assert (scores.constants["HEADS"], scores.constants["GROUP"], scores.constants["ROWS"]) == (16, 4, 16)
    assert (scores.grid, softmax.grid, context.grid) == ((16 * 8, 1, 1), (64, 1, 1), (16, 1, 1))
