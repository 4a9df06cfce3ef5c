"""stft, its windows and its transforms: values, errors and plans. The GPU's cases are webxpu/cases/stft.py."""

from dataclasses import replace

import numpy as np
import pytest

from webxpu import ops
from webxpu.errors import ShapeError
from webxpu.gpu.plan import Spec
from webxpu.ops.stft import fft_size

X = (7 * np.arange(16) % 11 - 5).astype(np.float32)
HANN = ops.hann_window(8)


@pytest.mark.parametrize(
    ("n_fft", "hop", "center"), [(8, 4, True), (7, 3, True), (22, 5, False), (37, 11, True), (1, 2, True)]
)
def test_it_is_torchs_stft_with_the_frames_first(golden, n_fft, hop, center):
    window = golden(f"stft.window.{n_fft}")
    real, imag = ops.stft(golden("stft.x"), window, n_fft=n_fft, hop_length=hop, center=center)
    assert (real.dtype, imag.dtype) == (np.float32, np.float32)
    np.testing.assert_allclose(real, golden(f"stft.{n_fft}.real"), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(imag, golden(f"stft.{n_fft}.imag"), rtol=1e-6, atol=1e-6)


def test_a_small_transform_number_by_number():
    # torch 2.13.0
    real, imag = ops.stft(X, HANN, n_fft=8, hop_length=4)
    np.testing.assert_allclose(real[0], [-2.12132034, 3.62132034, -3, 6.37867966, -11.87867966], rtol=1e-6)
    np.testing.assert_allclose(imag[0], 0, atol=1e-6)
    np.testing.assert_allclose(real[4], [6.62132034, -5.12132034, 1.5, -4.87867966, 10.37867966], rtol=1e-6)
    np.testing.assert_allclose(imag[4], [0, -3.62132034, 2.12132034, -0.62132034, 0], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    ("length", "n_fft", "hop", "center", "frames"),
    [(16, 8, 4, True, 5), (17, 8, 4, True, 5), (20, 8, 4, True, 6), (64, 8, 4, False, 15), (42, 7, 3, True, 14)],
)
def test_frames_are_counted_as_torch_does(length, n_fft, hop, center, frames):
    assert ops.stft_frames(length, n_fft=n_fft, hop_length=hop, center=center) == frames
    real, imag = ops.stft(
        np.ones(length, np.float32), ops.hann_window(n_fft), n_fft=n_fft, hop_length=hop, center=center
    )
    assert real.shape == imag.shape == (frames, ops.stft_bins(n_fft))


def test_padding_reflects_without_repeating_the_edge():
    real, _ = ops.stft(np.array([1, 2, 3], np.float32), np.ones(2, np.float32), n_fft=2, hop_length=1)
    assert real[:, 0].tolist() == [2 + 1, 1 + 2, 2 + 3, 3 + 2]


@pytest.mark.parametrize("name", ["hann", "hamming", "blackman"])
@pytest.mark.parametrize("kind", ["periodic", "symmetric"])
def test_windows_are_torchs_and_a_single_sample_is_one(golden, name, kind):
    make = getattr(ops, f"{name}_window")
    window = make(8, periodic=kind == "periodic")
    assert window.dtype == np.float32
    np.testing.assert_allclose(window, golden(f"{name}_window.{kind}"), rtol=1e-6, atol=1e-8)
    assert make(1, periodic=kind == "periodic").tolist() == [1]


def test_a_hann_window_is_periodic_unless_asked():
    # torch 2.13.0
    assert ops.hann_window(8)[1] == np.float32(0.14644661)
    assert ops.hann_window(8, periodic=False)[1] == np.float32(0.18825510)


def test_a_window_goes_to_a_device_when_one_is_given():
    class Device:
        def tensor(self, value):
            return "tensor", value

    name, window = ops.hamming_window(4, device=Device())
    assert name == "tensor"
    np.testing.assert_array_equal(window, ops.hamming_window(4))


def test_a_window_and_frames_of_nothing_are_named():
    with pytest.raises(ShapeError, match=r"^blackman_window: n must be a whole number, at least 1, got 0$"):
        ops.blackman_window(0)
    with pytest.raises(ShapeError, match=r"^hann_window: n must be a whole number, at least 1, got 8\.5$"):
        ops.hann_window(8.5)
    with pytest.raises(ShapeError, match=r"^stft_frames: hop_length must be at least 1, got 0$"):
        ops.stft_frames(100, n_fft=8, hop_length=0)


@pytest.mark.parametrize(
    ("args", "kwargs", "text"),
    [
        ((X, HANN), {"n_fft": 0}, "stft: n_fft must be at least 1, got 0"),
        ((X, HANN), {"hop_length": 0}, "stft: hop_length must be at least 1, got 0"),
        ((X, HANN[:7]), {}, r"stft: window must be float32 of shape \(8,\), got float32\[7\]"),
        ((X, np.ones(8, np.int32)), {}, r"stft: window must be float32 of shape \(8,\), got int32\[8\]"),
        ((X[None], HANN), {}, r"stft: x must be float32 of shape \(L,\), got float32\[1, 16\]"),
        ((X.astype(np.int32), HANN), {}, r"stft: x must be float32 of shape \(L,\), got int32\[16\]"),
        ((X[:4], HANN), {}, r"stft: x must be longer than the reflect padding of 4 samples, got float32\[4\]"),
        ((X[:7], HANN), {"center": False}, "stft: x must be at least n_fft 8 samples where it is not centred, got"),
        ((X, HANN), {"method": "dft"}, "stft: method must be one of fft, direct, got 'dft'"),
    ],
)
def test_what_does_not_fit_is_named(args, kwargs, text):
    with pytest.raises(ShapeError, match=f"^{text}"):
        ops.stft(*args, **{"n_fft": 8, "hop_length": 4, **kwargs})


def test_one_sample_more_than_the_padding_is_enough():
    assert ops.stft(X[:5], HANN, n_fft=8, hop_length=4)[0].shape == (2, 5)


@pytest.mark.parametrize(
    ("points", "size"),
    [
        (1, 1),
        (200, 200),
        (960, 960),
        (2048, 2048),
        (2 * 31, 62),
        (37, 128),
        (64 * 37, 8192),
        (65537, 262144),
        (41, 128),
    ],
)
def test_a_length_with_a_large_prime_factor_is_a_convolution_by_a_power_of_two(points, size):
    assert fft_size(points) == size
    assert size == points or size >= 2 * points - 1


def plan(gpu, n_fft, length, **kwargs):
    specs = Spec((length,), "float32"), Spec((n_fft,), "float32")
    return ops.stft.plan_of(gpu, *specs, **{"n_fft": n_fft, "hop_length": 160, **kwargs})[1]


def labels(found):
    return [d.kernel.label for d in found.dispatches]


def test_a_frame_is_transformed_in_a_workgroups_memory_where_it_fits(plain_gpu):
    turns, frames = plan(plain_gpu, 400, 480_000).dispatches
    assert turns.kernel.label == "stft/turns"
    assert frames.kernel.label == "stft/kernel"
    sizes = {"N": 400, "POINTS": 200, "SIZE": 200}
    assert frames.constants == {**sizes, "THREADS": 64, "HOP": 160, "PAD": 200, "FIRST": 0}
    assert frames.grid == (3001, 1, 1)
    assert plan(plain_gpu, 400, 16_000_000).dispatches[1].grid == (50_001, 2, 1)
    assert labels(plan(plain_gpu, 2048, 9000)) == ["stft/turns", "stft/kernel"]


def test_a_larger_frame_or_one_of_a_cpu_adapter_is_transformed_in_a_buffer(plain_gpu, cpu_gpu):
    large = plan(plain_gpu, 2050 * 2, 90_000)
    assert labels(large) == ["stft/turns", "stft/spectrum", "stft/large"]
    assert large.scratch[1] == Spec((512, 2 * 8192, 2), "float32")
    assert large.dispatches[2].grid == (512, 1, 1)
    few = plan(plain_gpu, 4096, 9000)
    assert few.scratch[1] == Spec((57, 4096, 2), "float32")
    on_cpu = plan(cpu_gpu, 400, 9000)
    assert labels(on_cpu) == ["stft/turns", "stft/large.cpu"]
    assert on_cpu.scratch[1].shape[0] == 60
    assert on_cpu.dispatches[1].grid == (15, 1, 1)
    roomy = replace(plain_gpu, limits={**plain_gpu.limits, "maxComputeWorkgroupStorageSize": 32_768})
    assert labels(plan(roomy, 4096, 9000)) == ["stft/turns", "stft/kernel"]


def test_the_direct_sum_is_there_to_check_by(plain_gpu):
    turns, frames = plan(plain_gpu, 400, 480_000, method="direct").dispatches
    assert turns.constants == {"N": 400, "POINTS": 200, "SIZE": 200}
    assert frames.kernel.label == "stft/direct"
    assert frames.constants == {"N": 400, "HOP": 160, "PAD": 200, "FIRST": 0}
    assert frames.grid == (-(-3001 * 201 // 1024), 1, 1)


def test_frames_past_a_bindings_size_are_transformed_in_parts(plain_gpu):
    small = replace(plain_gpu, limits={**plain_gpu.limits, "maxStorageBufferBindingSize": 100 * 201 * 4})
    found = plan(small, 400, 16_000).dispatches[1:]
    assert [d.constants["FIRST"] for d in found] == [0, 64]
    assert [d.grid[0] for d in found] == [64, 37]
    assert [(b.offset, b.nbytes) for b in found[1].bindings[3:]] == [(64 * 201 * 4, 37 * 201 * 4)] * 2
