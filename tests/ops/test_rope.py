"""rope, rope_axes and rope_table: values, errors and plans. The GPU's cases are webxpu/cases/rope.py."""

import re

import numpy as np
import pytest

from webxpu import ops
from webxpu.errors import ShapeError
from webxpu.gpu.kernels import assemble
from webxpu.gpu.plan import Spec
from webxpu.ops.rope import frequencies


def turned(x, positions, table, pairs):
    """rope of (heads, rows, D), as transformers lays it."""
    return ops.rope(np.moveaxis(x, 0, 1), positions, table, pairs=pairs).swapaxes(0, 1)


@pytest.mark.parametrize("pairs", ["half", "adjacent"])
def test_it_is_transformers_rotation_and_the_complex_product(golden, pairs):
    x, positions = golden("rope.x"), golden("rope.positions")
    out = turned(x, positions, ops.rope_table(901, 8, base=1e4), pairs)
    assert out.dtype == np.float32
    np.testing.assert_allclose(out, golden(f"rope.{pairs}"), rtol=1e-6, atol=1e-7)
    assert not np.allclose(golden("rope.half"), golden("rope.adjacent"))


def test_the_table_is_cosine_and_sine_of_the_angles():
    # Position 3 of D = 4 at base 1e4: angles 3 and 0.03. torch 2.13.0, float64.
    table = ops.rope_table(4, 4, base=1e4)
    assert (table.shape, table.dtype) == ((4, 2, 2), np.float32)
    expected = [[-0.98999250, 0.14112001], [0.99955003, 0.02999550]]
    np.testing.assert_allclose(table[3], expected, rtol=1e-6)
    np.testing.assert_array_equal(table[0], [[1, 0], [1, 0]])


def test_a_hand_computed_rotation():
    # transformers' and Meta's conventions for x = [1, 2, 3, 4] at position 3, base 1e4 (torch 2.13.0).
    x, positions = np.array([[[1, 2, 3, 4]]], np.float32), np.array([3], np.int32)
    out = ops.rope(x, positions, ops.rope_table(4, 4, base=1e4), pairs="adjacent")
    np.testing.assert_allclose(out[0, 0], [-1.27223251, -1.83886499, 2.87866810, 4.08818664], rtol=1e-6)


def test_far_angles_are_exact_because_they_are_float64():
    table = ops.rope_table(200_001, 2, base=1e4)
    np.testing.assert_allclose(table[200_000, 0], [np.cos(200_000.0), np.sin(200_000.0)], rtol=1e-6)


