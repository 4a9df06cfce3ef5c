"""Convolutions over one, two or three axes. What they share with their transposes is here too."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from webxpu.gpu.kernels import resolve
from webxpu.gpu.op import check, op
from webxpu.gpu.plan import Dispatch, Plan, Spec, arg, fold, in_chunks, out, scratch
from webxpu.gpu.target import Gpu
from webxpu.ops.matmul import tile

F32 = NDArray[np.float32]
F64 = NDArray[np.float64]
Size = int | Sequence[int]

# Names of the spatial axes in messages, and of the kernel's, by rank.
_LENGTHS = ("L", "H, W", "D, H, W")
_KERNELS = ("K", "KH, KW", "KD, KH, KW")
# Positions of a workgroup of the tiled kernels, which compute ROWS channels of each; see `tile`.
_TILE_POSITIONS = 64
# A group of at most this many output channels fills so little of a tile that the direct kernels are taken.
_DIRECT_CHANNELS = 8
# Output channels of a thread of the direct kernels, and threads of a workgroup.
_THREAD_CHANNELS = 4
_DIRECT_THREADS = 64


def conv1d_output_length(length: int, kernel: int, *, stride: int = 1, padding: int = 0, dilation: int = 1) -> int:
    """The length that `conv1d` makes of `length`, with the same options and a kernel of `kernel` elements; of each axis
    of conv2d and conv3d likewise. Not positive where the kernel is too wide."""
    return (length + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1


@op
def conv1d(
    x: F32, weight: F32, bias: F32 | None = None, *,
    stride: Size = 1, padding: Size = 0, dilation: Size = 1, groups: int = 1,
) -> F32:  # fmt: skip
    """`torch.nn.functional.conv1d`: a cross-correlation, the kernel is not flipped.

    x         (N, Cin, L) float32
    weight    (Cout, Cin / groups, K) float32
    bias      (Cout,) float32, or None
    stride    samples from one position of the kernel to the next: an int or a tuple of one
    padding   zeros at both ends, likewise; "same" and "valid" are not known
    dilation  samples from one element of the kernel to the next, likewise
    groups    into how many parts Cin and Cout are cut: part g of the result reads part g of x alone
    returns   (N, Cout, Lout) float32, Lout by `conv1d_output_length`; sums in float64 (float32 on the GPU)

    Inputs of any length and batch run the same kernel. Raises ShapeError, also where the kernel is wider than the
    padded input.
    """
    return _correlate(x, weight, bias, stride, padding, dilation, groups)


@conv1d.spec
def _(x: Spec, weight: Spec, bias: Spec | None = None, **options: Any) -> Spec:
    return _spec("conv1d", 1, x, weight, bias, **options)


@conv1d.plan
def _(gpu: Gpu, outputs: Sequence[Spec], x: Spec, weight: Spec, bias: Spec | None = None, **options: Any) -> Plan:
    return _plan(gpu, outputs[0], x, weight, bias, **options)


@op
def conv2d(
    x: F32, weight: F32, bias: F32 | None = None, *,
    stride: Size = 1, padding: Size = 0, dilation: Size = 1, groups: int = 1,
) -> F32:  # fmt: skip
    """`torch.nn.functional.conv2d`: a cross-correlation, the kernel is not flipped.

    x         (N, Cin, H, W) float32
    weight    (Cout, Cin / groups, KH, KW) float32
    bias      (Cout,) float32, or None
    stride, padding, dilation  as in `conv1d`: an int, or a tuple in the order (H, W)
    groups    as in `conv1d`
    returns   (N, Cout, Hout, Wout) float32; sums in float64 (float32 on the GPU)

    W is a constant of the kernel: a width that was not there before compiles it anew. Raises ShapeError.
    """
    return _correlate(x, weight, bias, stride, padding, dilation, groups)


@conv2d.spec
def _(x: Spec, weight: Spec, bias: Spec | None = None, **options: Any) -> Spec:
    return _spec("conv2d", 2, x, weight, bias, **options)


@conv2d.plan
def _(gpu: Gpu, outputs: Sequence[Spec], x: Spec, weight: Spec, bias: Spec | None = None, **options: Any) -> Plan:
    return _plan(gpu, outputs[0], x, weight, bias, **options)


@op
def conv3d(
    x: F32, weight: F32, bias: F32 | None = None, *,
    stride: Size = 1, padding: Size = 0, dilation: Size = 1, groups: int = 1,
) -> F32:  # fmt: skip
    """`torch.nn.functional.conv3d`: a cross-correlation, the kernel is not flipped.

    x         (N, Cin, D, H, W) float32
    weight    (Cout, Cin / groups, KD, KH, KW) float32
    bias      (Cout,) float32, or None
    stride, padding, dilation  as in `conv1d`: an int, or a tuple in the order (D, H, W)
    groups    as in `conv1d`
    returns   (N, Cout, Dout, Hout, Wout) float32; sums in float64 (float32 on the GPU)

    H and W are constants of the kernel: sizes that were not there before compile it anew. Raises ShapeError.
    """
    return _correlate(x, weight, bias, stride, padding, dilation, groups)


@conv3d.spec
def _(x: Spec, weight: Spec, bias: Spec | None = None, **options: Any) -> Spec:
    return _spec("conv3d", 3, x, weight, bias, **options)


@conv3d.plan
def _(gpu: Gpu, outputs: Sequence[Spec], x: Spec, weight: Spec, bias: Spec | None = None, **options: Any) -> Plan:
    return _plan(gpu, outputs[0], x, weight, bias, **options)


def _correlate(x: F32, weight: F32, bias: F32 | None, *options: Any) -> F32:
    *per_axis, groups = options
    stride, padding, dilation = (axes(value, x.ndim - 2) for value in per_axis)
    n, c_in, *sizes = x.shape
    c_out, _, *kernel = weight.shape
    lengths = _output_sizes(sizes, kernel, stride, padding, dilation)
    padded = np.pad(x.astype(np.float64), [(0, 0), (0, 0), *((p, p) for p in padding)])
    wide = padded.reshape(n, groups, c_in // groups, *padded.shape[2:])
    matrices = weight.astype(np.float64).reshape(groups, c_out // groups, c_in // groups, *kernel)
    sums = np.zeros((n, groups, c_out // groups, math.prod(lengths)))
    for tap in np.ndindex(*kernel):
        seen = strided([t * d for t, d in zip(tap, dilation)], stride, lengths)
        sums += matrices[(..., *tap)] @ wide[seen].reshape(n, groups, c_in // groups, math.prod(lengths))
    return with_bias(sums.reshape(n, c_out, *lengths), bias)


def strided(starts: Sequence[int], strides: Sequence[int], counts: Sequence[int]) -> Any:
    """The index that picks `counts` places of the last axes, `strides` apart."""
    return (..., *(slice(a, a + s * (n - 1) + 1, s) for a, s, n in zip(starts, strides, counts, strict=True)))


def with_bias(sums: F64, bias: F32 | None) -> F32:
    """The sums (N, C, ...) and each channel's bias, narrowed once."""
    if bias is not None:
        sums = sums + bias.astype(np.float64).reshape(-1, *[1] * (sums.ndim - 2))
    return sums.astype(np.float32)


