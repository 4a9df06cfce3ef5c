"""rope and rope_table: values, errors and plans. The GPU's cases are webxpu/cases/rope.py."""

import numpy as np
import pytest

from webxpu import ops
from webxpu.errors import ShapeError
from webxpu.gpu.plan import Spec


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


def test_frequency_factors_divide_the_frequencies():
    plain, slow = ops.rope_table(9, 4, base=1e4), ops.rope_table(9, 4, base=1e4, freq_factors=[1, 4])
    np.testing.assert_array_equal(plain[:, 0], slow[:, 0])
    np.testing.assert_array_equal(plain[2, 1], slow[8, 1])


@pytest.mark.parametrize("position", [-1, 4])
def test_a_position_outside_the_table_raises(position):
    x, table = np.ones((1, 1, 4), np.float32), ops.rope_table(4, 4, base=1e4)
    with pytest.raises(ShapeError, match=rf"^rope: positions must be within the table's 0 to 3, got {position}$"):
        ops.rope(x, np.array([position], np.int32), table, pairs="half")


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


@pytest.mark.parametrize("d", [3, 0])
def test_a_table_needs_an_even_width(d):
    with pytest.raises(ShapeError, match=rf"^rope_table: d must be even and at least 2, got {d}$"):
        ops.rope_table(4, d, base=1e4)


def test_a_thread_a_pair_and_no_constant_that_counts_rows(plain_gpu):
    specs = Spec((100, 9, 64), "float32"), Spec((100,), "int32"), Spec((4096, 32, 2), "float32")
    _, plan = ops.rope.plan_of(plain_gpu, *specs, pairs="half")
    (dispatch,) = plan.dispatches
    assert dispatch.constants == {"H": 9, "D": 64, "P": 4096, "HALF": 1}
    assert dispatch.grid == (29, 1, 1)