def written_out(x, positions, base):
    """Adjacent pairs turned one by one, without an array operation."""
    out = np.empty_like(x)
    for row, head, pair in np.ndindex(x.shape[0], x.shape[1], x.shape[2] // 2):
        angle = int(positions[row]) * np.float64(base) ** (-2 * pair / x.shape[2])
        a, b = map(float, x[row, head, 2 * pair : 2 * pair + 2])
        out[row, head, 2 * pair] = a * np.cos(angle) - b * np.sin(angle)
        out[row, head, 2 * pair + 1] = a * np.sin(angle) + b * np.cos(angle)
    return out


@pytest.mark.parametrize("offset", [0, 7, 200])
def test_without_a_table_it_equals_a_plain_rotation_bit_for_bit(offset):
    x, positions = np.sin(np.arange(96, dtype=np.float32)).reshape(3, 2, 16) + 3, np.arange(offset, offset + 3)
    np.testing.assert_array_equal(ops.rope(x, positions, pairs="adjacent", base=1e4), written_out(x, positions, 1e4))


def test_positions_may_lie_between_whole_numbers_and_turn_backwards():
    x = np.sin(np.arange(32)).reshape(2, 1, 16).astype(np.float32)
    forward = ops.rope(x, np.array([0.5, 3.25], np.float32), pairs="half", base=1e4)
    back = ops.rope(forward, np.array([-0.5, -3.25], np.float32), pairs="half", base=1e4)
    np.testing.assert_allclose(back, x, atol=1e-6)
    assert not np.allclose(forward[1], ops.rope(x, np.array([0, 3], np.int32), pairs="half", base=1e4)[1])


def test_frequency_factors_divide_the_frequencies():
    plain, slow = ops.rope_table(9, 4, base=1e4), ops.rope_table(9, 4, base=1e4, freq_factors=[1, 4])
    np.testing.assert_array_equal(plain[:, 0], slow[:, 0])
    np.testing.assert_array_equal(plain[2, 1], slow[8, 1])


@pytest.mark.parametrize("position", [-1, 4])
def test_a_position_outside_the_table_raises(position):
    x, table = np.ones((1, 1, 4), np.float32), ops.rope_table(4, 4, base=1e4)
    with pytest.raises(ShapeError, match=rf"^rope: positions must be within the table's 0 to 3, got {position}$"):
        ops.rope(x, np.array([position], np.int32), table, pairs="half")


YARN = ops.YarnScaling(8, 64)


@pytest.mark.parametrize(
    ("name", "d", "scaling"),
    [
        ("ntk-16", 16, ops.NtkScaling(8)),
        ("yarn-16", 16, YARN),
        ("yarn-128", 128, ops.YarnScaling(8, 4096)),
        ("yarn-2048", 128, ops.YarnScaling(8, 2048)),
        ("yarn-slow", 16, ops.YarnScaling(8, 64, beta_slow=0.25)),
        ("yarn-6", 16, ops.YarnScaling(8, 6)),
        ("yarn-gain", 16, ops.YarnScaling(8, 64, attention_factor=1.5)),
    ],
)
def test_stretched_frequencies_are_transformers(golden, name, d, scaling):
    params = ops.rope_frequency_params(d, base=1e4, scaling=scaling)
    np.testing.assert_allclose(frequencies(d, params), golden(f"rope.{name}.frequencies"), rtol=5e-7)
    np.testing.assert_allclose(params.attention_factor, golden(f"rope.{name}.gain"), rtol=1e-7)


def test_llama_3s_factors_are_transformers_and_go_into_the_table(golden):
    kwargs = {"factor": 8, "low_freq_factor": 1, "high_freq_factor": 4, "original_context_length": 8192}
    factors = ops.llama3_freq_factors(128, base=5e5, **kwargs)
    assert (factors.dtype, factors[0], factors[-1]) == (np.float32, 1, 8)
    angles = 100 * golden("rope.llama3.frequencies").astype(np.float64)
    table = ops.rope_table(101, 128, base=5e5, freq_factors=factors)
    np.testing.assert_allclose(table[100], np.stack([np.cos(angles), np.sin(angles)], -1), atol=1e-5)


def test_ntk_raises_the_base_by_the_power_d_over_d_minus_2():
    params = ops.rope_frequency_params(16, base=1e4, scaling=ops.NtkScaling(8))
    np.testing.assert_allclose(params.base, 107_672.0154, rtol=1e-9)
    assert params[1:] == (1, 0, 1, 1)


@pytest.mark.parametrize(("d", "length", "ramp"), [(16, 64, (0, 3)), (128, 4096, (20, 46)), (128, 2048, (16, 41))])
def test_yarns_ramp_begins_at_a_floor_and_ends_at_a_ceiling(d, length, ramp):
    params = ops.rope_frequency_params(d, base=1e4, scaling=ops.YarnScaling(8, length))
    assert (params.base, params.interpolation, params.ramp_low, params.ramp_high) == (1e4, 8, *ramp)


def test_yarns_defaults_are_32_and_1_turns():
    assert ops.YarnScaling(8, 4096) == ops.YarnScaling(8, 4096, beta_fast=32, beta_slow=1, attention_factor=None)


@pytest.mark.parametrize(("factor", "given", "gain"), [(8, None, 1.20794415), (32, None, 1.34657359), (1, None, 1)])
def test_yarns_temperature_grows_with_the_logarithm_of_the_factor(factor, given, gain):
    scaling = ops.YarnScaling(factor, 64, attention_factor=given)
    np.testing.assert_allclose(ops.rope_frequency_params(16, base=1e4, scaling=scaling).attention_factor, gain)


def test_a_given_attention_factor_multiplies_the_output():
    x, positions = np.sin(np.arange(16)).reshape(1, 1, 16).astype(np.float32), np.array([5])
    one, half = (
        ops.rope(x, positions, pairs="half", base=1e4, scaling=ops.YarnScaling(8, 64, attention_factor=factor))
        for factor in (1, 1.5)
    )
    np.testing.assert_allclose(half, 1.5 * one, rtol=1e-6)


def test_a_ramp_of_no_length_stays_finite():
    params = ops.rope_frequency_params(16, base=1e4, scaling=ops.YarnScaling(8, 6))
    assert (params.ramp_low, params.ramp_high) == (0, 0.001)
    slow = frequencies(16, params)
    plain = frequencies(16, ops.rope_frequency_params(16, base=1e4))
    np.testing.assert_allclose(slow[1:], plain[1:] / 8)
    assert slow[0] == 1


@pytest.mark.parametrize(
    ("base", "length", "ends", "slower", "start"), [(1e4, 1, (0, -1), 1, 16), (1.5, 10_000, (77, 15), 8, -1)]
)
def test_a_ramp_beyond_the_pairs_slows_none_of_them_or_all(plain_gpu, base, length, ends, slower, start):
    scaling = ops.YarnScaling(8, length)
    params = ops.rope_frequency_params(16, base=base, scaling=scaling)
    assert (params.ramp_low, params.ramp_high) == ends
    plain = frequencies(16, ops.rope_frequency_params(16, base=base))
    np.testing.assert_allclose(frequencies(16, params), plain / slower)
    x, positions = Spec((9, 8, 16), "float32"), Spec((9,), "int32")
    _, plan = ops.rope.plan_of(plain_gpu, x, positions, pairs="half", base=base, scaling=scaling)
    assert plan.dispatches[0].constants["RAMP_START"] == start


def test_a_lower_beta_slow_lengthens_the_ramp_and_moves_the_output():
    slow = ops.YarnScaling(8, 64, beta_slow=0.25)
    assert ops.rope_frequency_params(16, base=1e4, scaling=slow).ramp_high == 4
    usual, slower = by_scheme(YARN), by_scheme(slow)
    assert np.abs(usual - slower).max() > 0.1


def by_scheme(scaling, heads=2, **kwargs):
    x = np.sin(np.arange(3 * heads * 16, dtype=np.float32)).reshape(3, heads, 16) + 3
    return ops.rope(x, np.arange(200, 203), pairs="adjacent", base=1e4, scaling=scaling, **kwargs)


def test_the_schemes_differ_beyond_the_context():
    outs = [by_scheme(scaling) for scaling in (None, ops.NtkScaling(8), YARN)]
    for i, out in enumerate(outs):
        assert all(np.abs(out - other).max() > 1 for other in outs[:i])


@pytest.mark.parametrize(("heads", "turned"), [((1, 2), [1, 2]), ((0, 2), [0, 1]), ((4, 0), []), ((2, None), [2, 3])])
def test_heads_outside_the_range_are_copied(heads, turned):
    offset, count = heads
    all_heads, none = by_scheme(YARN, 4), by_scheme(YARN, 4, head_count=0)
    out = by_scheme(YARN, 4, head_offset=offset, head_count=count)
    assert (none != 0).all()
    assert (all_heads != none).all()
    for head in range(4):
        np.testing.assert_array_equal(out[:, head], (all_heads if head in turned else none)[:, head])


def test_a_range_of_heads_works_with_a_table_too():
    x, positions, table = np.ones((2, 3, 4), np.float32), np.array([3, 1]), ops.rope_table(4, 4, base=1e4)
    out = ops.rope(x, positions, table, pairs="half", head_offset=1, head_count=1)
    np.testing.assert_array_equal(out[:, 1], ops.rope(x, positions, table, pairs="half")[:, 1])
    np.testing.assert_array_equal(out[:, ::2], x[:, ::2])


@pytest.mark.parametrize("scaling", [None, ops.NtkScaling(8), YARN])
def test_the_table_holds_each_schemes_angles_narrowed_once(scaling):
    params = ops.rope_frequency_params(16, base=1e4, scaling=scaling)
    angles = np.arange(9)[:, None] * frequencies(16, params)
    table = ops.rope_table(9, 16, base=1e4, scaling=scaling)
    gain = params.attention_factor
    np.testing.assert_array_equal(table[..., 0], (np.cos(angles) * gain).astype(np.float32))
    np.testing.assert_array_equal(table[..., 1], (np.sin(angles) * gain).astype(np.float32))
    np.testing.assert_array_equal(table[0], np.tile(np.float32([gain, 0]), (8, 1)))


@pytest.mark.parametrize("scaling", [None, ops.NtkScaling(8), YARN])
def test_a_table_gives_what_computed_angles_give(scaling):
    x, positions = np.sin(np.arange(96)).reshape(3, 2, 16).astype(np.float32), np.array([208, 0, 77])
    table = ops.rope_table(209, 16, base=1e4, scaling=scaling)
    computed = ops.rope(x, positions, pairs="half", base=1e4, scaling=scaling)
    np.testing.assert_allclose(ops.rope(x, positions, table, pairs="half"), computed, atol=1e-6)


def test_a_table_is_what_is_read_where_one_is_given():
    x, positions, table = np.ones((1, 1, 4), np.float32), np.array([3]), ops.rope_table(4, 4, base=1e4)
    halved = ops.rope(x, positions, table / 2, pairs="half")
    np.testing.assert_array_equal(halved, ops.rope(x, positions, table, pairs="half") / 2)


def test_no_sine_is_computed_where_a_table_is_given(plain_gpu):
    x, positions, table = (Spec((64, 8, 128), "float32"), Spec((64,), "int32"), Spec((64, 64, 2), "float32"))
    plans = [ops.rope.plan_of(plain_gpu, x, positions, table, pairs="half")[1]]
    plans.append(ops.rope.plan_of(plain_gpu, x, positions, pairs="half", base=1e4)[1])
    assert ["sin_cos" in assemble(plan.dispatches[0].kernel).code for plan in plans] == [False, True]


def test_permuted_rows_turn_in_adjacent_pairs_as_they_did_in_halves():
    rng = np.random.default_rng(3)
    weight, x = rng.standard_normal((3 * 8, 5), np.float32), rng.standard_normal((4, 5), np.float32)
    permuted = ops.permute_rope_channels(weight, 3)
    np.testing.assert_array_equal(permuted[8:16], weight[[8, 12, 9, 13, 10, 14, 11, 15]])
    positions = np.array([5, 0, 2, 9])
    half = ops.rope((x @ weight.T).reshape(4, 3, 8), positions, pairs="half", base=1e4)
    adjacent = ops.rope((x @ permuted.T).reshape(4, 3, 8), positions, pairs="adjacent", base=1e4)
    np.testing.assert_allclose(adjacent[..., ::2], half[..., :4], atol=1e-5)
    np.testing.assert_allclose(adjacent[..., 1::2], half[..., 4:], atol=1e-5)
    # A query times a key is what it was.
    np.testing.assert_allclose((adjacent[0] * adjacent[1]).sum(-1), (half[0] * half[1]).sum(-1), atol=1e-4)


def test_a_weight_that_is_no_whole_heads_is_not_permuted():
    text = r"^permute_rope_channels: weight must be of 3 heads of an even width, got \(9, 2\)$"
    with pytest.raises(ShapeError, match=text):
        ops.permute_rope_channels(np.ones((9, 2)), 3)


AXES = {"axes_dims": (32, 48, 48), "base": 256.0}


def test_axes_turn_as_z_images_complex_numbers(golden):
    out = ops.rope_axes(golden("rope_axes.x"), golden("rope_axes.positions"), **AXES)
    np.testing.assert_allclose(out, golden("rope_axes.out"), rtol=1e-6, atol=1e-6)


def test_a_hand_computed_rotation_by_axes():
    # Angles 1, 2, 0.125, 3 and 0, -1, -0.0625, 5. view_as_complex of torch 2.13.0.
    x = np.arange(1, 17, dtype=np.float32).reshape(2, 1, 8)
    out = ops.rope_axes(x, np.array([[1, 2, 3], [0, -1, 5]]), axes_dims=(2, 4, 2), base=256.0)
    first = [-1.14263966, 1.92207560, -4.88563022, 1.06330493, 4.21293994, 6.57655967, -8.05890754, -6.93209992]
    second = [9, 10, 16.04097718, -2.77255316, 13.84904809, 13.16069402, 19.59772118, -9.84526915]
    np.testing.assert_allclose(out.reshape(2, 8), [first, second], rtol=1e-6)


def test_one_axis_is_rope_itself():
    x, positions = np.sin(np.arange(96)).reshape(3, 2, 16).astype(np.float32), np.array([200, 0, 7])
    axis = ops.rope_axes(x, positions[:, None], axes_dims=(16,), base=1e4)
    np.testing.assert_array_equal(axis, ops.rope(x, positions, pairs="adjacent", base=1e4))


def test_each_block_turns_by_its_own_axis_and_width():
    x = np.sin(np.arange(2 * 128)).reshape(1, 2, 128).astype(np.float32) + 3
    one = ops.rope_axes(x, np.array([[0, 4.5, 0]], np.float32), **AXES)
    np.testing.assert_array_equal(one[..., :32], x[..., :32])
    np.testing.assert_array_equal(one[..., 80:], x[..., 80:])
    alone = ops.rope(np.ascontiguousarray(x[..., 32:80]), np.float32([4.5]), pairs="adjacent", base=256.0)
    np.testing.assert_array_equal(one[..., 32:80], alone)
    here, there = (ops.rope_axes(x, np.array([p]), **AXES) for p in ([1, 2, 3], [3, 1, 2]))
    assert np.abs(here - there).max() > 1


def test_a_negative_position_turns_back():
    x, positions = np.sin(np.arange(128)).reshape(1, 1, 128).astype(np.float32), np.float32([[3, 0.25, 40]])
    back = ops.rope_axes(ops.rope_axes(x, positions, **AXES), -positions, **AXES)
    np.testing.assert_allclose(back, x, atol=1e-6)


def test_a_fraction_of_a_position_turns_by_that_fraction():
    x = np.sin(np.arange(128)).reshape(1, 1, 128).astype(np.float32)
    quarter = np.float32([[0.25, -0.5, 1.75]])
    often = x
    for _ in range(4):
        often = ops.rope_axes(often, quarter, **AXES)
    np.testing.assert_allclose(often, ops.rope_axes(x, np.array([[1, -2, 7]]), **AXES), atol=1e-6)


X, P, T = np.ones((2, 3, 4), np.float32), np.zeros(2, np.int32), np.ones((5, 2, 2), np.float32)


@pytest.mark.parametrize(
    ("args", "pairs", "text"),
    [
        ((X[..., :3], P, T), "half", r"rope: x must be of an even width D, got float32\[2, 3, 3\]"),
        ((X[0], P, T), "half", r"rope: x must be float32 of shape \(L, H, D\), got float32\[3, 4\]"),
        ((X.astype(np.int32), P, T), "half", r"rope: x must be float32 of shape \(L, H, D\), got int32"),
        ((X, P[:1], T), "half", r"rope: positions must be int32\[2\], got int32\[1\]"),
        ((X, P.astype(np.float32), T), "half", r"rope: positions must be int32\[2\], got float32\[2\]"),
        ((X, P, T[:, :1]), "half", r"rope: table must be float32\[P, 2, 2\] with P >= 1, got float32\[5, 1, 2\]"),
        ((X, P, T[:0]), "half", r"rope: table must be float32\[P, 2, 2\] with P >= 1, got float32\[0, 2, 2\]"),
        ((X, P, T), "both", r"rope: pairs must be one of adjacent, half, got 'both'"),
    ],
)
def test_what_does_not_fit_is_named(args, pairs, text):
    with pytest.raises(ShapeError, match=f"^{text}"):
        ops.rope(*args, pairs=pairs)


@pytest.mark.parametrize(
    ("args", "kwargs", "text"),
    [
        ((X, P), {}, "base must be given where table is not, got None"),
        ((X, P), {"base": 1.0}, r"base must be above 1, got 1\.0"),
        ((X, P, T), {"base": 1e4}, r"base must be None where a table is given: the table has it, got 10000\.0"),
        ((X, P, T), {"scaling": YARN}, "scaling must be None where a table is given"),
        ((X, P), {"base": 1e4, "scaling": {"kind": "ntk"}}, r"scaling must be None, NtkScaling or YarnScaling, got {"),
        (
            (X, P),
            {"base": 1e4, "scaling": ops.NtkScaling(0.5)},
            "scaling must be of a finite factor of at least 1, got",
        ),
        ((X[..., :2], P), {"base": 1e4, "scaling": ops.NtkScaling(8)}, "d must be above 2 for NtkScaling, got 2"),
        ((X, P), {"base": 1e4, "scaling": ops.YarnScaling(8, 64, 1, 2)}, "scaling must be of beta_fast >= beta_slow"),
        ((X, P), {"base": 1e4, "scaling": ops.YarnScaling(np.inf, 64)}, "scaling must be of a finite factor of at"),
        ((X, P), {"base": 1e4, "scaling": ops.YarnScaling(8, 0)}, "scaling must be of an original_context_length of"),
        (
            (X, P),
            {"base": 1e4, "scaling": ops.YarnScaling(8, 64, attention_factor=np.nan)},
            "scaling must be of a finite attention_factor, got",
        ),
        ((X, P, T), {"head_offset": -1}, "head_offset and head_count must be a head range within 0 to 3, got -1 to 3"),
        ((X, P, T), {"head_count": -1}, ".* a head range within 0 to 3, got 0 to -1"),
        ((X, P, T), {"head_offset": 2, "head_count": 2}, ".* a head range within 0 to 3, got 2 to 4"),
        ((X, P.astype(bool)), {"base": 1e4}, r"positions must be int32\[2\] or float32\[2\], got bool\[2\]"),
    ],
)
def test_options_that_do_not_fit_are_named(args, kwargs, text):
    with pytest.raises(ShapeError, match=f"^rope: {text}"):
        ops.rope(*args, pairs="half", **kwargs)


A = np.zeros((2, 2), np.float32)


@pytest.mark.parametrize(
    ("x", "positions", "axes_dims", "base", "text"),
    [
        (X, A, (1, 3), 256.0, "axes_dims must be even widths of at least 2, got 1"),
        (X, A, (2, 4), 256.0, r"axes_dims must be widths that add up to 4, got \[2, 4\]"),
        (X, A[:, :1], (2, 2), 256.0, r"positions must be float32 or int32 of shape \(2, 2\), got float32\[2, 1\]"),
        (X, A.astype(bool), (2, 2), 256.0, r"positions must be float32 or int32 of shape \(2, 2\), got bool"),
        (X, A, (2, 2), 1.0, r"base must be above 1, got 1\.0"),
        (X[0], A, (2, 2), 256.0, r"x must be float32 of shape \(L, H, D\), got float32\[3, 4\]"),
    ],
)
def test_axes_that_do_not_fit_are_named(x, positions, axes_dims, base, text):
    with pytest.raises(ShapeError, match=f"^rope_axes: {text}"):
        ops.rope_axes(x, positions, axes_dims=axes_dims, base=base)


def test_frequency_factors_of_another_width_are_named():
    with pytest.raises(ShapeError, match=r"^rope_table: freq_factors must be of shape \(2,\), got \(3,\)$"):
        ops.rope_table(4, 4, base=1e4, freq_factors=[1, 2, 3])


@pytest.mark.parametrize(
    ("changed", "text"),
    [
        ({"factor": 0.5}, "factor must be finite and at least 1, got 0.5"),
        ({"low_freq_factor": 4}, "low_freq_factor must be below 4, got 4"),
        ({"original_context_length": 0}, "original_context_length must be at least 1, got 0"),
    ],
)
def test_factors_that_would_be_no_numbers_are_named(changed, text):
    options = {"factor": 8, "low_freq_factor": 1, "high_freq_factor": 4, "original_context_length": 8192}
    with pytest.raises(ShapeError, match=f"^llama3_freq_factors: {re.escape(text)}$"):
        ops.llama3_freq_factors(64, base=5e5, **options | changed)


@pytest.mark.parametrize("d", [3, 0])
def test_a_table_needs_an_even_width(d):
    with pytest.raises(ShapeError, match=rf"^rope_table: d must be even and at least 2, got {d}$"):
        ops.rope_table(4, d, base=1e4)


def test_a_thread_a_pair_and_no_constant_that_counts_rows(plain_gpu):
    specs = Spec((100, 9, 64), "float32"), Spec((100,), "int32"), Spec((4096, 32, 2), "float32")
    _, plan = ops.rope.plan_of(plain_gpu, *specs, pairs="half", head_offset=2)
    (dispatch,) = plan.dispatches
    assert dispatch.constants == {"H": 9, "D": 64, "HALF": 1, "HEAD_OFFSET": 2, "HEAD_COUNT": 7}
    assert dispatch.grid == (29, 1, 1)


def test_computed_angles_take_a_thread_for_eight_heads_and_an_axis_a_dispatch(plain_gpu):
    specs = Spec((100, 9, 128), "float32"), Spec((100, 3), "float32")
    _, plan = ops.rope_axes.plan_of(plain_gpu, *specs, **AXES)
    assert [d.grid for d in plan.dispatches] == [(13, 1, 1), (19, 1, 1), (19, 1, 1)]  # 100 * 2 * width / 2 threads
    assert [(d.constants["START"], d.constants["WIDTH"]) for d in plan.dispatches] == [(0, 32), (32, 48), (80, 48)]
    _, again = ops.rope_axes.plan_of(plain_gpu, Spec((7, 9, 128), "float32"), Spec((7, 3), "float32"), **AXES)
    assert [d.constants for d in again.dispatches] == [d.constants for d in plan.dispatches]


def test_rows_that_one_binding_cannot_hold_go_in_chunks(plain_gpu):
    rows = 70_000  # of 4 KiB: twice what the device binds at least
    x, positions = Spec((rows, 8, 128), "float32"), Spec((rows,), "int32")
    for table, kwargs in [(Spec((9, 64, 2), "float32"), {}), (None, {"base": 1e4})]:
        _, plan = ops.rope.plan_of(plain_gpu, x, positions, table, pairs="half", **kwargs)
        moved = [(d.bindings[0].offset, d.bindings[1].offset, d.bindings[-1].offset) for d in plan.dispatches]
        assert moved == [(4096 * n, 4 * n, 4096 * n) for n in (0, 32_768, 65_536)]
