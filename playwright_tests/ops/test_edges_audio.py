"""What single cases cannot say of frames: work in parts, samples that no window covers, there and back, a chain."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from playwright_tests.ops.every_plan import by_every_plan
from webxpu import ops
from webxpu.gpu import plan as plans
from webxpu.gpu.op import Op
from webxpu.gpu.op import spec as spec_of
from webxpu.host.gpu_page import GpuPage

# float32 of so many values is the most that these devices bind.
LIMIT_VALUES = 20 * 300


def in_parts(page: GpuPage, op: Op, args: tuple[Any, ...], **kwargs: Any) -> tuple[list[np.ndarray], int]:
    """What a device computes that binds but little, and by how many dispatches."""
    limits = {**page.gpu.limits, "maxStorageBufferBindingSize": 4 * LIMIT_VALUES}
    _, plan = op.plan_of(replace(page.gpu, limits=limits), *map(spec_of, args), **kwargs)
    return page.run(op, args, kwargs, [plan])[0].outputs, len(plan.dispatches)


@pytest.mark.parametrize("method", ["fft", "direct"])
def test_an_stft_in_parts_is_the_same(gpu_page: GpuPage, method: str) -> None:
    x, window = np.sin(0.3 * np.arange(5000)).astype(np.float32), ops.hann_window(20)
    sizes = {"n_fft": 20, "hop_length": 5}
    got, dispatches = in_parts(gpu_page, ops.stft, (x, window), **sizes, method=method)
    assert dispatches == 1 + 2
    for part, want in zip(got, ops.stft(x, window, **sizes), strict=True):
        np.testing.assert_allclose(part, want, atol=1e-5)


@pytest.mark.parametrize("method", ["fft", "direct"])
@pytest.mark.parametrize("padding", ["center", "same", "none"])
def test_an_istft_in_parts_is_the_same(gpu_page: GpuPage, padding: str, method: str) -> None:
    real, imag = np.random.default_rng(3).standard_normal((2, 700, 11), np.float32)
    sizes = {"n_fft": 20, "hop_length": 7, "padding": padding}
    args = (real, imag, ops.hann_window(20) + np.float32(0.1))
    (got,), dispatches = in_parts(gpu_page, ops.istft, args, **sizes, method=method)
    assert dispatches > 1 + 2 * 3
    np.testing.assert_allclose(got, ops.istft(*args, **sizes), atol=1e-6)


def test_energies_and_classes_in_parts_are_the_same(gpu_page: GpuPage) -> None:
    real, imag = np.random.default_rng(4).standard_normal((2, 700, 17), np.float32)
    bank = ops.mel_filterbank(4, 32, 16_000)
    (got,), dispatches = in_parts(gpu_page, ops.mel_spectrogram, (real, imag, bank))
    assert dispatches > 2
    np.testing.assert_allclose(got, ops.mel_spectrogram(real, imag, bank), rtol=1e-5)
    scores = real.reshape(4, 175, 17)
    classes, dispatches = in_parts(gpu_page, ops.ctc_decode, (scores,))
    assert dispatches > 2
    for part, want in zip(classes, ops.ctc_decode(scores), strict=True):
        np.testing.assert_array_equal(part, want)


def test_a_sample_that_no_window_covers_is_nan_and_its_neighbours_are_not(gpu_page: GpuPage) -> None:
    spectrum = np.ones((2, 5, 5), np.float32)
    hann = ops.hann_window(8)
    hann[0] = 1e-7  # its square is too little to divide by
    covered = ops.istft(*spectrum, hann, n_fft=8, hop_length=4, padding="same")
    by_hann = by_every_plan(gpu_page, ops.istft, (*spectrum, hann), n_fft=8, hop_length=4, padding="none")
    for name, out in by_hann.items():
        assert np.isnan(out).nonzero()[0].tolist() == [0], name
        np.testing.assert_allclose(out[2:22], covered, atol=1e-6, err_msg=name)
    gappy = np.array([1, 1, 0, 0], np.float32)
    by_gaps = by_every_plan(gpu_page, ops.istft, (*spectrum[:, :, :3], gappy), n_fft=4, hop_length=6, padding="none")
    for name, out in by_gaps.items():
        assert (~np.isnan(out)).nonzero()[0].tolist() == [0, 1, 6, 7, 12, 13, 18, 19, 24, 25], name


@pytest.mark.parametrize(("n_fft", "hop", "length"), [(8, 4, 64), (7, 3, 17), (74, 20, 200), (1920, 960, 4800)])
def test_what_stft_takes_apart_istft_puts_together(gpu_page: GpuPage, n_fft: int, hop: int, length: int) -> None:
    x = np.random.default_rng(n_fft).uniform(-1, 1, length).astype(np.float32)
    window, sizes = ops.hann_window(n_fft), {"n_fft": n_fft, "hop_length": hop}
    _, forth = ops.stft.plan_of(gpu_page.gpu, spec_of(x), spec_of(window), **sizes)
    spectrum = gpu_page.run(ops.stft, (x, window), sizes, [forth])[0].outputs
    args, back_sizes = (*spectrum, window), {**sizes, "length": length}
    _, back = ops.istft.plan_of(gpu_page.gpu, *map(spec_of, args), **back_sizes)
    np.testing.assert_allclose(gpu_page.run(ops.istft, args, back_sizes, [back])[0].outputs[0], x, atol=2e-6)


def test_decibels_of_a_chain_are_those_of_numpy(gpu_page: GpuPage) -> None:
    t = np.arange(1024)
    noise = np.random.default_rng(5).uniform(-1e-3, 1e-3, 1024)  # below it float32 has no digits for the quiet bands
    x = (np.sin(0.11 * t) + 0.3 * np.sin(0.9 * t) + noise).astype(np.float32)
    window, sizes = ops.hann_window(512), {"n_fft": 512, "hop_length": 128}
    _, forth = ops.stft.plan_of(gpu_page.gpu, spec_of(x), spec_of(window), **sizes)
    spectrum = gpu_page.run(ops.stft, (x, window), sizes, [forth])[0].outputs
    _, plan = ops.mel_filterbank.plan_of(gpu_page.gpu, n_mels=20, n_fft=512, sample_rate=24_000)
    named = {"n_mels": 20, "n_fft": 512, "sample_rate": 24_000}
    bank = gpu_page.run(ops.mel_filterbank, (), named, [plan])[0].outputs[0]
    args = (*spectrum, bank)
    _, last = ops.mel_spectrogram.plan_of(gpu_page.gpu, *map(spec_of, args), db=True)
    got = gpu_page.run(ops.mel_spectrogram, args, {"db": True}, [last])[0].outputs[0]
    want = ops.mel_spectrogram(*ops.stft(x, window, **sizes), ops.mel_filterbank(**named), db=True)
    np.testing.assert_allclose(got, want, atol=2.5e-3)  # worst 6.8e-4, at -34 dB where the tone is at 41


def test_a_chirps_squares_pass_32_bits(gpu_page: GpuPage) -> None:
    n_fft = 2 * 65_537
    x = np.random.default_rng(6).uniform(-1, 1, n_fft).astype(np.float32)
    args, kwargs = (x, np.ones(n_fft, np.float32)), {"n_fft": n_fft, "hop_length": 1, "center": False}
    _, plan = ops.stft.plan_of(gpu_page.gpu, *map(spec_of, args), **kwargs)
    for got, want in zip(
        gpu_page.run(ops.stft, args, kwargs, [plan])[0].outputs, ops.stft(*args, **kwargs), strict=True
    ):
        assert np.abs(got - want).max() < 1e-5 * np.abs(want).max()


def test_a_device_without_subgroups_decodes_more_frames_than_a_grid_is_wide(
    gpu_page: GpuPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plans, "MAX_GROUPS", 3)
    scores = np.random.default_rng(8).standard_normal((2, 5, 300), np.float32)
    plain = replace(gpu_page.gpu, features=frozenset(), target=None)
    _, plan = ops.ctc_decode.plan_of(plain, spec_of(scores))
    assert plan.dispatches[0].kernel.label == "ctc_decode/path"
    got = gpu_page.run(ops.ctc_decode, (scores,), {}, [plan])[0].outputs
    for part, want in zip(got, ops.ctc_decode(scores), strict=True):
        np.testing.assert_array_equal(part, want)


def test_frames_with_nans_still_decode_to_classes(gpu_page: GpuPage) -> None:
    scores = np.full((1, 4, 300), np.nan, np.float32)
    scores[0, 1] = 0
    scores[0, 1, 7] = 1
    for name, out in by_every_plan(gpu_page, ops.ctc_decode, (scores,)).items():
        assert ((out >= -1) & (out < 300)).all(), name
        assert 7 in out, name


def test_a_nan_stays_in_its_frame(gpu_page: GpuPage) -> None:
    x = np.ones(40, np.float32)
    x[20] = np.nan
    for n_fft in (8, 37, 7):
        kwargs = {"n_fft": n_fft, "hop_length": 4, "center": n_fft != 37}
        want = np.isnan(ops.stft(x, ops.hann_window(n_fft), **kwargs)[0]).any(axis=1)
        for name, out in by_every_plan(gpu_page, ops.stft, (x, ops.hann_window(n_fft)), **kwargs).items():
            np.testing.assert_array_equal(np.isnan(out).any(axis=1), want, err_msg=f"{n_fft} by {name}")
