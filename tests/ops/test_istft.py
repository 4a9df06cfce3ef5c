"""istft: its values, errors and plans. The GPU's cases are webxpu/cases/istft.py."""

from dataclasses import replace

import numpy as np
import pytest

from webxpu import ops
from webxpu.errors import ShapeError
from webxpu.gpu.plan import Spec

# Numbers that are the spectrum of no signal.
REAL = (5 * np.arange(25) % 7 - 3).astype(np.float32).reshape(5, 5)
IMAG = (3 * np.arange(25) % 5 - 2).astype(np.float32).reshape(5, 5)
HANN = ops.hann_window(8)
# torch 2.13.0
CENTER = [0, -0.90410353, 0.875, -0.09589647, -0.875, 1.74162458, 0, -1.57495791, -0.875, 0.09170876, 0, 0.07495791]
CENTER += [-0.875, 1.5, 0, -0.16666667]


def inverse(real=REAL, imag=IMAG, window=HANN, **kwargs):
    return ops.istft(real, imag, window, **{"n_fft": 8, "hop_length": 4, **kwargs})


@pytest.mark.parametrize(("n_fft", "hop", "center"), [(8, 4, True), (7, 3, True), (22, 5, False), (37, 11, True)])
def test_it_is_torchs_istft(golden, n_fft, hop, center):
    spectrum = golden(f"istft.{n_fft}.real"), golden(f"istft.{n_fft}.imag")
    out = ops.istft(*spectrum, golden(f"stft.window.{n_fft}"), n_fft=n_fft, hop_length=hop, center=center)
    assert out.dtype == np.float32
    np.testing.assert_allclose(out, golden(f"istft.{n_fft}.out"), rtol=1e-6, atol=1e-7)


def test_a_small_inverse_number_by_number():
    np.testing.assert_allclose(inverse(), CENTER, rtol=1e-6, atol=1e-7)


def test_same_padding_returns_what_center_does_and_more_at_both_ends():
    expected = [0.5, -2.62132034, *CENTER, 0.875, 1.68198052]
    np.testing.assert_allclose(inverse(padding="same"), expected, rtol=1e-6, atol=1e-7)


def test_the_imaginary_parts_of_the_first_and_the_middle_bin_are_dropped():
    changed = IMAG.copy()
    changed[:, [0, 4]] += 100
    np.testing.assert_array_equal(inverse(imag=changed), inverse())


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_what_is_dropped_may_be_anything(value):
    imag = IMAG.copy()
    imag[:, [0, -1]] = value
    np.testing.assert_array_equal(inverse(imag=imag), inverse())


