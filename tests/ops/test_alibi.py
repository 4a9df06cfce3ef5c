"""alibi and alibi_slopes: values, errors, plans. The GPU's cases are webxpu/cases/alibi.py."""

from dataclasses import replace

import numpy as np
import pytest

from webxpu import ops
from webxpu.errors import ShapeError
from webxpu.gpu.plan import Spec


def zeros(*shape):
    return np.zeros(shape, np.float32)


@pytest.mark.parametrize("heads", [1, 2, 3, 8, 9, 12, 15, 16, 40, 255, 256, 257, 300])
def test_the_slopes_are_those_of_the_papers_code(golden, heads):
    slopes = ops.alibi_slopes(heads)
    assert (slopes.shape, slopes.dtype) == ((heads,), np.float32)
    np.testing.assert_allclose(slopes, golden(f"alibi.slopes{heads}"), rtol=1e-6)


def test_eight_heads_halve_from_a_half():
    np.testing.assert_array_equal(ops.alibi_slopes(8), 0.5 ** np.arange(1, 9))
    np.testing.assert_array_equal(ops.alibi_slopes(1), [2.0**-8])
    np.testing.assert_array_equal(ops.alibi_slopes(2), [2.0**-4, 2.0**-8])


def test_other_counts_append_every_other_slope_of_the_power_above():
    slopes = ops.alibi_slopes(12)
    np.testing.assert_array_equal(slopes[:8], ops.alibi_slopes(8))
    np.testing.assert_allclose(slopes[8:], [2**-0.5, 2**-1.5, 2**-2.5, 2**-3.5], rtol=1e-6)
    np.testing.assert_array_equal(slopes[8:], ops.alibi_slopes(16)[0::2][:4])
    assert slopes[8] > slopes[7]
    assert len(ops.alibi_slopes(15)[8:]) == 7


@pytest.mark.parametrize("heads", [0, -1, 2.5, 8.0, True])
def test_a_count_of_heads_is_a_whole_number(heads):
    with pytest.raises(ShapeError, match=r"^alibi_slopes: heads must be a whole number, at least 1, got "):
        ops.alibi_slopes(heads)


def test_the_bias_is_zero_on_the_diagonal_and_goes_on_past_it():
    slopes = np.ones(1, np.float32)
    np.testing.assert_array_equal(ops.alibi(zeros(1, 3, 3), slopes)[0], [[0, 1, 2], [-1, 0, 1], [-2, -1, 0]])


def test_the_offset_is_the_first_querys_position():
    slopes = np.array([1, 0.25], np.float32)
    np.testing.assert_array_equal(ops.alibi(zeros(2, 1, 4), slopes, 3)[0], [[-3, -2, -1, 0]])
    np.testing.assert_array_equal(ops.alibi(zeros(2, 1, 3), slopes, np.array([4]))[1], [[-1, -0.75, -0.5]])
    np.testing.assert_array_equal(
        ops.alibi(zeros(2, 4, 4), slopes)[:, 2:], ops.alibi(zeros(2, 2, 4), slopes, pos_offset=2)
    )


def test_each_head_reads_its_own_slope_and_the_papers_are_the_default():
    own = ops.alibi(zeros(4, 1, 2), np.array([1, 10, 100, 1000], np.float32))
    np.testing.assert_array_equal(own[:, 0, 1], [1, 10, 100, 1000])
    np.testing.assert_array_equal(ops.alibi(zeros(12, 1, 2))[:, 0, 1], ops.alibi_slopes(12))


def test_scores_are_added_to():
    scores = np.arange(6, dtype=np.float32).reshape(1, 2, 3)
    np.testing.assert_array_equal(ops.alibi(scores) - scores, ops.alibi(zeros(1, 2, 3)))


def test_the_bias_of_no_scores_is_a_mask_of_attention():
    q, k, v = ((np.sin(np.arange(4 * n * 8) * f)).reshape(1, 4, n, 8) for n, f in ((3, 0.37), (5, 0.11), (5, 0.23)))
    mask = ops.alibi(zeros(4, 3, 5), None, 2)[None]
    probs, _ = ops.attention(q, k, v, mask)
    scores = ops.alibi(np.float32(8**-0.5 * (q @ k.swapaxes(2, 3))[0]), pos_offset=2)
    np.testing.assert_allclose(probs[0], ops.softmax(scores), rtol=1e-5)


@pytest.mark.parametrize(
    ("args", "text"),
    [
        ((zeros(3, 4),), r"scores must be float32 of shape \(H, M, N\), H >= 1, got float32\[3, 4\]"),
        ((zeros(0, 3, 4),), r"scores must be float32 of shape"),
        ((np.zeros((1, 3, 4), np.int32),), r"scores must be float32 of shape"),
        ((zeros(2, 3, 4), zeros(3)), r"slopes must be float32 of shape \(2,\), got float32\[3\]"),
        ((zeros(2, 3, 4), zeros(1, 2)), r"slopes must be float32 of shape \(2,\)"),
        ((zeros(2, 3, 4), None, np.zeros(2, np.int32)), r"pos_offset must be one int32, got int32\[2\]"),
        ((zeros(2, 3, 4), None, 1.5), r"pos_offset must be one int32, got float32\[\]"),
    ],
)
def test_what_does_not_fit_is_named(args, text):
    with pytest.raises(ShapeError, match=f"^alibi: {text}"):
        ops.alibi(*args)


def test_a_row_that_grows_compiles_nothing_new(plain_gpu):
    offset = Spec((1,), "int32")
    plans = [ops.alibi.plan_of(plain_gpu, Spec((6, 1, n), "float32"), None, offset)[1] for n in (5, 9000)]
    assert [d.kernel.label for d in plans[0].dispatches] == ["alibi/slopes", "alibi/kernel"]
    assert [d.constants for d in plans[0].dispatches] == [d.constants for d in plans[1].dispatches]
    assert plans[0].scratch == [Spec((6,), "float32")]


def test_what_is_too_large_to_bind_is_computed_in_groups_of_heads(plain_gpu):
    gpu = replace(plain_gpu, limits={**plain_gpu.limits, "maxStorageBufferBindingSize": 4 * 4 * 64 * 64})
    _, plan = ops.alibi.plan_of(gpu, Spec((6, 64, 64), "float32"), Spec((6,), "float32"))
    assert [(d.constants["FIRST"], d.constants["HEADS"]) for d in plan.dispatches] == [(0, 4), (4, 2)]
    assert [(b.offset, b.nbytes) for b in plan.dispatches[1].bindings] == [
        (4 * 2**14, 2 * 2**14), (0, 0), (4 * 2**14, 2 * 2**14), (4 * 2**14, 2 * 2**14),
    ]  # fmt: skip


def test_more_heads_than_a_dimension_has_workgroups_are_folded(plain_gpu):
    _, plan = ops.alibi_slopes.plan_of(plain_gpu, heads=64 * 70_000)
    assert plan.dispatches[0].grid == (35_000, 2, 1)
