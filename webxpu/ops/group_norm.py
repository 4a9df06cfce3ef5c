"""Group norm over channels and what follows them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from webxpu.gpu.kernels import resolve
from webxpu.gpu.op import check, op
from webxpu.gpu.plan import ALIGNMENT_BYTES, Binding, Dispatch, Plan, Spec, arg, flat_grid, fold, out, scratch
from webxpu.gpu.target import Gpu
from webxpu.ops._lines import REAL, narrow, team
from webxpu.ops.layernorm import normed

# Groups are divided until so many workgroups have a share, ...
_BUSY_TEAMS = 1024
# ... unless it would be smaller than this, or the shares fewer than two more dispatches are worth, or more than the
# thread that combines them takes in a moment.
_SHARE = 8192
_LEAST_PARTS = 4
_MOST_PARTS = 64
# Threads of a workgroup of kernels/group_norm/combine.wgsl.
_COMBINE_THREADS = 64


@op
def group_norm(x: NDArray[Any], weight: NDArray[Any], bias: NDArray[Any], *, groups: int, eps: float) -> NDArray[Any]:
    """`torch.nn.functional.group_norm(x, groups, weight, bias, eps)`.

    x        (N, C, ...) float32 or float16: the channels are the second axis; those of (N, L, C) are not norms of it
    weight   (C,), x's dtype; each channel has its own, though a group shares mean and variance
    bias     (C,), x's dtype
    groups   of C / groups channels, one after the other
    eps      added to the mean of squares inside the root, at least 0: a constant group gives the bias
    returns  x's shape and dtype, rounded once; the mean, then the mean of squared deviations (biased) in float64
             (float32 on the GPU, less the group's first value, so that a large mean costs no digits)

    Raises ShapeError.
    """
    n, c = x.shape[:2]
    if not x.size:
        return x.copy()
    lines = normed(x.astype(np.float64).reshape(n, groups, -1), eps).reshape(n, c, -1)
    return narrow(lines * weight.astype(np.float64)[:, None] + bias.astype(np.float64)[:, None], x).reshape(x.shape)


@group_norm.spec
def _(x: Spec, weight: Spec, bias: Spec, *, groups: int, eps: float) -> Spec:
    rule = "float32 or float16 of shape (N, C, ...), C >= 1"
    check(x.dtype in REAL and len(x.shape) >= 2 and x.shape[1], "group_norm", "x", rule, x)
    c = x.shape[1]
    check(
        groups >= 1 and c % groups == 0, "group_norm", "groups", f"a number by which {c} channels are divisible", groups
    )
    for name, given in (("weight", weight), ("bias", bias)):
        check(given == Spec((c,), x.dtype), "group_norm", name, f"{x.dtype} of shape ({c},)", given)
    check(eps >= 0, "group_norm", "eps", "at least 0", eps)
    return x


@group_norm.plan
def _(gpu: Gpu, outputs: Sequence[Spec], x: Spec, weight: Spec, bias: Spec, *, groups: int, eps: float) -> Plan:
    if not x.size:
        return Plan([])
    sample_bytes = math.prod(x.shape[1:]) * np.dtype(x.dtype).itemsize
    limit = gpu.limits["maxStorageBufferBindingSize"]
    step = ALIGNMENT_BYTES // math.gcd(ALIGNMENT_BYTES, sample_bytes)
    count = limit // sample_bytes // step * step  # samples that can be bound together
    if x.nbytes <= limit or not count:
        return _normed(gpu, x, arg(0), out(0), groups, eps)
    dispatches: list[Dispatch] = []
    shared: list[Spec] = []
    for first in range(0, x.shape[0], count):
        some = Spec((min(count, x.shape[0] - first), *x.shape[1:]), x.dtype)
        source, target = (replace(b, offset=first * sample_bytes, nbytes=some.nbytes) for b in (arg(0), out(0)))
        plan = _normed(gpu, some, source, target, groups, eps)
        dispatches += [replace(d, bindings=[_exactly(b, plan) for b in d.bindings]) for d in plan.dispatches]
        pairs = itertools.zip_longest(shared, plan.scratch)
        shared = [max(filter(None, pair), key=lambda spec: spec.nbytes) for pair in pairs]
    return Plan(dispatches, shared)


def _exactly(binding: Binding, plan: Plan) -> Binding:
    """A scratch binding with the plan's own size: plans that run after each other share a buffer."""
    return replace(binding, nbytes=plan.scratch[binding.index].nbytes) if binding.source == "scratch" else binding


def _normed(gpu: Gpu, x: Spec, source: Binding, target: Binding, groups: int, eps: float) -> Plan:
    n, c = x.shape[:2]
    per, dtype = c // groups, REAL[x.dtype]
    lines, values = n * groups, x.size // (n * groups)
    # A float16 tensor of an odd size is bound with the other half of its last word, which only counts for one channel.
    spare = x.size % 2 if dtype and n * c == 1 else 0
    layout = {"N": n, "C": c, "PER": per, "SPARE": spare}
    wanted = min(_BUSY_TEAMS // lines, values // _SHARE, _MOST_PARTS)
    if wanted < _LEAST_PARTS:
        kernel = resolve(gpu, "group_norm", dtype=dtype)
        threads, grid = team(kernel, values)
        constants = {**layout, "EPS": eps, "THREADS": threads}
        return Plan([Dispatch(kernel, constants, [source, arg(1), arg(2), target], grid(lines))])
    parts = 1 << wanted.bit_length() - 1  # a power of two, so that few numbers are compiled
    kernel = resolve(gpu, "group_norm", "share", dtype=dtype)
    threads, grid = team(kernel, values // parts)
    shares = Dispatch(kernel, {**layout, "PARTS": parts, "THREADS": threads}, [source, scratch(0)], grid(lines * parts))
    combine = Dispatch(
        resolve(gpu, "group_norm", "combine"),
        {"PARTS": parts, "EPS": eps},
        [scratch(0, "read"), scratch(1)],
        fold(-(-lines // _COMBINE_THREADS)),
    )
    apply = Dispatch(
        resolve(gpu, "group_norm", "apply", dtype=dtype),
        {**layout, "EPS": eps},
        [source, arg(1), arg(2), scratch(1, "read"), target],
        flat_grid(x.size),
    )
    return Plan([shares, combine, apply], [Spec((lines, parts, 4), "float32"), Spec((lines, 4), "float32")])