def _output_sizes(sizes: Sequence[int], kernel: Sequence[int], *options: Sequence[int]) -> tuple[int, ...]:
    return tuple(
        conv1d_output_length(n, k, stride=s, padding=p, dilation=d)
        for n, k, s, p, d in zip(sizes, kernel, *options, strict=True)
    )


def _spec(
    name: str, rank: int, x: Spec, weight: Spec, bias: Spec | None, *,
    stride: Size = 1, padding: Size = 0, dilation: Size = 1, groups: int = 1,
) -> Spec:  # fmt: skip
    stride = check_axes(name, "stride", stride, rank, 1)
    padding = check_axes(name, "padding", padding, rank, 0)
    dilation = check_axes(name, "dilation", dilation, rank, 1)
    check_arrays(name, rank, x, weight, "Cout, Cin / groups")
    (n, c_in), (c_out, share) = x.shape[:2], weight.shape[:2]
    check_groups(name, groups, Cin=c_in, Cout=c_out)
    check(share == c_in // groups, name, "weight", f"of {c_in} / {groups} = {c_in // groups} input channels", weight)
    check_bias(name, bias, c_out)
    sizes, kernel = x.shape[2:], weight.shape[2:]
    lengths = _output_sizes(sizes, kernel, stride, padding, dilation)
    held = [size + 2 * p for size, p in zip(sizes, padding)]
    spans = [d * (k - 1) + 1 for k, d in zip(kernel, dilation)]
    check(min(lengths) > 0, name, "weight", f"no wider than the padded input {held}", f"a kernel that spans {spans}")
    return Spec((n, c_out, *lengths), "float32")


def _plan(
    gpu: Gpu, output: Spec, x: Spec, weight: Spec, bias: Spec | None, *,
    stride: Size = 1, padding: Size = 0, dilation: Size = 1, groups: int = 1,
) -> Plan:  # fmt: skip
    rank = len(x.shape) - 2
    taps, steps = weight.shape[2:], axes(dilation, rank)
    constants = numbered("STRIDE", axes(stride, rank), 1) | numbered("PADDING", axes(padding, rank), 0)
    return convolution(gpu, "conv", output, x, bias, groups, taps, steps, constants)


def convolution(
    gpu: Gpu,
    folder: str,
    output: Spec,
    x: Spec,
    bias: Spec | None,
    groups: int,
    taps: Sequence[int],
    steps: Sequence[int],
    constants: dict[str, int],
    phases: Sequence[int] = (),
) -> Plan:
    """The plan of a convolution or its transpose, whose kernels share `kernels/_with/conv*.wgsl`.

    taps, steps   how many places of x an output reads along each axis, and how far they lie apart
    constants     what only the op's own part knows
    phases        into how many each axis of the output is divided, so that a tile lies in one
    """
    channels, sizes = output.shape[1] // groups, output.shape[2:]
    constants = constants | {
        "IN_CHANNELS": x.shape[1] // groups,
        "OUT_CHANNELS": channels,
        "GROUPS": groups,
        "BIAS": int(bias is not None),
        **numbered("SIZE", x.shape[2:], 1, first=1),
        **numbered("OUT", sizes, 1, first=1),
        **numbered("TAPS", taps, 1),
        **numbered("STEP", steps, 1),
    }
    # An absent bias is not read; the weight stands in its place, which is never bound in parts.
    bindings = [arg(0), arg(1), arg(1 if bias is None else 2), out(0)]
    row_bytes = [4 * math.prod(x.shape[1:]), 0, 0, 4 * math.prod(output.shape[1:])]
    if gpu.target == "cpu" or channels <= _DIRECT_CHANNELS:
        threads = math.prod(sizes) * groups * -(-channels // _THREAD_CHANNELS)
        dispatch = Dispatch(resolve(gpu, folder, "direct"), constants, bindings, (1, 1, 1))
        return by_samples(gpu, dispatch, x.shape[0], row_bytes, lambda n: -(-n * threads // _DIRECT_THREADS))
    positions = math.prod(-(-size // p) for size, p in itertools.zip_longest(sizes, phases, fillvalue=1))

    def across(n: int) -> int:
        return math.prod(phases) * -(-n * positions // _TILE_POSITIONS) * groups

    _, rows, _ = tile(channels, across(x.shape[0]) * _TILE_POSITIONS, whole=False)
    dispatch = Dispatch(resolve(gpu, folder), constants | {"ROWS": rows}, bindings, (1, 1, 1))
    return by_samples(gpu, dispatch, x.shape[0], row_bytes, lambda n: across(n) * -(-channels // rows))


def by_samples(gpu: Gpu, dispatch: Dispatch, n: int, row_bytes: Sequence[int], groups: Callable[[int], int]) -> Plan:
    """The dispatch on n samples, in parts where they are too large to bind together; `groups` of a number of samples.

    A buffer of a word a sample is bound last, and only its length is read: kernels know from it how many samples there
    are and so how long one is, and neither batch nor length is a constant.
    """
    parts = in_chunks(gpu, dispatch, n, row_bytes, lambda count: fold(groups(count)))
    counts = [part.bindings[-1].nbytes // row_bytes[-1] for part in parts]
    counted = [replace(scratch(0, "read"), nbytes=4 * count) for count in counts]
    parts = [replace(part, bindings=[*part.bindings, last]) for part, last in zip(parts, counted, strict=True)]
    return Plan(parts, [Spec((n,), "uint32")])


def axes(value: Size, rank: int) -> tuple[int, ...]:
    """A size for each axis: an int stands for all of them."""
    return (value,) * rank if isinstance(value, int) else tuple(value)


def numbered(name: str, values: Sequence[int], rest: int, *, first: int = 0) -> dict[str, int]:
    """A constant for each of the three axes of the kernels from `first` on; `rest` for axes that are absent."""
    padded = itertools.islice(itertools.chain(values, itertools.repeat(rest)), 3)
    return {f"{name}{i}": value for i, value in enumerate(padded) if i >= first}


def check_axes(name: str, argument: str, value: Any, rank: int, least: int) -> tuple[int, ...]:
    """`axes`, after a check."""
    values: tuple[Any, ...] = axes(value, rank) if isinstance(value, (int, Sequence)) else ()
    rule = f"an int or a tuple of {rank}, at least {least}"
    fits = len(values) == rank and all(isinstance(v, int) and v >= least for v in values)
    check(fits, name, argument, rule, repr(value))
    return values


def check_arrays(name: str, rank: int, x: Spec, weight: Spec, layout: str) -> None:
    """x and weight are float32 of `rank` spatial axes; nothing but the batch is empty. `layout` leads the weight."""
    for argument, spec, sizes, shape in (
        ("x", x, x.shape[1:], f"(N, Cin, {_LENGTHS[rank - 1]}), all but N at least 1"),
        ("weight", weight, weight.shape, f"({layout}, {_KERNELS[rank - 1]}), all at least 1"),
    ):
        fits = spec.dtype == "float32" and len(spec.shape) == rank + 2 and min(sizes) > 0
        check(fits, name, argument, f"float32 of shape {shape}", spec)


def check_groups(name: str, groups: Any, **channels: int) -> None:
    """The groups divide the channels."""
    fits = isinstance(groups, int) and groups > 0 and all(c % groups == 0 for c in channels.values())
    rule = " and of ".join(f"{argument} = {c}" for argument, c in channels.items())
    check(fits, name, "groups", f"a divisor of {rule}", repr(groups))


def check_bias(name: str, bias: Spec | None, c_out: int) -> None:
    """A bias is one value an output channel."""
    fits = bias is None or (bias.dtype == "float32" and bias.shape == (c_out,))
    check(fits, name, "bias", f"float32 of shape ({c_out},)", bias)