@pytest.mark.parametrize(("length", "n_fft", "hop"), [(17, 8, 4), (40, 7, 3), (61, 16, 5)])
def test_what_stft_takes_apart_is_put_together_again(length, n_fft, hop):
    x = np.sin(np.arange(length)).astype(np.float32)
    sizes = {"n_fft": n_fft, "hop_length": hop}
    window = ops.hann_window(n_fft)
    back = ops.istft(*ops.stft(x, window, **sizes), window, **sizes, length=length)
    np.testing.assert_allclose(back, x, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("n_fft", "hop", "frames", "padding", "length", "longest"),
    [
        (8, 4, 17, "center", 64, 68),
        (7, 3, 11, "center", 31, 34),
        (8, 4, 17, "none", 72, 72),
        (8, 4, 5, "center", 16, 20),
        (8, 4, 5, "same", 20, 20),
        (8, 4, 5, "none", 24, 24),
        (1920, 480, 50, "same", 24_000, 24_000),
        (1920, 480, 41, "same", 19_680, 19_680),
        (1920, 480, 160, "same", 76_800, 76_800),
        (8, 3, 5, "same", 16, 16),
    ],
)
def test_lengths(n_fft, hop, frames, padding, length, longest):
    sizes = {"n_fft": n_fft, "hop_length": hop, "padding": padding}
    assert ops.istft_length(frames, **sizes) == length
    assert ops.istft_max_length(frames, **sizes) == longest
    spectrum = np.ones((2, frames, n_fft // 2 + 1), np.float32)
    window = np.ones(n_fft, np.float32)
    assert ops.istft(*spectrum, window, **sizes).shape == (length,)
    assert ops.istft(*spectrum, window, **sizes, length=longest).shape == (longest,)
    with pytest.raises(ShapeError, match=f"^istft: length must be at most {longest}, as far as {frames} frames reach"):
        ops.istft(*spectrum, window, **sizes, length=longest + 1)


def test_a_negative_length_is_named():
    with pytest.raises(ShapeError, match=r"^istft: length must be .* and not negative, got -1$"):
        inverse(length=-1)


def test_center_is_another_name_of_two_paddings():
    np.testing.assert_array_equal(inverse(center=True), inverse(padding="center"))
    whole = np.ones(8, np.float32)
    np.testing.assert_array_equal(inverse(window=whole, center=False), inverse(window=whole, padding="none"))


def test_a_window_that_leaves_a_sample_uncovered_is_named():
    thin = np.where(HANN == 0, np.float32(1e-7), HANN)
    with pytest.raises(ShapeError, match=r"got a sum of squares of 1e-14 at sample 0 of 24$"):
        inverse(window=thin, padding="none")
    with pytest.raises(ShapeError, match=r"^istft: window must be nonzero over every returned sample \(NOLA\), got a"):
        inverse(padding="none")  # the periodic window is 0 at sample 0, which nothing else covers
    gappy = np.array([1, 1, 0, 0, 0, 0, 0, 0], np.float32)
    with pytest.raises(ShapeError, match=r"squares of 0 at sample 2 of 16$"):
        inverse(window=gappy)


def test_a_sample_that_is_not_returned_need_not_be_covered():
    assert inverse(padding="same")[0] == 0.5
    assert inverse(length=0).shape == (0,)


@pytest.mark.parametrize(
    ("kwargs", "text"),
    [
        ({"padding": "same", "center": True}, "istft: padding must be None where center is given, got 'same'"),
        ({"padding": "reflect"}, "istft: padding must be one of center, none, same, got 'reflect'"),
        ({"padding": ""}, "istft: padding must be one of center, none, same, got ''"),
        ({"real": REAL[:4]}, r"istft: imag must be float32\[4, 5\] as real is, got float32\[5, 5\]"),
        ({"imag": REAL.astype(np.int32)}, r"istft: imag must be float32\[5, 5\] as real is, got int32"),
        ({"real": REAL[:, :4]}, r"istft: real must be float32 of shape \(frames, 5\), frames >= 1, got"),
        ({"real": REAL[:0], "imag": IMAG[:0]}, r"istft: real must be float32 of shape \(frames, 5\), frames >= 1, got"),
        ({"real": REAL.reshape(-1)}, r"istft: real must be float32 of shape \(frames, 5\), frames >= 1, got"),
        ({"window": HANN[:4]}, r"istft: window must be float32 of shape \(8,\), got"),
        ({"hop_length": 9, "padding": "same"}, "istft: hop_length must be at most n_fft 8 with padding 'same', got 9"),
        ({"hop_length": 0}, "istft: hop_length must be at least 1, got 0"),
        ({"method": "slow"}, "istft: method must be one of fft, direct, got 'slow'"),
    ],
)
def test_what_does_not_fit_is_named(kwargs, text):
    with pytest.raises(ShapeError, match=f"^{text}"):
        inverse(**kwargs)


def plan(gpu, n_fft, hop, frames, **kwargs):
    part = Spec((frames, n_fft // 2 + 1), "float32")
    return ops.istft.plan_of(gpu, part, part, Spec((n_fft,), "float32"), n_fft=n_fft, hop_length=hop, **kwargs)


def test_frames_are_transformed_and_then_gathered(plain_gpu):
    (out,), found = plan(plain_gpu, 1920, 480, 50, padding="same")
    turns, frames, gather = found.dispatches
    assert [d.kernel.label for d in found.dispatches] == ["stft/turns", "istft/kernel", "istft/add"]
    assert frames.constants == {"N": 1920, "POINTS": 960, "SIZE": 960, "THREADS": 256}
    assert (turns.grid, frames.grid) == ((2, 1, 1), (50, 1, 1))
    assert gather.constants == {"N": 1920, "HOP": 480, "SHIFT": 720}
    assert (out.shape, gather.grid) == ((24_000,), (24, 1, 1))


@pytest.mark.parametrize("method", ["fft", "direct"])
def test_parts_cover_every_sample_once_and_hold_the_frames_that_reach_it(plain_gpu, method):
    n_fft, hop, frames, limit = 40, 7, 1000, 40 * 4 * 300
    small = replace(plain_gpu, limits={**plain_gpu.limits, "maxStorageBufferBindingSize": limit})
    (out,), found = plan(small, n_fft, hop, frames, method=method)
    transforms = [d for d in found.dispatches if d.kernel.op == "istft" and d.kernel.variant.entry != "add"]
    gathers = [d for d in found.dispatches if d.kernel.variant.entry == "add"]
    assert len(transforms) == len(gathers) > 2
    assert len({d.constants["SHIFT"] for d in gathers}) == 2
    end = 0
    for transform, gather in zip(transforms, gathers, strict=True):
        samples, rows = gather.bindings[2], transform.bindings[0]
        assert samples.offset == 4 * end
        begin, end = end, end + samples.nbytes // 4
        first, count = rows.offset // (21 * 4), rows.nbytes // (21 * 4)
        assert gather.constants["SHIFT"] == begin + 20 - first * hop
        assert first * hop <= max(0, begin + 20 - n_fft + hop)
        assert first + count == frames or (first + count) * hop > end - 1 + 20
        for binding in (*transform.bindings, *gather.bindings):
            assert binding.offset % 256 == 0
            assert binding.nbytes <= limit
    assert end == out.size
