"""Cases of mel_filterbank and mel_spectrogram: both scales and norms, narrow and wide bands, decibels, silence."""

from functools import partial

import numpy as np

from webxpu.cases.case import F32, Case, Tolerance, uniform
from webxpu.ops.mel import mel_filterbank

TOLERANCE = Tolerance(
    1.5e-6, 1e-9, "worst 3.5e-7 relative, on SwiftShader: sums of up to 65 products, most of them positive"
)
_DB = Tolerance(
    0, 4e-5, "worst 7.6e-6 absolute of values up to 100, on SwiftShader; a device's logarithm may be off by 4e-6"
)


# What a frequency's rounding makes of a weight grows with the sampling rate and with the number of bands.
_NARROW = "a third of abs or less, on SwiftShader"


def _bank(name: str, abs: float, *sizes: int, **kwargs: object) -> Case:
    """A filterbank; narrow bands have steep sides, on which a rounded frequency counts for more."""
    names = dict(zip(("n_mels", "n_fft", "sample_rate"), sizes, strict=True))
    return Case("mel_filterbank", name, tuple, {**names, **kwargs}, name == "80x201", Tolerance(1e-5, abs, _NARROW))


def _spectrum(frames: int, n_mels: int, n_fft: int) -> tuple[F32, F32, F32]:
    bank = mel_filterbank(n_mels, n_fft, 16000)
    return (*(uniform((frames, n_fft // 2 + 1), seed, 3) for seed in (n_mels, n_fft)), bank)


def _silence() -> tuple[F32, F32, F32]:
    real, imag, bank = _spectrum(3, 4, 32)
    real[1] = imag[1] = 0
    return real, imag, bank


def _gaps() -> tuple[F32, F32, F32]:
    """Bands with zeros inside, at one end only, everywhere, and negative weights."""
    real, imag, _ = _spectrum(3, 4, 128)
    bank = np.zeros((5, 65), np.float32)
    bank[0, [0, 64]] = 1, 2
    bank[1, 64] = 3
    bank[2, [0, 3]] = -1, 1
    bank[4] = 0.5
    return real, imag, bank


CASES = [
    _bank("4x17", 1e-6, 4, 32, 16000),
    _bank("4x65-slaney-norm", 1.2e-9, 4, 128, 16000, mel_scale="slaney", norm="slaney"),
    _bank("4x65-slaney", 2e-6, 4, 128, 16000, mel_scale="slaney"),
    _bank("4x65-norm", 6e-10, 4, 128, 16000, norm="slaney"),
    _bank("80x201", 2e-7, 80, 400, 16000, mel_scale="slaney", norm="slaney"),
    _bank("80x201-band", 2.5e-5, 80, 400, 16000, f_min=50, f_max=7600),
    _bank("80x961", 4e-5, 80, 1920, 24000),
    _bank("300x129", 8e-5, 300, 256, 48000),
    _bank("5x3-odd", 5e-7, 5, 5, 8000),
    *(
        Case(
            "mel_spectrogram",
            f"{frames}x{n_mels}x{n_fft // 2 + 1}",
            partial(_spectrum, frames, n_mels, n_fft),
            quick=n_fft == 400,
        )
        for frames, n_mels, n_fft in [
            (3, 4, 32),
            (5, 16, 256),
            (3, 80, 400),
            (2, 80, 1920),
            (2, 300, 256),
            (70, 16, 32),
        ]
    ),
    Case("mel_spectrogram", "magnitude", lambda: _spectrum(4, 16, 256), {"power": 1}),
    Case("mel_spectrogram", "db", lambda: _spectrum(3, 80, 400), {"db": True}, True, _DB),
    Case("mel_spectrogram", "db-magnitude", lambda: _spectrum(3, 80, 400), {"db": True, "power": 1}, tolerance=_DB),
    Case("mel_spectrogram", "db-silence", _silence, {"db": True}, tolerance=_DB),
    Case("mel_spectrogram", "db-amin", _silence, {"db": True, "power": 1, "amin": 40.0}, tolerance=_DB),
    Case("mel_spectrogram", "gaps", _gaps),
    Case("mel_spectrogram", "no-frames", lambda: _spectrum(0, 4, 32)),
]
