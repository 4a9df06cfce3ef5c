"""conv1d, conv2d, conv3d: values from torch 2.13, errors and plans, and a decoder made of them."""

import numpy as np
import pytest

from tests.ops import conv_decoder
from webxpu import ops
from webxpu.errors import ShapeError
from webxpu.gpu.op import spec as spec_of
from webxpu.gpu.plan import Spec


def whole(n, modulus, shift, *shape):
    """i mod `modulus` minus `shift`, in float32."""
    return (np.arange(n) % modulus - shift).astype(np.float32).reshape(shape)


def floats(*values, shape):
    return np.array(values, np.float32).reshape(shape)


X, W, B = whole(56, 99, 10, 2, 4, 7), whole(36, 5, 2, 6, 2, 3), (np.arange(6) * 3 - 4).astype(np.float32)


def test_the_kernel_is_not_flipped():
    out = ops.conv1d(floats(1, 2, 3, 4, shape=(1, 1, 4)), floats(1, 10, 100, shape=(1, 1, 3)))
    assert out.dtype == np.float32
    assert out.tolist() == [[[321, 432]]]


def test_zeros_are_padded_at_both_ends():
    x = floats(1, 2, 3, 4, shape=(1, 1, 4))
    out = ops.conv1d(x, floats(1, 0, 0, shape=(1, 1, 3)), padding=2)
    assert out.tolist() == [[[0, 0, 1, 2, 3, 4]]]
    out = ops.conv1d(x, floats(0, 0, 1, shape=(1, 1, 3)), padding=2)
    assert out.tolist() == [[[1, 2, 3, 4, 0, 0]]]


def test_a_bias_is_added_once():
    x, weight = floats(1, 2, 3, 4, shape=(1, 1, 4)), floats(1, 10, 100, shape=(1, 1, 3))
    assert ops.conv1d(x, weight, np.array([1000], np.float32)).tolist() == [[[1321, 1432]]]


def test_all_knobs_are_torchs():
    out = ops.conv1d(X, W, B, stride=2, padding=2, dilation=2, groups=2)
    assert out.shape == (2, 6, 4)
    assert out.reshape(-1).tolist() == [
        2, 17, 13, 19, -2, -2, -4, 1, -21, -11, -11, -7, 14, 9, 11, 18, 31, 39, 43, 21, 3, 4, 0, 34,
        -26, -39, -43, 19, -58, -30, -32, -27, 35, -11, -11, -63, 42, 37, 39, 74, 31, 95, 99, 49, -25, -52, -56, 34,
    ]  # fmt: skip


def test_values_that_are_no_integers_are_torchs(golden):
    out = ops.conv1d(
        golden("conv1d.x"), golden("conv1d.weight"), golden("conv1d.bias"),
        stride=2, padding=2, dilation=2, groups=2,
    )  # fmt: skip
    np.testing.assert_allclose(out, golden("conv1d.out"), rtol=1e-6)


def test_a_group_for_each_channel_is_depthwise():
    out = ops.conv1d(whole(18, 7, 3, 1, 3, 6), whole(12, 4, 1, 3, 1, 4), padding=1, groups=3)
    assert out.reshape(-1).tolist() == [-4, 2, 4, 6, 2, -7, -7, 2, 4, 2, -3, -9, -7, 2, 2]


@pytest.mark.parametrize(
    ("length", "kernel", "options", "want"),
    [
        (10, 3, {}, 8),
        (10, 3, {"padding": 1}, 10),
        (10, 3, {"stride": 2, "padding": 1}, 5),
        (11, 3, {"stride": 2, "padding": 1}, 6),
        (20, 4, {"padding": 6, "dilation": 4}, 20),
        (4, 5, {}, 0),
        (4, 9, {"stride": 3}, -1),
    ],
)
def test_the_output_length_is_torchs(length, kernel, options, want):
    assert ops.conv1d_output_length(length, kernel, **options) == want
    if want > 0:
        x, weight = np.zeros((1, 1, length), np.float32), np.zeros((1, 1, kernel), np.float32)
        assert ops.conv1d(x, weight, **options).shape == (1, 1, want)


def test_two_axes_are_torchs_and_tuples_are_in_the_order_of_the_axes():
    out = ops.conv2d(
        whole(120, 7, 3, 1, 4, 5, 6), whole(72, 5, 2, 6, 2, 3, 2), B,
        stride=(2, 1), padding=(1, 2), dilation=(1, 2), groups=2,
    )  # fmt: skip
    assert out.shape == (1, 6, 3, 8)
    flat = out.reshape(-1)
    assert flat[:8].tolist() == [-13, 1, 10, -3, -2, -15, -5, -11]
    assert (flat.sum(), np.arange(flat.size) @ flat) == (486, 64837)


