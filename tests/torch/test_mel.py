"""mel filterbanks and spectrograms against librosa at random sizes, with torch's transforms below."""

import librosa
import numpy as np
import pytest
import torch

from webxpu import ops


@pytest.mark.filterwarnings("ignore:Empty filters")
def test_banks_are_librosas_at_random_sizes(rng):
    for _ in range(100):
        n_mels, n_fft, rate = int(rng.integers(1, 90)), int(rng.integers(2, 700)), int(rng.integers(4000, 48_001))
        low, high = sorted(rng.uniform(0, rate / 2, 2))
        htk, norm = bool(rng.integers(2)), (None, "slaney")[int(rng.integers(2))]
        options = {"sr": rate, "n_fft": n_fft, "n_mels": n_mels, "fmin": low, "fmax": high}
        want = librosa.filters.mel(**options, htk=htk, norm=norm, dtype=np.float64)
        got = ops.mel_filterbank(
            n_mels, n_fft, rate, f_min=low, f_max=high, mel_scale="htk" if htk else "slaney", norm=norm
        )
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-7, err_msg=f"{options} {htk} {norm}")
        assert ops.has_empty_band(got) == bool((want.max(axis=1) == 0).any())


def test_spectrograms_are_librosas_at_random_sizes(rng):
    for _ in range(30):
        n_fft, hop, n_mels = 2 * int(rng.integers(32, 300)), int(rng.integers(20, 200)), int(rng.integers(1, 40))
        x = rng.standard_normal(n_fft + int(rng.integers(0, 2000)), np.float32)
        power = int(rng.integers(1, 3))
        options = {"n_fft": n_fft, "hop_length": hop, "n_mels": n_mels, "power": power, "pad_mode": "reflect"}
        want = librosa.feature.melspectrogram(y=x.astype(np.float64), sr=16_000, dtype=np.float64, **options).T
        window = torch.hann_window(n_fft, dtype=torch.float64).float().numpy()
        spectrum = ops.stft(x, window, n_fft=n_fft, hop_length=hop)
        bank = ops.mel_filterbank(n_mels, n_fft, 16_000, mel_scale="slaney", norm="slaney")
        got = ops.mel_spectrogram(*spectrum, bank, power=power)
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-9, err_msg=f"{options} {len(x)}")
