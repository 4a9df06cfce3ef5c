"""conv_transpose1d and conv_transpose2d: values from torch 2.13, errors and plans."""

import numpy as np
import pytest

from webxpu import ops
from webxpu.errors import ShapeError
from webxpu.gpu.op import spec as spec_of
from webxpu.gpu.plan import Spec

ONE_TWO = np.array([[[1, 2]]], np.float32)
DECIMAL = np.array([[[1, 10, 100]]], np.float32)
BIAS = np.array([1000], np.float32)


def whole(n, modulus, shift, *shape):
    """i mod `modulus` minus `shift`, in float32."""
    return (np.arange(n) % modulus - shift).astype(np.float32).reshape(shape)


def flat(x, weight, bias=None, **options):
    return ops.conv_transpose1d(x, weight, bias, **options).reshape(-1).tolist()


def test_the_kernel_is_not_flipped():
    assert flat(ONE_TWO, DECIMAL) == [1, 12, 120, 200]
    assert flat(ONE_TWO, DECIMAL, stride=2) == [1, 10, 102, 20, 200]


def test_the_weight_leads_with_the_input_channels():
    out = ops.conv_transpose1d(whole(8, 99, 0, 1, 2, 4), whole(12, 5, 2, 2, 3, 2))
    assert out.shape == (1, 3, 5)
    assert out.reshape(-1).tolist() == [-4, -7, -11, -15, -3, 4, 13, 17, 21, 17, -8, -12, -15, -18, -13]


def test_padding_crops_both_ends():
    x, weight = np.array([[[1, 2, 3]]], np.float32), np.array([[[1, 0, 0]]], np.float32)
    assert [flat(x, weight, padding=p) for p in range(3)] == [[1, 2, 3, 0, 0], [2, 3, 0], [3]]


def test_output_padding_lengthens_the_tail_and_the_bias_lies_on_it():
    assert flat(ONE_TWO, DECIMAL, stride=2, output_padding=1) == [1, 10, 102, 20, 200, 0]
    assert flat(ONE_TWO, DECIMAL, BIAS, stride=2, output_padding=1) == [1001, 1010, 1102, 1020, 1200, 1000]


def test_what_lies_in_the_tail_is_computed():
    """A stage of DAC of stride 3: K = 2 s, padding (s + 1) / 2, output_padding s % 2."""
    x, weight = whole(8, 7, 3, 1, 2, 4), whole(24, 5, 2, 2, 2, 6)
    odd = [2, -1, -3, 10, -4, -2, 10, -7, -8, -4, 6, 3, -5, -3, 10, -2, -2, 10, -3, -8, -4, 10, 3, 0]
    assert flat(x, weight, stride=3, padding=2, output_padding=1) == odd
    assert flat(x, weight, stride=3, padding=2) == odd[:11] + odd[12:23]


def test_all_knobs_are_torchs():
    out = ops.conv_transpose1d(
        whole(40, 99, 10, 2, 4, 5), whole(36, 5, 2, 4, 3, 3), (np.arange(6) * 3 - 4).astype(np.float32),
        stride=2, padding=2, output_padding=1, dilation=2, groups=2,
    )  # fmt: skip
    assert out.shape == (2, 6, 10)
    values = out.reshape(-1)
    assert values[:10].tolist() == [26, -4, 28, -4, 24, -4, 20, -4, 6, -4]
    assert (values.sum(), np.arange(values.size) @ values) == (516, 36090)


def test_two_axes_are_torchs(golden):
    x, weight, bias = (golden(f"conv_transpose2d.{name}") for name in ("x", "weight", "bias"))
    options = {"stride": (2, 3), "padding": (1, 2), "output_padding": (1, 0), "dilation": (1, 2), "groups": 2}
    out = ops.conv_transpose2d(x, weight, bias, **options)
    np.testing.assert_allclose(out, golden("conv_transpose2d.out"), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("length", "kernel", "options", "want"),
    [
        (4, 3, {}, 6),
        (4, 3, {"stride": 2}, 9),
        (4, 6, {"stride": 3, "padding": 2, "output_padding": 1}, 12),
        (4, 3, {"padding": 2, "dilation": 3}, 6),
        (1, 2, {"padding": 1}, 0),
        (4, 2, {"padding": 5}, -5),
    ],
)
def test_the_output_length_is_torchs(length, kernel, options, want):
    assert ops.conv_transpose1d_output_length(length, kernel, **options) == want
    if want > 0:
        x, weight = np.zeros((1, 1, length), np.float32), np.zeros((1, 1, kernel), np.float32)
        assert ops.conv_transpose1d(x, weight, **options).shape == (1, 1, want)


