"""Writes speech.npz: a sentence spoken by espeak-ng, and what torchaudio and librosa make of it. Needs those and scipy;
the tests do not.

    python tests/goldens/speech.py ESPEAK_NG     # espeak-ng 1.51, torchaudio 2.11.1, librosa 0.11.0, scipy 1.17.1

ESPEAK_NG is the command, with its options if it needs any. Everything is computed in float64 from the clip's samples
over 2^15, and narrowed once; of the mel frames every `step`-th is kept, of the others every third of those.

torchaudio's wheels need CUDA's libraries for what is not asked here: without them remove its folder `lib`.
"""

import shlex
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

import librosa
import numpy as np
import torch
import torchaudio
from scipy.io import wavfile
from scipy.signal import resample_poly

RATE = 16_000
TEXT = "A sentence that a browser hears."
STEP = 5
command = shlex.split(" ".join(sys.argv[1:]) or "espeak-ng")
found: dict[str, np.ndarray] = {}


def spoken() -> np.ndarray:
    """The text at 16 kHz, as int16."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "speech.wav"
        subprocess.run([*command, "-v", "en", "-s", "190", "-w", str(file), TEXT], check=True)
        rate, samples = wavfile.read(file)
    assert (rate, samples.dtype, samples.ndim) == (22_050, np.int16, 1)
    resampled = resample_poly(samples.astype(np.float64), 320, 441)
    return np.clip(np.round(resampled), -32768, 32767).astype(np.int16)


clip = found["clip"] = spoken()
x = clip / 2**15

for n_fft, hop in ((400, 160), (1024, 256)):
    options = {"n_fft": n_fft, "hop_length": hop, "n_mels": 80}
    ours = torchaudio.transforms.MelSpectrogram(RATE, **options, mel_scale="slaney", norm="slaney").double()
    torchs = ours(torch.from_numpy(x)).numpy().T
    librosas = librosa.feature.melspectrogram(y=x, sr=RATE, **options, pad_mode="reflect", dtype=np.float64).T
    # torchaudio's window and filterbank are float32: where the sound is quiet, that is what differs.
    np.testing.assert_allclose(torchs, librosas, rtol=1e-4, atol=1e-9)
    found[f"mel.torchaudio.{n_fft}"] = torchs[::STEP].astype(np.float32)
    found[f"mel.librosa.{n_fft}"] = librosas[::STEP].astype(np.float32)
    decibels = torchaudio.transforms.AmplitudeToDB("power")(torch.from_numpy(torchs)).numpy()
    found[f"db.torchaudio.{n_fft}"] = decibels[::STEP].astype(np.float32)
    window = torch.hann_window(n_fft, dtype=torch.float64)
    frames = torch.stft(torch.from_numpy(x), n_fft, hop, window=window, return_complex=True).numpy().T
    found[f"stft.torch.{n_fft}"] = np.stack([frames.real, frames.imag])[:, :: 3 * STEP].astype(np.float32)

print({name: array.shape for name, array in found.items()}, np.abs(clip).max(), len(clip) / RATE)
spoke = subprocess.run([*command, "--version"], check=True, capture_output=True, text=True).stdout.split("Data at")[0]
tools = [f"{name} {version(name)}" for name in ("torch", "torchaudio", "librosa", "scipy")]
found["versions"] = np.array([spoke.strip(), *tools])
np.savez_compressed(Path(__file__).with_suffix(".npz"), step=STEP, **found)
