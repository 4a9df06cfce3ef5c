"""Transposed convolutions over one or two axes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from webxpu.gpu.op import check, op
from webxpu.gpu.plan import Plan, Spec
from webxpu.gpu.target import Gpu
from webxpu.ops.conv import (
    F32,
    Size,
    axes,
    check_arrays,
    check_axes,
    check_bias,
    check_groups,
    convolution,
    numbered,
    strided,
    with_bias,
)


def conv_transpose1d_output_length(
    length: int, kernel: int, *, stride: int = 1, padding: int = 0, output_padding: int = 0, dilation: int = 1
) -> int:
    """The length that `conv_transpose1d` makes of `length`, with the same options and a kernel of `kernel` elements; of
    each axis of conv_transpose2d likewise. Not positive where too much is cropped."""
    return (length - 1) * stride - 2 * padding + dilation * (kernel - 1) + output_padding + 1


@op
def conv_transpose1d(
    x: F32, weight: F32, bias: F32 | None = None, *,
    stride: Size = 1, padding: Size = 0, output_padding: Size = 0, dilation: Size = 1, groups: int = 1,
) -> F32:  # fmt: skip
    """`torch.nn.functional.conv_transpose1d`: sample l meets element k of the kernel at `l * stride + k * dilation -
    padding`. It undoes a convolution's shape, not its values.

    x               (N, Cin, L) float32
    weight          (Cin, Cout / groups, K) float32: Cin leads, unlike conv1d's
    bias            (Cout,) float32, or None
    padding         samples cropped at both ends
    output_padding  samples more at the tail: fewer than stride or than dilation. What lies there is computed, it need
                    not be 0
    stride          samples from one copy of the kernel to the next
    dilation        samples from one element of the kernel to the next; these four are each an int or a tuple of one
    groups          into how many parts Cin and Cout are cut: part g of the result reads part g of x alone
    returns         (N, Cout, Lout) float32, Lout by `conv_transpose1d_output_length`; sums in float64 (float32 on the
                    GPU)

    Inputs of any length and batch run the same kernel. Raises ShapeError.
    """
    return _spread(x, weight, bias, stride, padding, output_padding, dilation, groups)


@conv_transpose1d.spec
def _(x: Spec, weight: Spec, bias: Spec | None = None, **options: Any) -> Spec:
    return _spec("conv_transpose1d", 1, x, weight, bias, **options)


@conv_transpose1d.plan
def _(gpu: Gpu, outputs: Sequence[Spec], x: Spec, weight: Spec, bias: Spec | None = None, **options: Any) -> Plan:
    return _plan(gpu, outputs[0], x, weight, bias, **options)


@op
def conv_transpose2d(
    x: F32, weight: F32, bias: F32 | None = None, *,
    stride: Size = 1, padding: Size = 0, output_padding: Size = 0, dilation: Size = 1, groups: int = 1,
) -> F32:  # fmt: skip
    """`torch.nn.functional.conv_transpose2d`: see `conv_transpose1d`.

    x         (N, Cin, H, W) float32
    weight    (Cin, Cout / groups, KH, KW) float32: Cin leads, unlike conv2d's
    bias      (Cout,) float32, or None
    stride, padding, output_padding, dilation  as in `conv_transpose1d`: an int, or a tuple in the order (H, W)
    groups    as in `conv_transpose1d`
    returns   (N, Cout, Hout, Wout) float32; sums in float64 (float32 on the GPU)

    W is a constant of the kernel: a width that was not there before compiles it anew. Raises ShapeError.
    """
    return _spread(x, weight, bias, stride, padding, output_padding, dilation, groups)


@conv_transpose2d.spec
def _(x: Spec, weight: Spec, bias: Spec | None = None, **options: Any) -> Spec:
    return _spec("conv_transpose2d", 2, x, weight, bias, **options)


@conv_transpose2d.plan
def _(gpu: Gpu, outputs: Sequence[Spec], x: Spec, weight: Spec, bias: Spec | None = None, **options: Any) -> Plan:
    return _plan(gpu, outputs[0], x, weight, bias, **options)


def _spread(x: F32, weight: F32, bias: F32 | None, *options: Any) -> F32:
    *per_axis, groups = options
    stride, padding, output_padding, dilation = (axes(value, x.ndim - 2) for value in per_axis)
    n, c_in, *sizes = x.shape
    share, kernel = weight.shape[1], weight.shape[2:]
    lengths = _output_sizes(sizes, kernel, stride, padding, output_padding, dilation)
    wide = x.astype(np.float64).reshape(n, groups, c_in // groups, math.prod(sizes))
    matrices = weight.astype(np.float64).reshape(groups, c_in // groups, share, *kernel).swapaxes(1, 2)
    sums = np.zeros((n, groups, share, *(size + 2 * p for size, p in zip(lengths, padding))))
    for tap in np.ndindex(*kernel):
        # Without the tail of output_padding, and before cropping, each tap's places lie inside.
        met = strided([t * d for t, d in zip(tap, dilation)], stride, sizes)
        sums[met] += (matrices[(..., *tap)] @ wide).reshape(n, groups, share, *sizes)
    kept = sums[strided(padding, [1] * len(padding), lengths)]
    return with_bias(kept.reshape(n, groups * share, *lengths), bias)


def _output_sizes(sizes: Sequence[int], kernel: Sequence[int], *options: Sequence[int]) -> tuple[int, ...]:
    return tuple(
        conv_transpose1d_output_length(n, k, stride=s, padding=p, output_padding=o, dilation=d)
        for n, k, s, p, o, d in zip(sizes, kernel, *options, strict=True)
    )


def _spec(
    name: str, rank: int, x: Spec, weight: Spec, bias: Spec | None, *,
    stride: Size = 1, padding: Size = 0, output_padding: Size = 0, dilation: Size = 1, groups: int = 1,
) -> Spec:  # fmt: skip
    stride = check_axes(name, "stride", stride, rank, 1)
    padding = check_axes(name, "padding", padding, rank, 0)
    output_padding = check_axes(name, "output_padding", output_padding, rank, 0)
    dilation = check_axes(name, "dilation", dilation, rank, 1)
    bounds = [max(s, d) - 1 for s, d in zip(stride, dilation)]
    fits = all(o <= most for o, most in zip(output_padding, bounds))
    check(fits, name, "output_padding", f"less than stride or dilation, at most {bounds}", list(output_padding))
    check_arrays(name, rank, x, weight, "Cin, Cout / groups")
    (n, c_in), (led, share) = x.shape[:2], weight.shape[:2]
    check(led == c_in, name, "weight", f"of Cin = {c_in} as x is, before Cout / groups", weight)
    check_groups(name, groups, Cin=c_in)
    check_bias(name, bias, share * groups)
    lengths = _output_sizes(x.shape[2:], weight.shape[2:], stride, padding, output_padding, dilation)
    check(min(lengths) > 0, name, "padding", "too small to crop all of the output", f"a size of {list(lengths)}")
    return Spec((n, share * groups, *lengths), "float32")


def _plan(
    gpu: Gpu, output: Spec, x: Spec, weight: Spec, bias: Spec | None, *,
    stride: Size = 1, padding: Size = 0, output_padding: Size = 0, dilation: Size = 1, groups: int = 1,
) -> Plan:  # fmt: skip
    rank, kernel = len(x.shape) - 2, weight.shape[2:]
    strides, dilations = axes(stride, rank), axes(dilation, rank)
    shared = [math.gcd(s, d) for s, d in zip(strides, dilations)]
    periods = [s // g for s, g in zip(strides, shared)]
    falls = [d // g for d, g in zip(dilations, shared)]
    constants = {
        **numbered("KERNEL", kernel, 1),
        **numbered("STRIDE", strides, 1),
        **numbered("PADDING", axes(padding, rank), 0),
        **numbered("PERIOD", periods, 1),
        **numbered("INVERSE", [pow(f, -1, p) for f, p in zip(falls, periods)], 0),
    }
    taps = [-(-k // p) for k, p in zip(kernel, periods)]
    steps = [-f for f in falls]
    return convolution(gpu, "conv_transpose", output, x, bias, groups, taps, steps, constants, strides)
