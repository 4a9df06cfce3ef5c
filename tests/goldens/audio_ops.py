"""Writes audio_ops.npz: what PyTorch, torchaudio and librosa make of small inputs. Needs those; the tests do not.

    python tests/goldens/audio_ops.py        # torch 2.13.0+cpu, torchaudio 2.11.1, librosa 0.11.0

Everything is computed in float64 from float32 inputs and narrowed once. Names are `<op>.<what>`.
"""

from importlib.metadata import version
from pathlib import Path

import librosa
import numpy as np
import torch
import torchaudio

torch.manual_seed(11)
here = Path(__file__)
found: dict[str, np.ndarray] = {}


def keep(name, value):
    array = np.asarray(value)
    found[name] = array.astype(np.float32) if array.dtype == np.float64 else array
    return value


def keep_spectrum(name, spectrum):
    keep(f"{name}.real", spectrum.real.mT)
    keep(f"{name}.imag", spectrum.imag.mT)


for name in ("hann", "hamming", "blackman"):
    for periodic in (True, False):
        window = getattr(torch, f"{name}_window")
        kind = "periodic" if periodic else "symmetric"
        keep(f"{name}_window.{kind}", window(8, periodic=periodic, dtype=torch.float64))

x = keep("stft.x", torch.randn(60)).double()
for n_fft, hop, center in [(8, 4, True), (7, 3, True), (22, 5, False), (37, 11, True), (1, 2, True)]:
    window = keep(f"stft.window.{n_fft}", torch.rand(n_fft) + 0.2).double()
    options = {"n_fft": n_fft, "hop_length": hop, "window": window, "center": center}
    keep_spectrum(f"stft.{n_fft}", torch.stft(x, **options, return_complex=True))
    if n_fft > 1:
        spectrum = torch.randn(n_fft // 2 + 1, 6), torch.randn(n_fft // 2 + 1, 6)
        keep(f"istft.{n_fft}.real", spectrum[0].mT), keep(f"istft.{n_fft}.imag", spectrum[1].mT)
        keep(f"istft.{n_fft}.out", torch.istft(torch.complex(*(part.double() for part in spectrum)), **options))

keep("mel.edges", librosa.mel_frequencies(n_mels=10, fmin=0, fmax=8000))
keep("mel.edges-htk", librosa.mel_frequencies(n_mels=10, fmin=30, fmax=8000, htk=True))
for scale in ("htk", "slaney"):
    for norm in (None, "slaney"):
        options = {"sr": 16_000, "n_fft": 256, "n_mels": 20, "fmin": 20, "fmax": 7600}
        keep(
            f"mel_filterbank.{scale}.{norm}", librosa.filters.mel(**options, htk=scale == "htk", norm=norm, dtype=float)
        )
keep("mel_filterbank.odd", librosa.filters.mel(sr=8000, n_fft=25, n_mels=5, htk=True, norm=None, dtype=float))
banks = torchaudio.functional.melscale_fbanks
keep("mel_filterbank.torchaudio", banks(201, 0, 8000, 80, 16_000, norm="slaney", mel_scale="slaney").mT)

clip = keep(
    "mel_spectrogram.x", torch.from_numpy(np.load(here.with_name("speech.npz"))["clip"][9000:9512] / 2**15).float()
)
for name, power, scale, norm in [
    ("power", 2, "htk", None),
    ("magnitude", 1, "htk", None),
    ("slaney", 2, "slaney", "slaney"),
]:
    options = {"n_fft": 256, "hop_length": 128, "n_mels": 16, "power": power, "mel_scale": scale, "norm": norm}
    mel = torchaudio.transforms.MelSpectrogram(48_000, **options).double()(clip.double())
    keep(f"mel_spectrogram.{name}", mel.mT)
    decibels = torchaudio.transforms.AmplitudeToDB("power" if power == 2 else "magnitude")(mel)
    keep(f"mel_spectrogram.{name}-db", decibels.mT)

scores = keep("ctc_decode.scores", torch.randn(4, 40, 5))
for i, path in enumerate(scores.argmax(-1)):
    tokens = torch.unique_consecutive(path)
    keep(f"ctc_decode.tokens.{i}", tokens[tokens != 0].int())

keep("versions", np.array([f"{name} {version(name)}" for name in ("torch", "torchaudio", "librosa")]))
np.savez_compressed(here.with_suffix(".npz"), **found)
