"""A spoken sentence inside Pyodide, by operations on tensors: the oracles' spectrum and mel bands, and back again."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from playwright_tests.python_page import PythonPage

# Written by tests/goldens/speech.py.
GOLDENS = Path(__file__).parent.parent / "tests" / "goldens" / "speech.npz"
RUN = """
import base64
clip = np.frombuffer(base64.b64decode(given["clip"]), np.int16)
x = (clip / 2**15).astype(np.float32)
n_fft, sizes = given["n_fft"], {"n_fft": given["n_fft"], "hop_length": given["hop_length"]}
device = await webxpu.open_device()
window = ops.hann_window(n_fft, device=device)
bank = ops.mel_filterbank(80, n_fft, 16_000, mel_scale="slaney", norm="slaney", device=device)
signal = device.tensor(x)
real, imag = ops.stft(signal, window, **sizes)
mel, db = (ops.mel_spectrogram(real, imag, bank, db=db) for db in (False, True))
back = ops.istft(real, imag, window, **sizes, length=len(x))
mel, db, real, imag, back = [await t.numpy() for t in (mel, db, real, imag, back)]
device.close()
step = given["step"]
return {
    "frames": len(real), "spectrum": np.stack([real, imag])[:, ::3 * step].tolist(), "mel": mel[::step].tolist(),
    "db": db[::step].tolist(), "back_error": float(np.abs(back - x).max()), "loudest": float(np.abs(x).max()),
}
"""


@pytest.fixture(scope="module")
def goldens() -> dict[str, np.ndarray]:
    with np.load(GOLDENS) as found:
        return {name: found[name] for name in found}


@pytest.fixture(scope="module", params=[(400, 160), (1024, 256)], ids=["whisper", "1024"])
def heard(
    request: pytest.FixtureRequest, python: PythonPage, goldens: dict[str, np.ndarray]
) -> tuple[int, dict[str, Any]]:
    """What the page made of the clip, with frames of so many samples."""
    n_fft, hop = request.param
    clip = base64.b64encode(goldens["clip"].tobytes()).decode()
    return n_fft, python.run(RUN, clip=clip, n_fft=n_fft, hop_length=hop, step=int(goldens["step"]))


def test_its_spectrum_is_torchs(heard: tuple[int, dict[str, Any]], goldens: dict[str, np.ndarray]) -> None:
    n_fft, found = heard
    assert found["frames"] == 1 + len(goldens["clip"]) // {400: 160, 1024: 256}[n_fft]
    want = goldens[f"stft.torch.{n_fft}"]
    assert np.abs(want).max() > 10
    np.testing.assert_allclose(found["spectrum"], want, atol=1e-5)


@pytest.mark.parametrize("oracle", ["torchaudio", "librosa"])
def test_its_mel_spectrogram_is_the_oracles(
    heard: tuple[int, dict[str, Any]], goldens: dict[str, np.ndarray], oracle: str
) -> None:
    n_fft, found = heard
    want = goldens[f"mel.{oracle}.{n_fft}"]
    assert want.max() > 1
    # Worst 3.9e-5: torchaudio's window and filterbank are float32, the page's arithmetic is.
    np.testing.assert_allclose(found["mel"], want, rtol=1e-4, atol=1e-9)


def test_its_decibels_are_torchaudios(heard: tuple[int, dict[str, Any]], goldens: dict[str, np.ndarray]) -> None:
    n_fft, found = heard
    want = goldens[f"db.torchaudio.{n_fft}"]
    assert want.min() < -80
    np.testing.assert_allclose(found["db"], want, atol=1e-2)


def test_its_samples_come_back(heard: tuple[int, dict[str, Any]]) -> None:
    assert heard[1]["loudest"] > 0.5
    assert heard[1]["back_error"] < 1e-6
