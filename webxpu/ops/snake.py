"""Snake, the periodic activation of audio decoders: its frequency is a parameter of each channel."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from webxpu.gpu.kernels import resolve
from webxpu.gpu.op import check, op
from webxpu.gpu.plan import Binding, Dispatch, Plan, Spec, arg, out
from webxpu.gpu.target import Gpu
from webxpu.ops.conv import by_samples

F32 = NDArray[np.float32]

# Added to the divisor, whose sign is kept: -EPS divides by zero, as it does upstream.
EPS = 1e-9
# Elements of a workgroup, see kernels/_with/flat.wgsl.
_FLAT = 1024


@op
def snake(x: F32, alpha: F32) -> F32:
    """`x + sin(alpha * x)^2 / (alpha + 1e-9)`: Snake1d of DAC (arXiv 2006.08195). torch has no function for it.

    x        (N, C, L) float32
    alpha    (C,) float32, as it is: a checkpoint that stores logarithms (BigVGAN's do) has to be exponentiated by the
             caller; its log of 1, 0, would make this the identity and nothing would say so
    returns  x's shape, float32; computed in float64 (float32 on the GPU, where |alpha * x| may reach a few thousand)

    alpha = 0 gives x. Raises ShapeError.
    """
    return _snake(x, alpha, alpha)


@snake.spec
def _(x: Spec, alpha: Spec) -> Spec:
    return _check("snake", x, alpha=alpha)


@snake.plan
def _(gpu: Gpu, outputs: Sequence[Spec], x: Spec, alpha: Spec) -> Plan:
    return _plan(gpu, x, [arg(0), arg(1), arg(1), out(0)])


@op
def snake_beta(x: F32, alpha: F32, beta: F32) -> F32:
    """`x + sin(alpha * x)^2 / (beta + 1e-9)`: SnakeBeta of BigVGAN, whose strength is a parameter of its own.

    x        (N, C, L) float32
    alpha    (C,) float32, and
    beta     (C,) float32, as they are: logarithms have to be exponentiated by the caller
    returns  x's shape, float32; computed in float64 (float32 on the GPU, where |alpha * x| may reach a few thousand)

    beta = alpha is `snake`; beta = 0 divides by 1e-9. Raises ShapeError.
    """
    return _snake(x, alpha, beta)


@snake_beta.spec
def _(x: Spec, alpha: Spec, beta: Spec) -> Spec:
    return _check("snake_beta", x, alpha=alpha, beta=beta)


@snake_beta.plan
def _(gpu: Gpu, outputs: Sequence[Spec], x: Spec, alpha: Spec, beta: Spec) -> Plan:
    return _plan(gpu, x, [arg(0), arg(1), arg(2), out(0)])


def _snake(x: F32, alpha: F32, beta: F32) -> F32:
    wide, a, b = (v.astype(np.float64) for v in (x, alpha[:, None], beta[:, None]))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(wide + np.sin(a * wide) ** 2 / (b + EPS), np.float32)


def _check(name: str, x: Spec, **parameters: Spec) -> Spec:
    check(x.dtype == "float32" and len(x.shape) == 3, name, "x", "float32 of shape (N, C, L)", x)
    for argument, spec in parameters.items():
        fits = spec.dtype == "float32" and spec.shape == x.shape[1:2]
        check(fits, name, argument, f"float32 of shape ({x.shape[1]},)", spec)
    return x


def _plan(gpu: Gpu, x: Spec, bindings: Sequence[Binding]) -> Plan:
    n, c, length = x.shape
    dispatch = Dispatch(resolve(gpu, "snake"), {"EPS": EPS}, bindings, (1, 1, 1))
    row = 4 * max(c * length, 1)  # of an empty array nothing is run
    row_bytes = [row, 0, 0, row]
    return by_samples(gpu, dispatch, n, row_bytes, lambda count: -(-count * c * length // _FLAT))