def test_three_axes_are_torchs():
    out = ops.conv3d(
        whole(120, 7, 3, 1, 2, 4, 3, 5), whole(72, 5, 2, 3, 2, 3, 2, 2), np.array([1, -2, 3], np.float32),
        stride=(1, 2, 1), padding=(2, 1, 0), dilation=(1, 1, 2),
    )  # fmt: skip
    assert out.shape == (1, 3, 6, 2, 3)
    flat = out.reshape(-1)
    assert flat[:6].tolist() == [11, 2, 0, -5, -7, -9]
    assert (flat.sum(), np.arange(flat.size) @ flat) == (-32, 3905)


def test_the_three_axes_are_depth_height_and_width():
    x = np.zeros((1, 1, 2, 3, 4), np.float32)
    x[0, 0, 1, 2, 3] = 1
    weight = np.zeros((1, 1, 2, 2, 2), np.float32)
    weight[0, 0, 1, 0, 0] = 5
    out = ops.conv3d(x, weight, padding=(0, 1, 1))
    assert out.shape == (1, 1, 1, 4, 5)
    assert np.argwhere(out).tolist() == [[0, 0, 0, 3, 4]]
    assert out.max() == 5


def test_fewer_axes_are_more_of_size_one():
    flat = ops.conv1d(X, W, B, stride=2, padding=2, dilation=2, groups=2)
    plane = ops.conv2d(
        X[:, :, None], W[:, :, None], B, stride=(1, 2), padding=(0, 2), dilation=(1, 2), groups=2
    )  # fmt: skip
    depth = ops.conv3d(
        X[..., None, None], W[..., None, None], B, stride=(2, 1, 1), padding=(2, 0, 0), dilation=(2, 1, 1), groups=2
    )
    np.testing.assert_array_equal(plane[:, :, 0], flat)
    np.testing.assert_array_equal(depth[..., 0, 0], flat)


SMALL, ONES = np.ones((1, 4, 4), np.float32), np.ones((6, 4, 3), np.float32)


