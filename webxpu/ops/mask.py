"""Tokens that a constraint does not allow, made impossible."""

from __future__ import annotations

from typing import Any

import numpy as np

from webxpu.gpu.kernels import resolve
from webxpu.gpu.op import check, op
from webxpu.gpu.plan import Dispatch, Plan, Spec, arg, flat_grid, out
from webxpu.gpu.target import Gpu
from webxpu.ops.penalize import check_logits

# Stands for -inf, which WGSL does not promise to know; below what a banned token has.
FORBIDDEN = np.finfo(np.float32).min
WORD_BITS = 32


@op
def mask(logits: Any, allowed: Any) -> Any:
    """The logits of allowed tokens; the others become impossible.

    logits   (V,) float32
    allowed  (ceil(V / 32),) uint32: token i is allowed where bit i % 32 of word i / 32 is 1
    returns  (V,) float32; a forbidden token is at the lowest float32, which is a probability of 0

    Raises ShapeError.
    """
    ids = np.arange(len(logits), dtype=np.uint32)
    bits = allowed[ids // WORD_BITS] >> ids % WORD_BITS & 1
    return np.where(bits == 1, logits, FORBIDDEN)


@mask.spec
def _(logits: Spec, allowed: Spec) -> Spec:
    check_logits("mask", logits)
    words = -(-logits.size // WORD_BITS)
    check(allowed == Spec((words,), "uint32"), "mask", "allowed", f"uint32[{words}]", allowed)
    return logits


@mask.plan
def _(gpu: Gpu, outputs: tuple[Spec, ...], logits: Spec, allowed: Spec) -> Plan:
    return Plan([Dispatch(resolve(gpu, "mask"), {}, [arg(0), arg(1), out()], flat_grid(logits.size))])
