"""attention and key_padding_bias: values, errors, plans. The GPU's cases are webxpu/cases/attention.py."""

from dataclasses import replace

import numpy as np
import pytest

from webxpu import ops
from webxpu.errors import ShapeError
from webxpu.gpu.op import OPS
from webxpu.gpu.plan import Spec

LOWEST = np.finfo(np.float32).min
MASKS = ["2.1.1.4", "2.2.3.4", "1.2.3.4", "2.2.1.4", "2.1.3.4"]
THREE = ["attention", "flash_attention", "grouped_attention"]


def same(got, golden, name, probs="probs"):
    np.testing.assert_allclose(got[0], golden(f"{name}.{probs}"), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(got[1], golden(f"{name}.out"), rtol=1e-5, atol=1e-6)


def spec(*shape, dtype="float32"):
    return Spec(shape, dtype)


def test_it_is_torchs_attention_and_its_probabilities(qkv, golden):
    probs, out = ops.attention(*qkv)
    assert (probs.dtype, out.dtype) == (np.float32, np.float32)
    same((probs, out), golden, "attention.plain")
    np.testing.assert_allclose(out.ravel()[:3], [0.96817614, 0.77474835, 0.54051674], rtol=1e-6)


def test_causal_is_upper_left_without_an_offset_and_lower_right_with_s_minus_l(qkv, golden):
    same(ops.attention(*qkv, causal=True), golden, "attention.causal")
    same(ops.attention(*qkv, query_offset=1, causal=True), golden, "attention.lower_right")
    assert not np.allclose(golden("attention.causal.out"), golden("attention.lower_right.out"))


def test_the_scale_is_that_of_the_querys_width_unless_given(qkv, golden):
    same(ops.attention(*qkv, scale=0.25), golden, "attention.scale")
    same(ops.attention(*qkv, scale=5**-0.5), golden, "attention.plain")


@pytest.mark.parametrize("shape", MASKS)
def test_a_mask_is_added_and_broadcast_as_torch_does(qkv, golden, shape):
    mask = golden(f"attention.mask-{shape}")
    same(ops.attention(*qkv, mask), golden, f"attention.mask-{shape}")
    assert not np.allclose(ops.attention(*qkv, -mask)[1], golden(f"attention.mask-{shape}.out"), atol=1e-2)


def test_a_mask_of_zeros_is_none(qkv):
    for got, want in zip(ops.attention(*qkv, np.zeros((1, 1, 1, 4))), ops.attention(*qkv)):
        np.testing.assert_array_equal(got, want)


def test_a_key_that_is_kept_is_torchs_true(qkv, golden):
    keep = golden("attention.keep")
    bias = ops.key_padding_bias(keep)
    assert (bias.shape, bias.dtype) == ((2, 1, 1, 4), np.float32)
    np.testing.assert_array_equal(bias[0, 0, 0], [0, 0, -np.inf, -np.inf])
    np.testing.assert_array_equal(ops.key_padding_bias(keep.astype(bool)), bias)
    same(ops.attention(*qkv, bias), golden, "attention.padding")


@pytest.mark.parametrize("shape", [(4,), (2, 1, 4)])
def test_padding_must_be_two_axes(shape):
    with pytest.raises(ShapeError, match=r"^key_padding_bias: keep must be of shape \(B, S\), got \["):
        ops.key_padding_bias(np.ones(shape))


def test_a_row_that_sees_nothing_is_zeros_and_leaves_the_others_alone(qkv, golden):
    probs, out = ops.attention(*qkv, golden("attention.dead"))
    same((probs, out), golden, "attention.dead")
    assert not probs[0].any()
    assert not out[0].any()
    assert out[1].all()


@pytest.mark.parametrize("value", [LOWEST, -3.402823e38])
def test_a_row_of_the_lowest_float_is_uniform(qkv, value):
    probs, out = ops.attention(*qkv, np.full((1, 1, 3, 4), value, np.float32))
    np.testing.assert_array_equal(probs, 0.25)
    np.testing.assert_allclose(
        out, np.broadcast_to(qkv[2].mean(axis=2, keepdims=True), out.shape), rtol=1e-5, atol=1e-7
    )


def test_out_is_made_of_the_rounded_probabilities():
    q, k = np.ones((1, 1, 1, 1), np.float32), np.array([0, np.log(2)], np.float32).reshape(1, 1, 2, 1)
    probs, out = ops.attention(q, k, np.array([0, 2**24], np.float32).reshape(1, 1, 2, 1))
    assert out[0, 0, 0, 0] == probs[0, 0, 0, 1] * np.float32(2**24)


def test_keys_that_no_query_sees_are_not_read():
    q, k, v = (np.ones((1, 1, n, 2), np.float32) for n in (2, 5, 5))
    k[:, :, 3:], v[:, :, 3:] = np.nan, np.nan
    probs, out = ops.attention(q, k, v, query_offset=1, causal=True)
    np.testing.assert_array_equal(out, 1)
    np.testing.assert_array_equal(probs[0, 0], [[0.5, 0.5, 0, 0, 0], [np.float32(1 / 3)] * 3 + [0, 0]])


def test_float16_is_rounded_once_and_keeps_a_float32_mask(qkv, golden):
    halves = [a.astype(np.float16) for a in qkv]
    probs, out = ops.attention(*halves, golden("attention.mask-2.1.1.4"))
    assert (probs.dtype, out.dtype) == (np.float16, np.float16)
    wide = [a.astype(np.float32) for a in halves]
    exact, _ = ops.attention(*wide, golden("attention.mask-2.1.1.4"))
    np.testing.assert_array_equal(probs, exact.astype(np.float16))
    np.testing.assert_array_equal(out, (probs.astype(np.float64) @ wide[2]).astype(np.float16))


Q, K, V = spec(2, 4, 3, 8), spec(2, 4, 5, 8), spec(2, 4, 5, 6)
WRONG = [
    ({"q": spec(2, 4, 8)}, r"q must be float32 of shape \(B, H, L, D\) with H and D >= 1, or float16 with D"),
    ({"q": spec(2, 0, 3, 8), "k": spec(2, 0, 5, 8), "v": spec(2, 0, 5, 6)}, r"q must be float32 of shape"),
    ({"q": spec(2, 4, 3, 0)}, r"q must be float32 of shape"),
    ({"q": spec(2, 4, 3, 1, dtype="float16")}, r"q must be float32 of shape"),
    ({"q": spec(2, 4, 3, 8, dtype="int32")}, r"q must be float32 of shape"),
    ({"k": spec(2, 4, 5, 7)}, r"k must be float32 of shape \(2, .*4, S, 8\), S >= 1, got"),
    ({"k": spec(1, 4, 5, 8)}, r"k must be float32 of shape \(2"),
    ({"k": spec(2, 4, 0, 8)}, r"k must be float32 of shape \(2"),
    ({"k": spec(2, 3, 5, 8)}, r"k must be float32 of shape \(2"),
    ({"k": spec(2, 0, 5, 8)}, r"k must be float32 of shape \(2"),
    ({"k": spec(2, 8, 5, 8)}, r"k must be float32 of shape \(2"),
    ({"k": spec(2, 4, 5, 8, dtype="float16")}, r"k must be float32 of shape \(2"),
    ({"v": spec(2, 4, 6, 6)}, r"v must be float32 of shape \(2, 4, 5, Dv\), Dv >= 1, got"),
    ({"v": spec(2, 2, 5, 6)}, r"v must be float32 of shape"),
    ({"v": spec(2, 4, 5, 0)}, r"v must be float32 of shape"),
    ({"v": spec(2, 4, 5)}, r"v must be float32 of shape"),
    ({"mask": spec(2, 3, 5)}, r"mask must be float32 of shape \(1 or 2, 1 or 4, 1 or 3, 5\), got"),
    ({"mask": spec(2, 2, 3, 5)}, r"mask must be float32 of shape .* 1 or 4, .* got float32\[2, 2, 3, 5\]"),
    ({"mask": spec(3, 4, 3, 5)}, r"mask must be float32 of shape"),
    ({"mask": spec(2, 4, 2, 5)}, r"mask must be float32 of shape"),
    ({"mask": spec(2, 4, 3, 6)}, r"mask must be float32 of shape"),
    ({"mask": spec(2, 4, 3, 1)}, r"mask must be float32 of shape"),
    ({"mask": spec(2, 4, 3, 5, dtype="int32")}, r"mask must be float32 of shape"),
    ({"mask": spec(1, 1, 1, 5), "causal": True}, r"mask must be left out where causal is true, got float32\[1"),
    ({"query_offset": spec(2, dtype="int32"), "causal": True}, r"query_offset must be one int32, got int32\[2\]"),
    ({"query_offset": spec(1), "causal": True}, r"query_offset must be one int32, got float32\[1\]"),
    ({"query_offset": spec(1, dtype="int32")}, r"query_offset must be left out unless causal is true, got"),
]


@pytest.mark.parametrize(("change", "text"), WRONG)
@pytest.mark.parametrize("op", THREE)
def test_what_does_not_fit_is_named_by_each_of_the_three_ops(op, change, text):
    with pytest.raises(ShapeError, match=f"^{op}: {text}"):
        OPS[op].spec_of(**{"q": Q, "k": K, "v": V} | change)


@pytest.mark.parametrize("op", THREE)
def test_an_offset_below_zero_is_refused(op, qkv):
    with pytest.raises(ShapeError, match=rf"^{op}: query_offset must be at least 0, got -1$"):
        OPS[op](*qkv, query_offset=-1, causal=True)


def test_fewer_kv_heads_are_refused_where_heads_are_not_grouped():
    for op in THREE[:2]:
        with pytest.raises(ShapeError, match=rf"^{op}: k must be float32 of shape \(2, 4, S, 8\), S >= 1, got"):
            OPS[op].spec_of(Q, spec(2, 2, 5, 8), spec(2, 2, 5, 6))
    assert ops.grouped_attention.spec_of(Q, spec(2, 2, 5, 8), spec(2, 2, 5, 6)) == (spec(2, 4, 3, 5), spec(2, 4, 3, 6))


def test_lengths_and_the_offset_are_no_constants(wide_gpu):
    constants = []
    for length, s in [(3, 5), (9, 500)]:
        _, plan = ops.attention.plan_of(
            wide_gpu,
            spec(2, 4, length, 8),
            spec(2, 4, s, 8),
            spec(2, 4, s, 6),
            None,
            spec(1, dtype="int32"),
            causal=True,
        )
        assert [d.kernel.label for d in plan.dispatches] == [
            "attention/scores", "attention/softmax.subgroups", "attention/context",
        ]  # fmt: skip
        assert not plan.scratch
        constants.append([d.constants for d in plan.dispatches])
    assert constants[0] == constants[1]


def test_float16_scores_lie_in_scratch_as_float32(half_gpu):
    halves = [replace(s, dtype="float16") for s in (Q, K, V)]
    outputs, plan = ops.attention.plan_of(half_gpu, *halves)
    assert outputs == (spec(2, 4, 3, 5, dtype="float16"), spec(2, 4, 3, 6, dtype="float16"))
    assert plan.scratch == [spec(2, 4, 3, 5)]
    assert [d.kernel.variant.name for d in plan.dispatches] == ["scores.f16", "softmax.f16.subgroups", "context.f16"]


def test_more_workgroups_than_a_dimension_has_are_folded(wide_gpu):
    for b, h, length in [(70_000, 1, 1), (1, 70_000, 1), (1, 1, 70_000 * 64)]:
        _, plan = ops.attention.plan_of(wide_gpu, spec(b, h, length, 1), spec(b, h, 1, 1), spec(b, h, 1, 1))
        for dispatch in plan.dispatches:
            assert max(dispatch.grid) <= 65_535
            assert dispatch.grid[0] * dispatch.grid[1] >= 70_000


@pytest.mark.parametrize(
    ("mask", "second", "bound"),
    [
        (None, 0, (5 * 2**11, 3 * 2**11)),  # there is none: q stands in for it
        ((1, 4, 1, 64), 5, (0, 0)),
        ((2, 1, 64, 64), 5, (0, 0)),
        ((2, 4, 64, 64), 0, (5 * 2**14, 3 * 2**14)),
    ],
)
def test_what_is_too_large_to_bind_is_computed_in_groups_of_heads(wide_gpu, mask, second, bound):
    gpu = replace(wide_gpu, limits={**wide_gpu.limits, "maxStorageBufferBindingSize": 5 * 64 * 64 * 4})
    q = spec(2, 4, 64, 8)
    _, plan = ops.attention.plan_of(gpu, q, q, q, None if mask is None else spec(*mask))
    assert [d.constants["HEADS"] for d in plan.dispatches] == [5, 3] * 3
    assert [d.constants["FIRST"] for d in plan.dispatches[:2]] == [0, second]
    binding = plan.dispatches[1].bindings[2]
    assert (binding.offset, binding.nbytes) == bound
    probs, v, _, out = plan.dispatches[5].bindings
    assert [b.offset for b in (probs, v, out)] == [5 * 2**14, 5 * 2**11, 5 * 2**11]


@pytest.mark.parametrize(
    ("shape", "number"),
    [((1, 1, 1), 1), ((2, 1, 1), 3), ((1, 4, 1), 5), ((1, 1, 3), 9), ((2, 4, 1), 7), ((2, 4, 3), 15), ((1, 4, 3), 13)],
)
def test_a_mask_that_is_shared_says_so(plain_gpu, shape, number):
    _, plan = ops.attention.plan_of(plain_gpu, Q, K, V, spec(*shape, 5))
    assert plan.dispatches[0].constants["MASK"] == number
    _, plan = ops.attention.plan_of(plain_gpu, Q, K, V)
    assert plan.dispatches[0].constants["MASK"] == 0
