"""pope and legendre: closed forms, SciPy's values, errors and plans. The GPU's cases are webxpu/cases/pope.py."""

import numpy as np
import pytest

from webxpu import ops
from webxpu.errors import ShapeError

X = np.linspace(-1, 1, 9)


@pytest.mark.parametrize(
    ("n", "form"),
    [
        (0, lambda x: np.ones_like(x)),
        (1, lambda x: x),
        (2, lambda x: (3 * x**2 - 1) / 2),
        (3, lambda x: (5 * x**3 - 3 * x) / 2),
        (4, lambda x: (35 * x**4 - 30 * x**2 + 3) / 8),
    ],
)
def test_the_first_polynomials_have_their_closed_forms(n, form):
    out = ops.legendre(n, X)
    assert out.dtype == np.float64
    np.testing.assert_allclose(out, form(X), atol=1e-15)


def test_the_ends_are_one_and_alternate_in_sign():
    for n in range(64):
        np.testing.assert_allclose(ops.legendre(n, [1, -1]), [1, (-1) ** n], rtol=1e-13)


def test_the_table_is_scipys(golden):
    out = ops.pope(40, 12, pos_offset=0)
    assert (out.shape, out.dtype) == ((40, 12), np.float32)
    np.testing.assert_allclose(out, golden("pope.out"), atol=1e-7)


def test_the_order_is_the_position_and_the_argument_stops_a_step_short_of_one():
    assert ops.pope(4, 4, pos_offset=0).tolist() == [
        [1, 1, 1, 1], [-1, -0.5, 0, 0.5], [1, -0.125, -0.5, -0.125], [-1, 0.4375, 0, -0.4375],
    ]  # fmt: skip


def test_the_offset_shifts_rows():
    np.testing.assert_array_equal(ops.pope(6, 10, pos_offset=3), ops.pope(9, 10, pos_offset=0)[3:])
    assert ops.pope(0, 10, pos_offset=3).shape == (0, 10)


def test_no_value_is_larger_than_one():
    out = ops.pope(300, 33, pos_offset=0)
    assert np.abs(out).max() == 1
    assert (np.abs(out).max(axis=1) == 1).all()


@pytest.mark.parametrize(
    ("arguments", "offset", "text"),
    [
        ((-1, 4), 0, r"pope: length must be at least 0, got -1$"),
        ((4, 0), 0, r"pope: width must be at least 1, got 0$"),
        ((4, 4), -1, r"pope: pos_offset must be at least 0, got -1$"),
    ],
)
def test_what_does_not_fit_is_named(arguments, offset, text):
    with pytest.raises(ShapeError, match=f"^{text}"):
        ops.pope(*arguments, pos_offset=offset)
    with pytest.raises(ShapeError, match=r"^legendre: n must be a whole number, at least 0, got -1$"):
        ops.legendre(-1, X)
    with pytest.raises(ShapeError, match=r"^legendre: n must be a whole number, at least 0, got 1\.5$"):
        ops.legendre(1.5, X)


def test_the_offset_has_to_be_given():
    with pytest.raises(TypeError, match=r"^pope: missing a required (keyword-only )?argument: 'pos_offset'; it is "):
        ops.pope(4, 4)


def test_a_thread_takes_a_column_and_the_length_is_no_constant(wide_gpu):
    for length, width, grid in [(5, 512, (8, 1, 1)), (70_000, 65, (2, 1, 1)), (1, 5_000_000, (39_063, 2, 1))]:
        _, plan = ops.pope.plan_of(wide_gpu, length=length, width=width, pos_offset=2)
        (dispatch,) = plan.dispatches
        assert dispatch.constants == {"D": width, "OFFSET": 2}
        assert dispatch.grid == grid