SMALL, ONES, LIKE_CONVS = (np.ones(shape, np.float32) for shape in [(1, 4, 4), (4, 3, 3), (6, 4, 3)])


@pytest.mark.parametrize(
    ("weight", "bias", "options", "text"),
    [
        (LIKE_CONVS, None, {}, r"weight must be of Cin = 4 as x is, before Cout / groups, got float32\[6, 4, 3\]$"),
        (ONES[:, :, 0], None, {}, r"weight must be float32 of shape \(Cin, Cout / groups, K\), all at least 1, got"),
        (ONES, None, {"groups": 3}, r"groups must be a divisor of Cin = 4, got 3$"),
        (ONES, np.ones(3, np.float32), {"groups": 2}, r"bias must be float32 of shape \(6,\), got float32\[3\]$"),
        (ONES, None, {"padding": -1}, r"padding must be an int or a tuple of 1, at least 0, got -1$"),
        (ONES, None, {"output_padding": -1}, r"output_padding must be an int or a tuple of 1, at least 0, got -1$"),
        (ONES, None, {"output_padding": 1}, r"output_padding must be less than stride or dilation, at most \[0\], got"),
        (ONES, None, {"stride": 2, "dilation": 3, "output_padding": 3}, r"output_padding must be .* \[2\], got \[3\]$"),
        (ONES, None, {"padding": 3}, r"padding must be too small to crop all of the output, got a size of \[0\]$"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_named(weight, bias, options, text):
    with pytest.raises(ShapeError, match=f"^conv_transpose1d: {text}"):
        ops.conv_transpose1d.spec_of(spec_of(SMALL), spec_of(weight), spec_of(bias), **options)


def test_either_stride_or_dilation_bounds_the_output_padding():
    for bound in ("stride", "dilation"):
        x, weight = np.ones((1, 4, 4), np.float32), ONES
        longer = ops.conv_transpose1d(x, weight, **{bound: 2}, output_padding=1)
        np.testing.assert_array_equal(longer[:, :, :-1], ops.conv_transpose1d(x, weight, **{bound: 2}))


def test_a_tile_holds_the_positions_of_one_phase(wide_gpu):
    """Stride 3 over 7 elements: a position meets 2 or 3 of them, every third; inputs of any length and batch run it."""
    kinds = {}
    for n, length, blocks in [(1, 9, 1), (2, 9, 1), (1, 700, 11), (5, 30, 3)]:
        specs = Spec((n, 4, length), "float32"), Spec((4, 40, 7), "float32"), None
        _, plan = ops.conv_transpose1d.plan_of(wide_gpu, *specs, stride=3)
        (dispatch,) = plan.dispatches
        assert dispatch.kernel.label == "conv_transpose/kernel"
        assert dispatch.grid == (3 * blocks * 3, 1, 1)
        assert (dispatch.constants["TAPS0"], dispatch.constants["PERIOD0"], dispatch.constants["STEP0"]) == (3, 3, -1)
        kinds[str(dispatch.constants)] = dispatch
    assert len(kinds) == 1


def test_a_stride_that_shares_a_factor_with_the_dilation_has_phases_without_an_element(wide_gpu):
    _, plan = ops.conv_transpose1d.plan_of(
        wide_gpu, Spec((1, 4, 9), "float32"), Spec((4, 40, 5), "float32"), None, stride=6, dilation=4
    )
    constants = plan.dispatches[0].constants
    # Elements k and k + 3 meet the same positions, two samples apart; 2 * INVERSE is 1 modulo 3.
    assert [constants[f"{name}0"] for name in ("PERIOD", "STEP", "INVERSE", "TAPS")] == [3, -2, 2, 2]