@pytest.mark.parametrize(
    ("x", "weight", "bias", "options", "text"),
    [
        (SMALL[0], ONES, None, {}, r"x must be float32 of shape \(N, Cin, L\), all but N at least 1, got float32"),
        (SMALL[:, :, :0], ONES, None, {}, r"x must be float32 of shape \(N, Cin, L\), all but N at least 1, got"),
        (SMALL.astype(np.int32), ONES, None, {}, r"x must be float32 of shape"),
        (SMALL, ONES[:, :, 0], None, {}, r"weight must be float32 of shape \(Cout, Cin / groups, K\), all at"),
        (SMALL, ONES[:, :, :0], None, {}, r"weight must be float32 of shape \(Cout, Cin / groups, K\)"),
        (SMALL, ONES[:, :3], None, {}, r"weight must be of 4 / 1 = 4 input channels, got float32\[6, 3, 3\]$"),
        (SMALL, ONES, None, {"groups": 2}, r"weight must be of 4 / 2 = 2 input channels, got float32\[6, 4, 3\]$"),
        (SMALL, ONES, None, {"groups": 3}, r"groups must be a divisor of Cin = 4 and of Cout = 6, got 3$"),
        (SMALL, ONES, None, {"groups": 4}, r"groups must be a divisor of Cin = 4 and of Cout = 6, got 4$"),
        (SMALL, ONES, None, {"groups": 0}, r"groups must be a divisor of"),
        (SMALL, ONES, np.ones(4, np.float32), {}, r"bias must be float32 of shape \(6,\), got float32\[4\]$"),
        (SMALL, ONES, np.ones(6, np.int32), {}, r"bias must be float32 of shape \(6,\), got int32\[6\]$"),
        (SMALL, ONES, None, {"stride": 0}, r"stride must be an int or a tuple of 1, at least 1, got 0$"),
        (SMALL, ONES, None, {"dilation": 0}, r"dilation must be an int or a tuple of 1, at least 1, got 0$"),
        (SMALL, ONES, None, {"padding": -1}, r"padding must be an int or a tuple of 1, at least 0, got -1$"),
        (SMALL, ONES, None, {"padding": (1, 1)}, r"padding must be an int or a tuple of 1, at least 0, got \(1, 1\)$"),
        (SMALL, ONES, None, {"padding": 0.5}, r"padding must be an int or a tuple of 1, at least 0, got 0\.5$"),
        (SMALL, ONES, None, {"padding": "same"}, r"padding must be an int or a tuple of 1, at least 0, got 'same'$"),
        (SMALL, ONES, None, {"dilation": 2}, r"weight must be no wider than the padded input \[4\], got .* \[5\]$"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_named(x, weight, bias, options, text):
    with pytest.raises(ShapeError, match=f"^conv1d: {text}"):
        ops.conv1d.spec_of(spec_of(x), spec_of(weight), spec_of(bias), **options)


def test_a_kernel_wider_than_the_padded_input_is_named_along_any_axis():
    x, weight = np.ones((1, 1, 3, 9), np.float32), np.ones((1, 1, 4, 2), np.float32)
    with pytest.raises(ShapeError, match=r"^conv2d: weight must be no wider than the padded input \[3, 9\], got"):
        ops.conv2d(x, weight)
    assert ops.conv2d(x, weight, padding=(1, 0)).shape == (1, 1, 2, 8)


def spec(*shape):
    return Spec(shape, "float32")


def test_inputs_of_any_length_and_batch_run_the_same_pipeline(wide_gpu):
    """And tiles run on from sample to sample: two of 9 positions are in one."""
    kinds = {}
    for n, length, tiles in [(1, 9, 1), (2, 9, 1), (1, 700, 11), (5, 64, 5), (70_000, 5, 5469)]:
        _, plan = ops.conv1d.plan_of(wide_gpu, spec(n, 4, length), spec(40, 4, 3), spec(40), padding=1)
        (dispatch,) = plan.dispatches
        assert dispatch.kernel.label == "conv/kernel"
        rows = dispatch.constants["ROWS"]
        assert dispatch.grid == (tiles * -(-40 // rows), 1, 1)
        assert plan.scratch == [Spec((n,), "uint32")]
        kinds[str(dispatch.constants)] = dispatch
    assert len(kinds) == 2, "with many tiles they are taller"


def test_few_channels_and_cpu_adapters_take_no_tile(wide_gpu, cpu_gpu):
    for gpu, channels, groups, label in [
        (wide_gpu, 9, 1, "conv/kernel"), (wide_gpu, 8, 1, "conv/direct"), (wide_gpu, 16, 2, "conv/direct"),
        (cpu_gpu, 64, 1, "conv/direct"),
    ]:  # fmt: skip
        _, plan = ops.conv1d.plan_of(gpu, spec(3, 4, 100), spec(channels, 4 // groups, 3), None, groups=groups)
        (dispatch,) = plan.dispatches
        assert dispatch.kernel.label == label
        if label == "conv/direct":
            assert dispatch.grid == (-(-3 * 98 * channels // 4 // 64), 1, 1)


def test_samples_too_large_to_bind_together_run_in_parts(wide_gpu):
    _, plan = ops.conv1d.plan_of(wide_gpu, spec(5, 64, 200_000), spec(64, 64, 1), None)
    assert [d.grid for d in plan.dispatches] == [(6250, 1, 1), (6250, 1, 1), (3125, 1, 1)]
    assert [[(b.source, b.index, b.offset, b.nbytes) for b in d.bindings] for d in plan.dispatches[1:]] == [
        [
            ("in", 0, first * 51_200_000, count * 51_200_000),
            ("in", 1, 0, 0),
            ("in", 1, 0, 0),
            ("out", 0, first * 51_200_000, count * 51_200_000),
            ("scratch", 0, 0, count * 4),
        ]
        for first, count in [(2, 2), (4, 1)]
    ]


def test_a_grid_of_many_tiles_is_folded(wide_gpu):
    _, plan = ops.conv1d.plan_of(wide_gpu, spec(1, 1, 20_000_000), spec(1, 1, 3), None, padding=1)
    assert plan.dispatches[0].grid == (62_500, 5, 1)


def test_a_small_decoder_agrees_with_torch(golden):
    out = conv_decoder.decode(conv_decoder.latents(), conv_decoder.weights())
    assert out.shape == (1, 1, conv_decoder.FRAMES * 12)
    assert out.std() > 0.3
    np.testing.assert_allclose(out, golden("conv_decoder.out"), atol=1e-5)
