"""mel scales, mel_filterbank and mel_spectrogram: values, errors and plans. The GPU's cases are webxpu/cases/mel.py."""

from dataclasses import replace

import numpy as np
import pytest

from webxpu import ops
from webxpu.errors import ShapeError
from webxpu.gpu.plan import Spec

HZ = [0, 100, 700, 1000, 4000, 8000]
# librosa 0.11.0
MEL = {
    "htk": [0, 150.48910, 781.17284, 999.98554, 2146.06453, 2840.02305],
    "slaney": [0, 1.5, 10.5, 15, 35.16376, 45.24564],
}


@pytest.mark.parametrize("scale", ["htk", "slaney"])
def test_scales_there_and_back(scale):
    np.testing.assert_allclose(ops.hz_to_mel(HZ, mel_scale=scale), MEL[scale], rtol=1e-7)
    np.testing.assert_allclose(ops.mel_to_hz(ops.hz_to_mel(HZ, mel_scale=scale), mel_scale=scale), HZ, rtol=1e-12)


def test_slaneys_scale_has_its_knee_at_1000_hz_on_both_ways():
    around = np.array([999.9, 1000, 1000.1])
    mel = ops.hz_to_mel(around, mel_scale="slaney")
    np.testing.assert_allclose(mel, [15 - 0.0015, 15, 15 + np.log(1.0001) * 27 / np.log(6.4)], rtol=1e-12)
    np.testing.assert_allclose(ops.mel_to_hz(mel, mel_scale="slaney"), around, rtol=1e-12)


def test_edges_are_librosas(golden):
    assert ops.mel_frequencies(8, f_max=8000).shape == (10,)
    np.testing.assert_allclose(ops.mel_frequencies(8, f_max=8000, mel_scale="slaney"), golden("mel.edges"), rtol=1e-6)
    np.testing.assert_allclose(ops.mel_frequencies(8, f_min=30, f_max=8000), golden("mel.edges-htk"), rtol=1e-6)


def test_a_small_bank_number_by_number():
    # librosa 0.11.0: edges 0, 458.7301, 1218.0792, 2475.0515, 4555.7538, 8000
    bank = ops.mel_filterbank(4, 32, 16_000)
    assert (bank.shape, bank.dtype) == ((4, 17), np.float32)
    np.testing.assert_allclose(bank[0, :3], [0, 0.9456509291745406, 0.2871922301763404], rtol=1e-6)
    assert not bank[0, 3:].any()


@pytest.mark.parametrize("scale", ["htk", "slaney"])
@pytest.mark.parametrize("norm", [None, "slaney"])
def test_banks_of_both_scales_and_norms_are_librosas(golden, scale, norm):
    bank = ops.mel_filterbank(20, 256, 16_000, f_min=20, f_max=7600, mel_scale=scale, norm=norm)
    abs_error = 1e-10 if norm else 1e-7
    np.testing.assert_allclose(bank, golden(f"mel_filterbank.{scale}.{norm}"), rtol=1e-6, atol=abs_error)


def test_a_bank_of_an_odd_length_has_librosas_frequencies(golden):
    np.testing.assert_allclose(ops.mel_filterbank(5, 25, 8000), golden("mel_filterbank.odd"), rtol=1e-6, atol=1e-7)


def test_whispers_bank_is_torchaudios(golden):
    bank = ops.mel_filterbank(80, 400, 16_000, mel_scale="slaney", norm="slaney")
    np.testing.assert_allclose(bank, golden("mel_filterbank.torchaudio"), rtol=1e-4, atol=1e-7)  # float32 there


def test_many_bands_of_few_bins_leave_some_empty():
    assert ops.has_empty_band(ops.mel_filterbank(40, 32, 16_000))
    assert not ops.has_empty_band(ops.mel_filterbank(4, 32, 16_000))
    with pytest.raises(ShapeError, match=r"^has_empty_band: filterbank must be of shape \(n_mels, bins\), got \[3\]$"):
        ops.has_empty_band(np.zeros(3))


@pytest.mark.parametrize(
    ("args", "kwargs", "text"),
    [
        ((0, 32, 16_000), {}, "mel_filterbank: n_mels must be at least 1, got 0"),
        ((4, 0, 16_000), {}, "mel_filterbank: n_fft must be at least 1, got 0"),
        ((4, 32, 0), {}, "mel_filterbank: sample_rate must be above 0 and finite, got 0"),
        ((4, 32, np.inf), {}, "mel_filterbank: sample_rate must be above 0 and finite, got inf"),
        ((4, 32, 16_000), {"f_min": 8000}, r"mel_filterbank: f_max must be above f_min 8000 and finite, got 8000\.0"),
        ((4, 32, 16_000), {"f_max": np.inf}, "mel_filterbank: f_max must be above f_min 0.0 and finite, got inf"),
        ((4, 32, 16_000), {"f_min": -1}, "mel_filterbank: f_min must be at least 0, got -1"),
        ((4, 32, 16_000), {"mel_scale": "bark"}, "mel_filterbank: mel_scale must be one of htk, slaney, got 'bark'"),
        ((4, 32, 16_000), {"norm": "none"}, "mel_filterbank: norm must be None or 'slaney', got 'none'"),
    ],
)
def test_a_bank_that_cannot_be_is_named(args, kwargs, text):
    with pytest.raises(ShapeError, match=f"^{text}$"):
        ops.mel_filterbank(*args, **kwargs)


