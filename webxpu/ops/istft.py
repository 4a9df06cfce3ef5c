"""The inverse short-time Fourier transform."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from webxpu.errors import ShapeError
from webxpu.gpu.kernels import resolve
from webxpu.gpu.op import check, op
from webxpu.gpu.plan import ALIGNMENT_BYTES, Binding, Dispatch, Plan, Spec, arg, flat_grid, out, scratch
from webxpu.gpu.target import Gpu
from webxpu.ops.stft import Method, check_frames, stft_bins, transform

Padding = Literal["center", "none", "same"]
PADDINGS = ("center", "none", "same")
# As torch: where the windows' squares sum up to less, a sample is undefined.
LEAST_ENVELOPE = 1e-11


@op
def istft(
    real: NDArray[np.float32],
    imag: NDArray[np.float32],
    window: NDArray[np.float32],
    *,
    n_fft: int,
    hop_length: int,
    padding: Padding | None = None,
    center: bool | None = None,
    length: int | None = None,
    method: Method = "fft",
) -> NDArray[np.float32]:
    """`torch.istft(torch.complex(real, imag).mT, n_fft, hop_length, window=window, center=center, length=length)`.

    real, imag  (frames, n_fft // 2 + 1) float32, as `stft` gives them; the first bin's imaginary part and, for an even
                n_fft, the last one's are ignored
    window      (n_fft,) float32
    n_fft       samples of a frame
    hop_length  samples from one frame to the next
    padding     what is cut off at the head: "center" n_fft // 2 samples, the default; "none" nothing; "same"
                (n_fft - hop_length) // 2, as Vocos and other vocoders do, so that frames become hop_length samples each
    center      True and False are other names of "center" and "none"
    length      how many samples to return, at most `istft_max_length`, where torch fills up with zeros and warns;
                None for `istft_length`
    method      how a GPU computes: "fft", or "direct", the sum itself, to check the other by
    returns     (length,) float32: the windowed frames' sum over the sum of the windows' squares, in float64 (float32 on
                the GPU)

    Where the windows' squares sum up to less than 1e-11 at a sample that is returned, arrays raise; tensors, whose
    values Python does not see, give NaN there. Raises ShapeError.
    """
    name = _padding(padding, center)
    crop = _crop(n_fft, hop_length, name)
    size = istft_length(len(real), n_fft=n_fft, hop_length=hop_length, padding=name) if length is None else length
    wide, square = window.astype(np.float64), window.astype(np.float64) ** 2
    spectrum = np.empty(real.shape, np.complex128)
    spectrum.real, spectrum.imag = real, imag  # a product with 1j would carry an infinite part into the other
    frames = np.fft.irfft(spectrum, n_fft) * wide
    total, envelope = np.zeros((2, n_fft + hop_length * (len(real) - 1)))
    for first, frame in zip(range(0, len(total), hop_length), frames):
        total[first : first + n_fft] += frame
        envelope[first : first + n_fft] += square
    total, envelope = total[crop : crop + size], envelope[crop : crop + size]
    for sample in np.flatnonzero(envelope < LEAST_ENVELOPE):
        raise ShapeError(
            "istft: window must be nonzero over every returned sample (NOLA), got a sum of squares of "
            f"{envelope[sample]:.3g} at sample {sample} of {size}"
        )
    return np.asarray(total / envelope, np.float32)


@istft.spec
def _(
    real: Spec,
    imag: Spec,
    window: Spec,
    *,
    n_fft: int,
    hop_length: int,
    padding: Padding | None = None,
    center: bool | None = None,
    length: int | None = None,
    method: Method = "fft",
) -> Spec:
    check_frames("istft", window, n_fft, hop_length, method)
    bins = stft_bins(n_fft)
    rule = f"float32 of shape (frames, {bins}), frames >= 1"
    check(real.dtype == "float32" and real.shape[1:] == (bins,) and real.size, "istft", "real", rule, real)
    check(imag == real, "istft", "imag", f"{real} as real is", imag)
    name = _padding(padding, center)
    check(name in PADDINGS, "istft", "padding", f"one of {', '.join(PADDINGS)}", repr(padding))
    sizes = {"n_fft": n_fft, "hop_length": hop_length}
    if name == "same":
        check(hop_length <= n_fft, "istft", "hop_length", f"at most n_fft {n_fft} with padding 'same'", hop_length)
    if length is None:
        return Spec((istft_length(real.shape[0], **sizes, padding=name),), "float32")
    most = istft_max_length(real.shape[0], **sizes, padding=name)
    rule = f"at most {most}, as far as {real.shape[0]} frames reach {most} samples, and not negative"
    check(0 <= length <= most, "istft", "length", rule, length)
    return Spec((length,), "float32")


@istft.plan
def _(
    gpu: Gpu,
    outputs: Sequence[Spec],
    real: Spec,
    imag: Spec,
    window: Spec,
    *,
    n_fft: int,
    hop_length: int,
    padding: Padding | None = None,
    center: bool | None = None,
    length: int | None = None,
    method: Method = "fft",
) -> Plan:
    frames, bins = real.shape
    crop = _crop(n_fft, hop_length, _padding(padding, center))
    parts = _parts(outputs[0].size, frames, n_fft, hop_length, crop, gpu.limits["maxStorageBufferBindingSize"])
    most = max(count for _, count, _, _ in parts)
    how = transform(gpu, "istft", n_fft, most, n_fft, method)
    work = [scratch(2)] if how.work else []
    gather = resolve(gpu, "istft", "add")
    dispatches = list(how.setup)
    for first, count, begin, end in parts:
        spectrum = [_rows(arg(i), first, count, bins) for i in (0, 1)]
        signal = _rows(scratch(1), 0, count, n_fft)
        bindings = [*spectrum, arg(2), scratch(0, "read"), signal, *work]
        dispatches.append(Dispatch(how.kernel, how.constants, bindings, how.grid(count)))
        constants = {"N": n_fft, "HOP": hop_length, "SHIFT": crop + begin - first * hop_length}
        added = [replace(signal, access="read"), arg(2), _rows(out(0), begin, end - begin, 1)]
        dispatches.append(Dispatch(gather, constants, added, flat_grid(end - begin)))
    return Plan(dispatches, [how.table, Spec((most, n_fft), "float32"), *how.work])


def istft_length(frames: int, *, n_fft: int, hop_length: int, padding: Padding = "center") -> int:
    """How many samples `istft` makes of `frames` with the same options where no length is asked for: what it crops at
    the head it crops at the end."""
    return n_fft + hop_length * (frames - 1) - 2 * _crop(n_fft, hop_length, padding)


def istft_max_length(frames: int, *, n_fft: int, hop_length: int, padding: Padding = "center") -> int:
    """How many samples may be asked of `istft` as its length: to the last frame's end, but with "same" not past
    `istft_length`."""
    if padding == "same":
        return istft_length(frames, n_fft=n_fft, hop_length=hop_length, padding=padding)
    return n_fft + hop_length * (frames - 1) - _crop(n_fft, hop_length, padding)


def _padding(padding: Padding | None, center: bool | None) -> Padding:
    """The padding that is meant. Raises ShapeError where both are given."""
    check(padding is None or center is None, "istft", "padding", "None where center is given", repr(padding))
    if center is not None:
        return "center" if center else "none"
    return "center" if padding is None else padding


def _crop(n_fft: int, hop_length: int, padding: Padding) -> int:
    """Samples that are cut off at the head."""
    return {"center": n_fft // 2, "none": 0, "same": (n_fft - hop_length) // 2}[padding]


def _parts(
    length: int, frames: int, n_fft: int, hop_length: int, crop: int, limit: int
) -> list[tuple[int, int, int, int]]:
    """The work in parts whose windowed frames fit a binding: first frame, frames, first sample, end of the samples.

    Parts begin where bindings may, at multiples of 64 frames and samples. Samples need the frames of the part before
    that reach into them, `lead` of them. All but the first part lie alike, so they share a pipeline.
    """
    step = ALIGNMENT_BYTES // 4
    lead = -(-(n_fft + hop_length) // (hop_length * step)) * step
    capacity = limit // (n_fft * 4) // step * step - lead - -(-(crop + n_fft) // (hop_length * step)) * step
    if frames * n_fft * 4 <= limit or capacity < step:
        return [(0, frames, 0, length)]
    parts = []
    for begin in range(0, length, capacity * hop_length):
        end = min(length, begin + capacity * hop_length)
        first = max(0, begin // hop_length - lead)
        last = min(frames, (end - 1 + crop) // hop_length + 1)
        parts.append((first, last - first, begin, end))
    return parts


def _rows(binding: Binding, first: int, count: int, width: int) -> Binding:
    """Rows of `width` values of a binding."""
    return replace(binding, offset=first * width * 4, nbytes=count * width * 4)
