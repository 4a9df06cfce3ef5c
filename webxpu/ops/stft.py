"""The short-time Fourier transform and its windows. How frames are transformed on the GPU, for istft too, is here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from webxpu.gpu.kernels import Kernel, resolve
from webxpu.gpu.op import check, op, whole
from webxpu.gpu.plan import Dispatch, Grid, Plan, Spec, arg, flat_grid, fold, in_chunks, out, scratch
from webxpu.gpu.target import Gpu

if TYPE_CHECKING:
    from webxpu.gpu.device import Device

Method = Literal["fft", "direct"]
METHODS = ("fft", "direct")
# A prime factor p costs a mixed-radix transform p products a value, a chirp's two transforms about as many as this.
_LARGEST_RADIX = 31
# Frames in flight that are transformed in a buffer, and how large it may be.
_SLABS = 1024
_SLABS_BYTES = 64 << 20


@op
def stft(
    x: NDArray[np.float32],
    window: NDArray[np.float32],
    *,
    n_fft: int,
    hop_length: int,
    center: bool = True,
    method: Method = "fft",
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """`torch.stft(x, n_fft, hop_length, window=window, return_complex=True).mT`, real and imaginary part apart.

    x           (L,) float32
    window      (n_fft,) float32, see `hann_window`
    n_fft       samples of a frame
    hop_length  samples from one frame to the next
    center      frame f is centred on sample f * hop_length: x is reflected by n_fft // 2 samples at both ends, without
                repeating the last one; else the frames lie within x, and what is left at the end is dropped
    method      how a GPU computes: "fft", for every n_fft; "direct", the sum itself, to check the other by
    returns     two of (frames, n_fft // 2 + 1) float32, see `stft_frames`: frame-major, where torch has the bins first

    Not scaled. Computed in float64 (float32 on the GPU). Raises ShapeError.
    """
    wide = x.astype(np.float64)
    if center:
        wide = np.pad(wide, n_fft // 2, mode="reflect")
    frames = np.lib.stride_tricks.sliding_window_view(wide, n_fft)[::hop_length]
    spectrum = np.fft.rfft(frames * window.astype(np.float64))
    return spectrum.real.astype(np.float32), spectrum.imag.astype(np.float32)


@stft.spec
def _(
    x: Spec, window: Spec, *, n_fft: int, hop_length: int, center: bool = True, method: Method = "fft"
) -> tuple[Spec, ...]:
    check_frames("stft", window, n_fft, hop_length, method)
    check(x.dtype == "float32" and len(x.shape) == 1, "stft", "x", "float32 of shape (L,)", x)
    if center:
        check(x.size > n_fft // 2, "stft", "x", f"longer than the reflect padding of {n_fft // 2} samples", x)
    else:
        check(x.size >= n_fft, "stft", "x", f"at least n_fft {n_fft} samples where it is not centred", x)
    frames = stft_frames(x.size, n_fft=n_fft, hop_length=hop_length, center=center)
    return (Spec((frames, stft_bins(n_fft)), "float32"),) * 2


@stft.plan
def _(
    gpu: Gpu,
    outputs: Sequence[Spec],
    x: Spec,
    window: Spec,
    *,
    n_fft: int,
    hop_length: int,
    center: bool = True,
    method: Method = "fft",
) -> Plan:
    frames, bins = outputs[0].shape
    how = transform(gpu, "stft", n_fft, frames, bins, method)
    constants = {**how.constants, "HOP": hop_length, "PAD": n_fft // 2 if center else 0}
    work = [scratch(1)] if how.work else []
    whole = Dispatch(how.kernel, constants, [arg(0), arg(1), scratch(0, "read"), out(0), out(1), *work], (1, 1, 1))
    row = bins * 4
    row_bytes = [0, 0, 0, row, row, *(0 for _ in work)]
    parts = in_chunks(gpu, whole, frames, row_bytes, how.grid, told=lambda first, _: {"FIRST": first})
    return Plan([*how.setup, *parts], [how.table, *how.work])


def stft_bins(n_fft: int) -> int:
    """How many bins the transform of n_fft real samples has: n_fft // 2 + 1."""
    return n_fft // 2 + 1


def stft_frames(length: int, *, n_fft: int, hop_length: int, center: bool = True) -> int:
    """How many frames `stft` makes of `length` samples, with the same options: 1 + length // hop_length with `center`
    and an even n_fft. Raises ShapeError."""
    check(hop_length >= 1, "stft_frames", "hop_length", "at least 1", hop_length)
    padded = length + (n_fft // 2 * 2 if center else 0)
    return 1 + (padded - n_fft) // hop_length


def hann_window(n: int, *, periodic: bool = True, device: Device | None = None) -> Any:
    """`torch.hann_window(n, periodic)`: 1/2 - 1/2 cos(2 pi i / n), or n - 1 below where not periodic.

    n         how many samples, at least 1
    periodic  whether the window goes on from its end, as frames want it; else it ends as it begins
    device    None gives an array, else a tensor there
    returns   (n,) float32; a single 1 for n = 1

    Raises ShapeError.
    """
    return _cosine_window("hann_window", (0.5, -0.5), n, periodic, device)


def hamming_window(n: int, *, periodic: bool = True, device: Device | None = None) -> Any:
    """`torch.hamming_window(n, periodic)`: 0.54 - 0.46 cos(2 pi i / n); else as `hann_window`. Raises
    ShapeError."""
    return _cosine_window("hamming_window", (0.54, -0.46), n, periodic, device)


def blackman_window(n: int, *, periodic: bool = True, device: Device | None = None) -> Any:
    """`torch.blackman_window(n, periodic)`: 0.42 - 0.5 cos(2 pi i / n) + 0.08 cos(4 pi i / n); else as
    `hann_window`. Raises ShapeError."""
    return _cosine_window("blackman_window", (0.42, -0.5, 0.08), n, periodic, device)


def _cosine_window(name: str, weights: Sequence[float], n: int, periodic: bool, device: Device | None) -> Any:
    check(whole(n) and n >= 1, name, "n", "a whole number, at least 1", repr(n))
    angles = 2 * np.pi * np.arange(n) / (n if periodic else max(n - 1, 1))
    values = sum(weight * np.cos(k * angles) for k, weight in enumerate(weights)) if n > 1 else np.ones(1)
    window = np.asarray(values, np.float32)
    return window if device is None else device.tensor(window)


def check_frames(op_name: str, window: Spec, n_fft: int, hop_length: int, method: str) -> None:
    """Raises ShapeError for what stft and istft have in common."""
    check(n_fft >= 1, op_name, "n_fft", "at least 1", n_fft)
    check(hop_length >= 1, op_name, "hop_length", "at least 1", hop_length)
    check(window == Spec((n_fft,), "float32"), op_name, "window", f"float32 of shape ({n_fft},)", window)
    check(method in METHODS, op_name, "method", f"one of {', '.join(METHODS)}", repr(method))


@dataclass(frozen=True)
class Transform:
    """How frames are transformed on a device: the dispatches that fill the table, scratch 0, and what the kernel needs.

    `work` is the buffer in which `kernel` works, its last binding; empty where it needs none.
    """

    setup: list[Dispatch]
    table: Spec
    work: list[Spec]
    kernel: Kernel
    constants: dict[str, int]
    grid: Callable[[int], Grid]


def transform(gpu: Gpu, folder: str, n_fft: int, frames: int, row: int, method: Method) -> Transform:
    """The transform of `frames` frames of n_fft samples by the kernels of `folder`, each to a row of `row` values."""
    points = n_fft // 2 if n_fft % 2 == 0 else n_fft  # a real signal of even length is half as many complex values
    size = points if method == "direct" else fft_size(points)
    entries = n_fft if size == points else n_fft + points + 3 * size
    lengths = {"N": n_fft, "POINTS": points, "SIZE": size}
    setup = [Dispatch(resolve(gpu, "stft", "turns"), lengths, [scratch(0)], flat_grid(entries))]
    table = Spec((entries, 2), "float32")
    if method == "direct":
        kernel = resolve(gpu, folder, "direct")
        return Transform(setup, table, [], kernel, {"N": n_fft}, lambda count: flat_grid(count * row))
    if size != points:
        setup.append(Dispatch(resolve(gpu, "stft", "spectrum"), lengths, [scratch(0)], (1, 1, 1)))
    memory_bytes = 2 * size * 8
    if gpu.target != "cpu" and memory_bytes <= gpu.limits["maxComputeWorkgroupStorageSize"]:
        constants = {**lengths, "THREADS": 64 if size <= 512 else 256}
        return Transform(setup, table, [], resolve(gpu, folder), constants, fold)
    kernel = resolve(gpu, folder, "large")
    # A slab is a thread's on a CPU adapter, a workgroup's elsewhere.
    threads, slabs = (4, 4) if kernel.variant.target == "cpu" else (256, 1)
    groups = max(1, min(-(-frames // slabs), _SLABS // slabs, _SLABS_BYTES // (memory_bytes * slabs)))
    work = Spec((groups * slabs, 2 * size, 2), "float32")
    return Transform(setup, table, [work], kernel, {**lengths, "THREADS": threads}, lambda _: (groups, 1, 1))


def fft_size(points: int) -> int:
    """The length of the transforms that make one of `points`: itself where its prime factors are small, else a power of
    two that holds a convolution with a chirp."""
    rest, factor = points, 2
    while factor <= _LARGEST_RADIX and rest > 1:
        if rest % factor:
            factor += 1
        else:
            rest //= factor
    return points if rest == 1 else 1 << (2 * points - 2).bit_length()
