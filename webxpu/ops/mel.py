"""Mel scales, filterbanks and spectrograms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from webxpu.gpu.kernels import resolve
from webxpu.gpu.op import check, op
from webxpu.gpu.plan import Dispatch, Plan, Spec, arg, flat_grid, fold, in_chunks, out, scratch
from webxpu.gpu.target import Gpu

F64 = NDArray[np.float64]
Scale = Literal["htk", "slaney"]
# Numbers of the scales in kernels/mel.
SCALES = {"htk": 0, "slaney": 1}
NORMS = {None: 0, "slaney": 1}
# Slaney's scale is linear to 1000 Hz, which is mel 15, and then 27 mels for each factor of 6.4.
_KNEE_HZ, _KNEE_MEL = 1000.0, 15.0
_LOG_STEP = np.log(6.4) / 27


def hz_to_mel(frequency: ArrayLike, *, mel_scale: Scale = "htk") -> F64:
    """Mel numbers of frequencies in Hz, as `librosa.hz_to_mel`, by one of two scales.

    frequency  one or an array, in Hz
    mel_scale  "htk": 2595 log10(1 + f / 700), librosa's htk=True; "slaney", librosa's default: linear below 1000 Hz
    returns    frequency's shape, float64

    Raises ShapeError.
    """
    _check_scale("hz_to_mel", mel_scale)
    f = np.asarray(frequency, np.float64)
    if mel_scale == "htk":
        return np.asarray(2595 * np.log10(1 + f / 700))
    log = _KNEE_MEL + np.log(np.maximum(f, _KNEE_HZ) / _KNEE_HZ) / _LOG_STEP
    return np.where(f < _KNEE_HZ, f * _KNEE_MEL / _KNEE_HZ, log)


def mel_to_hz(mel: ArrayLike, *, mel_scale: Scale = "htk") -> F64:
    """The inverse of `hz_to_mel`, in Hz: `librosa.mel_to_hz`. Raises ShapeError."""
    _check_scale("mel_to_hz", mel_scale)
    m = np.asarray(mel, np.float64)
    if mel_scale == "htk":
        return np.asarray(700 * (10 ** (m / 2595) - 1))
    power = _KNEE_HZ * np.exp(_LOG_STEP * (np.maximum(m, _KNEE_MEL) - _KNEE_MEL))
    return np.where(m < _KNEE_MEL, m * _KNEE_HZ / _KNEE_MEL, power)


def mel_frequencies(n_mels: int, *, f_min: float = 0.0, f_max: float, mel_scale: Scale = "htk") -> F64:
    """The edges of n_mels bands, evenly spaced in mel: `librosa.mel_frequencies(n_mels + 2, fmin=f_min, fmax=f_max)`.

    n_mels        how many bands
    f_min, f_max  the first edge and the last, in Hz
    mel_scale     "htk" or "slaney", see `hz_to_mel`
    returns       (n_mels + 2,) float64, in Hz: band m rises from edge m to m + 1 and falls to m + 2

    Raises ShapeError.
    """
    _check_bands("mel_frequencies", n_mels, f_min, f_max, mel_scale)
    return mel_to_hz(_first_and_step(n_mels, f_min, f_max, mel_scale) @ _line(n_mels + 2), mel_scale=mel_scale)


@op(generates=True)
def mel_filterbank(
    n_mels: int,
    n_fft: int,
    sample_rate: float,
    *,
    f_min: float = 0.0,
    f_max: float | None = None,
    mel_scale: Scale = "htk",
    norm: Literal["slaney"] | None = None,
) -> NDArray[np.float32]:
    """`torchaudio.functional.melscale_fbanks(n_fft // 2 + 1, f_min, f_max, n_mels, sample_rate, norm, mel_scale).T`.

    n_mels       how many bands
    n_fft        samples of a frame, see `stft`
    sample_rate  samples a second
    f_min        where the lowest band begins, in Hz
    f_max        where the highest band ends, in Hz; None for sample_rate / 2
    mel_scale    "htk" or "slaney", see `hz_to_mel`
    norm         None, or "slaney": each band divided by half its width in Hz, so that its area is 1
    returns      (n_mels, n_fft // 2 + 1) float32, computed in float64 (float32 on the GPU)

    `librosa.filters.mel` is mel_scale="slaney", norm="slaney", 200 times smaller. The frequency of bin k is
    k * sample_rate / n_fft, as librosa's; torchaudio's differs for odd n_fft. With many bands and few bins some bands
    hold no bin, see `has_empty_band`. Raises ShapeError.
    """
    edges = mel_frequencies(n_mels, f_min=f_min, f_max=_top(sample_rate, f_max), mel_scale=mel_scale)
    left, middle, right = edges[:-2, None], edges[1:-1, None], edges[2:, None]
    frequency = np.arange(n_fft // 2 + 1) * sample_rate / n_fft
    bank = np.maximum(0, np.minimum((frequency - left) / (middle - left), (right - frequency) / (right - middle)))
    return np.asarray(bank * (2 / (right - left)) if norm == "slaney" else bank, np.float32)


@mel_filterbank.spec
def _(
    n_mels: int,
    n_fft: int,
    sample_rate: float,
    *,
    f_min: float = 0.0,
    f_max: float | None = None,
    mel_scale: Scale = "htk",
    norm: Literal["slaney"] | None = None,
) -> Spec:
    check(n_fft >= 1, "mel_filterbank", "n_fft", "at least 1", n_fft)
    check(0 < sample_rate < np.inf, "mel_filterbank", "sample_rate", "above 0 and finite", sample_rate)
    _check_bands("mel_filterbank", n_mels, f_min, _top(sample_rate, f_max), mel_scale)
    check(norm in NORMS, "mel_filterbank", "norm", "None or 'slaney'", repr(norm))
    return Spec((n_mels, n_fft // 2 + 1), "float32")


@mel_filterbank.plan
def _(
    gpu: Gpu,
    outputs: Sequence[Spec],
    n_mels: int,
    n_fft: int,
    sample_rate: float,
    *,
    f_min: float = 0.0,
    f_max: float | None = None,
    mel_scale: Scale = "htk",
    norm: Literal["slaney"] | None = None,
) -> Plan:
    first, step = _first_and_step(n_mels, f_min, _top(sample_rate, f_max), mel_scale)
    constants: dict[str, int | float] = {
        "BINS": outputs[0].shape[1], "BIN_HZ": sample_rate / n_fft, "FIRST_MEL": float(first), "STEP_MEL": float(step),
        "SCALE": SCALES[mel_scale], "NORM": NORMS[norm],
    }  # fmt: skip
    return Plan([Dispatch(resolve(gpu, "mel", "filterbank"), constants, [out(0)], flat_grid(outputs[0].size))])


def has_empty_band(filterbank: ArrayLike) -> bool:
    """Whether a band of the filterbank (n_mels, bins) holds no bin: its energy would be 0 whatever the sound.

    Raises ShapeError.
    """
    weights = np.asarray(filterbank)
    check(weights.ndim == 2, "has_empty_band", "filterbank", "of shape (n_mels, bins)", list(weights.shape))
    return bool((weights == 0).all(axis=1).any())


@op
def mel_spectrogram(
    real: NDArray[np.float32],
    imag: NDArray[np.float32],
    filterbank: NDArray[np.float32],
    *,
    power: int = 2,
    db: bool = False,
    amin: float = 1e-10,
) -> NDArray[np.float32]:
    """The energies of a spectrum's bands: torchaudio's `MelSpectrogram(power=power)`, and with `db` also
    `AmplitudeToDB("power" if power == 2 else "magnitude")` without top_db.

    real, imag  (frames, bins) float32, as `stft` gives them
    filterbank  (n_mels, bins) float32, see `mel_filterbank`
    power       2: squares of the magnitudes are summed, 1: the magnitudes
    db          whether to return (20 / power) log10(max(energy, amin)), not the energy: silence is -100 for power 2,
                -200 for 1
    amin        the least energy that db tells apart
    returns     (frames, n_mels) float32, summed in float64 (float32 on the GPU)

    Raises ShapeError.
    """
    squares = real.astype(np.float64) ** 2 + imag.astype(np.float64) ** 2
    energy = (squares if power == 2 else np.sqrt(squares)) @ filterbank.astype(np.float64).T
    return np.asarray(20 / power * np.log10(np.maximum(energy, amin)) if db else energy, np.float32)


@mel_spectrogram.spec
def _(real: Spec, imag: Spec, filterbank: Spec, *, power: int = 2, db: bool = False, amin: float = 1e-10) -> Spec:
    name = "mel_spectrogram"
    check(real.dtype == "float32" and len(real.shape) == 2, name, "real", "float32 of shape (frames, bins)", real)
    check(imag == real, name, "imag", f"{real} as real is", imag)
    rule = f"float32 of shape (n_mels, {real.shape[1]})"
    fits = filterbank.dtype == "float32" and len(filterbank.shape) == 2 and filterbank.shape[1] == real.shape[1]
    check(fits, name, "filterbank", rule, filterbank)
    check(power in (1, 2), name, "power", "1 or 2", power)
    limits = np.finfo(np.float32)
    check(limits.tiny <= amin <= limits.max, name, "amin", f"from {limits.tiny} to {limits.max}", amin)
    return Spec((real.shape[0], filterbank.shape[0]), "float32")


@mel_spectrogram.plan
def _(
    gpu: Gpu,
    outputs: Sequence[Spec],
    real: Spec,
    imag: Spec,
    filterbank: Spec,
    *,
    power: int = 2,
    db: bool = False,
    amin: float = 1e-10,
) -> Plan:
    (frames, n_mels), bins = outputs[0].shape, real.shape[1]
    # Nearly all of a filterbank is zeros: where each band begins and ends is looked up once.
    bands = Dispatch(resolve(gpu, "mel", "bands"), {"BINS": bins}, [arg(2), scratch(0)], fold(n_mels))
    constants: dict[str, int | float] = {"BINS": bins, "MELS": n_mels, "POWER": power, "DB": int(db), "AMIN": amin}
    bindings = [arg(0), arg(1), arg(2), scratch(0, "read"), out(0)]
    whole = Dispatch(resolve(gpu, "mel"), constants, bindings, (1, 1, 1))
    rows = [bins * 4, bins * 4, 0, 0, n_mels * 4]
    parts = in_chunks(gpu, whole, frames, rows, lambda count: flat_grid(count * n_mels))
    return Plan([bands, *parts], [Spec((n_mels, 2), "uint32")])


def _line(points: int) -> F64:
    """1 and the point's number, to be summed with a first value and a step."""
    return np.stack([np.ones(points), np.arange(points)])


def _first_and_step(n_mels: int, f_min: float, f_max: float, mel_scale: Scale) -> F64:
    low, high = hz_to_mel([f_min, f_max], mel_scale=mel_scale)
    return np.array([low, (high - low) / (n_mels + 1)])


def _top(sample_rate: float, f_max: float | None) -> float:
    return sample_rate / 2 if f_max is None else f_max


def _check_scale(name: str, mel_scale: Any) -> None:
    check(mel_scale in SCALES, name, "mel_scale", f"one of {', '.join(SCALES)}", repr(mel_scale))


def _check_bands(name: str, n_mels: int, f_min: float, f_max: float, mel_scale: Any) -> None:
    check(n_mels >= 1, name, "n_mels", "at least 1", n_mels)
    check(f_min >= 0, name, "f_min", "at least 0", f_min)
    check(f_min < f_max < np.inf, name, "f_max", f"above f_min {f_min} and finite", f_max)
    _check_scale(name, mel_scale)
