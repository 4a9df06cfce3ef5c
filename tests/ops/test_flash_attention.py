"""flash_attention: values, its memory, plans. The GPU's cases are webxpu/cases/flash_attention.py; arguments that do
not fit are in test_attention.py."""

import numpy as np
import pytest

from webxpu import ops
from webxpu.cases.attention import SHARED, rescale
from webxpu.errors import ShapeError
from webxpu.gpu.plan import Spec

MASKS = ["2.1.1.4", "2.2.3.4", "1.2.3.4", "2.2.1.4", "2.1.3.4"]


def spec(*shape):
    return Spec(shape, "float32")


def test_it_is_torchs_attention(qkv, golden):
    np.testing.assert_allclose(ops.flash_attention(*qkv), golden("attention.plain.out"), rtol=1e-5, atol=1e-7)
    causal = ops.flash_attention(*qkv, causal=True)
    np.testing.assert_allclose(causal, golden("attention.causal.out"), rtol=1e-5, atol=1e-7)
    lower = ops.flash_attention(*qkv, query_offset=1, causal=True)
    np.testing.assert_allclose(lower, golden("attention.lower_right.out"), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("name", [*(f"mask-{shape}" for shape in MASKS), "dead"])
def test_masks_are_torchs(qkv, golden, name):
    out = ops.flash_attention(*qkv, golden(f"attention.{name}"), tile=3)
    np.testing.assert_allclose(out, golden(f"attention.{name}.out"), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("g", [1, 2, 3, 6])
def test_grouped_heads_are_torchs_where_they_are_asked_for(golden, g):
    arrays = golden("gqa.q"), golden(f"gqa.k{g}"), golden(f"gqa.v{g}")
    out = ops.flash_attention(*arrays, causal=True, enable_gqa=True)
    np.testing.assert_allclose(out, golden(f"gqa.{g}.out"), rtol=1e-5, atol=1e-7)
    if g < 6:
        with pytest.raises(
            ShapeError, match=r"^flash_attention: k must be float32 of shape \(2, 6, S, 5\), S >= 1, got"
        ):
            ops.flash_attention(*arrays, causal=True)


@pytest.mark.parametrize(("make", "kwargs"), [case[1:3] for case in SHARED], ids=[case[0] for case in SHARED])
def test_it_agrees_with_the_attention_that_holds_its_scores(make, kwargs):
    args = make()
    _, want = ops.attention(*args, **kwargs)
    # attention rounds each probability to float32, this one none
    np.testing.assert_allclose(ops.flash_attention(*args, **kwargs), want, rtol=1e-6, atol=2.5e-7)


@pytest.mark.parametrize("tile", [1, 2, 3, 7, 64, 70, 71, 1000])
def test_the_result_does_not_depend_on_the_tile(tile):
    q, k, v = ((np.sin(np.arange(3 * 70 * 8) * f) * 1.5).reshape(1, 3, 70, 8) for f in (0.37, 0.11, 0.23))
    want = ops.flash_attention(q, k, v, causal=True)
    np.testing.assert_allclose(ops.flash_attention(q, k, v, causal=True, tile=tile), want, rtol=1e-6, atol=1e-7)


def test_the_largest_score_of_the_rising_case_lies_in_its_last_tile():
    q, k, v = rescale()
    probs, _ = ops.attention(q, k, v)
    assert probs.argmax(axis=-1).min() >= 192
    spans = {s for name, make, _, _ in SHARED if name != "no-queries" for s in [make()[1].shape[2]]}
    assert {63, 64, 65} < spans  # tiles of 32 keys: below, at and past their end


def test_no_probability_is_rounded_before_it_meets_its_value():
    q, k = np.ones((1, 1, 1, 1), np.float32), np.array([0, np.log(2)], np.float32).reshape(1, 1, 2, 1)
    out = ops.flash_attention(q, k, np.array([0, 2**24], np.float32).reshape(1, 1, 2, 1))
    exact = np.exp(np.float64(k[0, 0, 1, 0]))
    assert out[0, 0, 0, 0] == np.float32(exact / (1 + exact) * 2**24)


def test_a_tile_has_a_key():
    q = spec(1, 1, 3, 4)
    with pytest.raises(ShapeError, match=r"^flash_attention: tile must be at least 1, got 0$"):
        ops.flash_attention.spec_of(q, q, q, tile=0)


def allocated(gpu, op, n):
    """The bytes of all arrays that a call's dispatches bind, and the largest of them."""
    args = [spec(1, 1, n, 8)] * 3
    outputs, plan = op.plan_of(gpu, *args)
    arrays = {"in": args, "out": outputs, "scratch": plan.scratch}
    bound = {(b.source, b.index) for d in plan.dispatches for b in d.bindings}
    sizes = [arrays[source][index].nbytes for source, index in bound]
    return sum(sizes), max(sizes)


@pytest.mark.parametrize("device", ["plain_gpu", "wide_gpu", "cpu_gpu"])
def test_its_memory_is_linear_in_the_length_and_attentions_is_not(request, device):
    gpu = request.getfixturevalue(device)
    lengths = np.array([64, 128, 192, 256])
    flash, largest = np.transpose([allocated(gpu, ops.flash_attention, n) for n in lengths.tolist()])
    held, _ = np.transpose([allocated(gpu, ops.attention, n) for n in lengths.tolist()])
    np.testing.assert_array_equal(flash, 128 * lengths)
    np.testing.assert_array_equal(held, 128 * lengths + 4 * lengths**2)
    assert (largest < 4 * lengths**2).all()  # no matrix of scores
    assert (np.diff(held / flash) > 0).all()
    assert held[-1] / flash[-1] > 8


def test_it_is_one_dispatch_whose_constants_hold_no_length(wide_gpu):
    found = []
    for length, s in [(40, 5), (700, 9000)]:
        _, plan = ops.flash_attention.plan_of(wide_gpu, spec(2, 4, length, 8), spec(2, 4, s, 8), spec(2, 4, s, 6))
        (dispatch,) = plan.dispatches
        assert dispatch.kernel.label == "flash_attention/kernel"
        assert not plan.scratch
        found.append(dispatch.constants)
    assert found[0] == found[1]


@pytest.mark.parametrize(("dv", "chunks", "groups"), [(5, 1, 1), (64, 1, 1), (65, 2, 1), (256, 4, 1), (300, 3, 2)])
def test_columns_are_shared_out_among_workgroups_that_hold_up_to_256(wide_gpu, dv, chunks, groups):
    _, plan = ops.flash_attention.plan_of(wide_gpu, spec(1, 1, 3, 300), spec(1, 1, 9, 300), spec(1, 1, 9, dv))
    assert (plan.dispatches[0].constants["CHUNKS"], plan.dispatches[0].grid) == (chunks, (groups, 1, 1))
    assert plan.dispatches[0].constants["ROWS"] == 16


def test_more_workgroups_than_a_dimension_has_are_folded(wide_gpu):
    for b, h, length in [(70_000, 1, 1), (1, 70_000, 1), (1, 1, 70_000 * 64)]:
        _, plan = ops.flash_attention.plan_of(wide_gpu, spec(b, h, length, 1), spec(b, h, 1, 1), spec(b, h, 1, 1))
        assert plan.dispatches[0].grid == (35_000, 2, 1)
