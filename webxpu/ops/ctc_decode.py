"""Greedy decoding of connectionist temporal classification (CTC)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from webxpu.gpu.kernels import resolve
from webxpu.gpu.op import check, op
from webxpu.gpu.plan import Dispatch, Plan, Spec, arg, fold, in_chunks, out, scratch
from webxpu.gpu.target import Gpu

# Threads of a workgroup that gives each subgroup a row, and of one that gives each thread a row.
_SUBGROUP_THREADS, _ROW_THREADS = 128, 64


@op
def ctc_decode(scores: NDArray[np.float32], *, blank: int = 0) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """The best path of each sequence: the best class of each frame, repeats made one, then blanks dropped
    (`torch.unique_consecutive(scores.argmax(-1))` without the blank).

    scores   (B, T, C) float32: logits, log-probabilities or probabilities
    blank    the class that stands for nothing, as in `torch.nn.CTCLoss`; one outside 0 .. C - 1 drops nothing
    returns  tokens (B, T) int32, padded with -1, and lengths (B,) int32

    Repeats go first, so 3 blank 3 gives 3 twice. Of equal scores the lowest class wins. With a NaN among a frame's
    scores its class says nothing. Raises ShapeError.
    """
    b, t, _ = scores.shape
    path = scores.argmax(axis=-1)
    tokens, lengths = np.full((b, t), -1, np.int32), np.zeros(b, np.int32)
    for i, row in enumerate(path):
        kept = row[np.insert(row[1:] != row[:-1], 0, True)[:t]]
        kept = kept[kept != blank]
        tokens[i, : len(kept)] = kept
        lengths[i] = len(kept)
    return tokens, lengths


@ctc_decode.spec
def _(scores: Spec, *, blank: int = 0) -> tuple[Spec, ...]:
    rule = "float32 of shape (B, T, C), C >= 1"
    fits = scores.dtype == "float32" and len(scores.shape) == 3 and scores.shape[2] >= 1
    check(fits, "ctc_decode", "scores", rule, scores)
    check(-(2**31) <= blank < 2**31, "ctc_decode", "blank", "an int32", blank)
    return Spec(scores.shape[:2], "int32"), Spec(scores.shape[:1], "int32")


@ctc_decode.plan
def _(gpu: Gpu, outputs: Sequence[Spec], scores: Spec, *, blank: int = 0) -> Plan:
    b, t, c = scores.shape
    kernel = resolve(gpu, "ctc_decode", "path")
    rows = 1  # that a workgroup takes at least
    if kernel.features:
        rows = _SUBGROUP_THREADS // (gpu.subgroup_sizes or (1, _SUBGROUP_THREADS))[1]
    elif kernel.variant.target == "cpu":
        rows = _ROW_THREADS
    whole = Dispatch(kernel, {"C": c}, [arg(0), scratch(0)], (1, 1, 1))
    paths = in_chunks(gpu, whole, b * t, [c * 4, 4], lambda count: fold(-(-count // rows))) if t else []
    constants = {"BLANK": blank, "EMPTY": int(t == 0)}
    bindings = [scratch(0, "read"), out(0), out(1)]
    kernel = resolve(gpu, "ctc_decode", "collapse")
    groups = -(-b // _ROW_THREADS) if kernel.variant.target == "cpu" else b
    collapse = Dispatch(kernel, constants, bindings, fold(groups))
    return Plan([*paths, collapse], [Spec((b, t), "int32")])