@pytest.mark.parametrize("function", ["hz_to_mel", "mel_to_hz"])
def test_an_unknown_scale_is_named(function):
    with pytest.raises(ShapeError, match=f"^{function}: mel_scale must be one of htk, slaney, got 'HTK'$"):
        getattr(ops, function)(1.0, mel_scale="HTK")


@pytest.mark.parametrize("name", ["power", "magnitude", "slaney"])
def test_energies_of_a_voice_are_torchaudios(golden, name):
    x, sizes = golden("mel_spectrogram.x"), {"n_fft": 256, "hop_length": 128}
    spectrum = ops.stft(x, ops.hann_window(256), **sizes)
    kind = "slaney" if name == "slaney" else None
    bank = ops.mel_filterbank(16, 256, 48_000, mel_scale=kind or "htk", norm=kind)
    power = 1 if name == "magnitude" else 2
    energy = ops.mel_spectrogram(*spectrum, bank, power=power)
    assert energy.dtype == np.float32
    # The oracle's window and bank are float32, which shows in the quietest bands.
    np.testing.assert_allclose(energy, golden(f"mel_spectrogram.{name}"), rtol=1e-5)
    decibels = ops.mel_spectrogram(*spectrum, bank, power=power, db=True)
    np.testing.assert_allclose(decibels, golden(f"mel_spectrogram.{name}-db"), atol=1e-4)


def test_a_magnitude_feature_is_not_the_root_of_the_power():
    real, bank = np.array([[3, 4]], np.float32), np.ones((1, 2), np.float32)
    assert ops.mel_spectrogram(real, 0 * real, bank, power=1).tolist() == [[7]]
    assert ops.mel_spectrogram(real, 0 * real, bank).tolist() == [[25]]


def test_silence_is_at_the_floor_exactly():
    quiet, bank = np.zeros((2, 3), np.float32), np.ones((4, 3), np.float32)
    assert (ops.mel_spectrogram(quiet, quiet, bank, db=True) == -100).all()
    assert (ops.mel_spectrogram(quiet, quiet, bank, db=True, power=1) == -200).all()
    assert (ops.mel_spectrogram(quiet, quiet, bank, db=True, amin=1e-5) == -50).all()


def test_the_floor_clamps_and_is_not_added():
    real, bank = np.full((1, 1), 1e-5, np.float32), np.ones((1, 1), np.float32)
    np.testing.assert_allclose(ops.mel_spectrogram(real, 0 * real, bank, db=True), -100, rtol=1e-6)


REAL, BANK = np.ones((2, 17), np.float32), np.ones((4, 17), np.float32)


@pytest.mark.parametrize(
    ("args", "kwargs", "text"),
    [
        ((REAL[0], REAL[0], BANK), {}, r"mel_spectrogram: real must be float32 of shape \(frames, bins\), got"),
        (
            (REAL, REAL[:1], BANK),
            {},
            r"mel_spectrogram: imag must be float32\[2, 17\] as real is, got float32\[1, 17\]",
        ),
        ((REAL, REAL, BANK.T.copy()), {}, r"mel_spectrogram: filterbank must be float32 of shape \(n_mels, 17\), got"),
        ((REAL, REAL, BANK[0]), {}, r"mel_spectrogram: filterbank must be float32 of shape \(n_mels, 17\), got"),
        ((REAL, REAL, BANK), {"power": 3}, "mel_spectrogram: power must be 1 or 2, got 3"),
        ((REAL, REAL, BANK), {"amin": 0}, r"mel_spectrogram: amin must be from 1\.17\S+ to 3\.4\S+, got 0"),
        ((REAL, REAL, BANK), {"amin": 1e-50}, r"mel_spectrogram: amin must be from \S+ to \S+, got 1e-50"),
    ],
)
def test_a_spectrum_that_does_not_fit_is_named(args, kwargs, text):
    with pytest.raises(ShapeError, match=f"^{text}"):
        ops.mel_spectrogram(*args, **kwargs)


def test_a_bank_is_planned_from_its_first_mel_and_the_step_in_mel(plain_gpu):
    (out,), plan = ops.mel_filterbank.plan_of(plain_gpu, n_mels=80, n_fft=400, sample_rate=16_000, f_min=20)
    (dispatch,) = plan.dispatches
    assert (out.shape, dispatch.grid) == ((80, 201), (16, 1, 1))
    first = 2595 * np.log10(1 + 20 / 700)
    assert dispatch.constants["FIRST_MEL"] == pytest.approx(first)
    assert dispatch.constants["STEP_MEL"] == pytest.approx((2840.02305 - first) / 81)


def test_bands_are_found_once_and_frames_past_a_bindings_size_are_summed_in_parts(plain_gpu):
    spectrum = Spec((1000, 201), "float32")
    _, plan = ops.mel_spectrogram.plan_of(plain_gpu, spectrum, spectrum, Spec((80, 201), "float32"))
    assert [d.kernel.label for d in plan.dispatches] == ["mel/bands", "mel/kernel"]
    assert [d.grid[0] for d in plan.dispatches] == [80, 79]
    small = replace(plain_gpu, limits={**plain_gpu.limits, "maxStorageBufferBindingSize": 700 * 201 * 4})
    _, plan = ops.mel_spectrogram.plan_of(small, spectrum, spectrum, Spec((80, 201), "float32"))
    assert [d.bindings[4].offset for d in plan.dispatches[1:]] == [0, 640 * 80 * 4]
