"""The end of a language model: norm and logits of one row, or the best token of every 64 of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from webxpu.gpu.op import check, op
from webxpu.gpu.plan import Spec
from webxpu.llm.state import State
from webxpu.ops.cache import check_state
from webxpu.ops.matvec import matvec
from webxpu.ops.norm_qkv import check_norm
from webxpu.ops.rmsnorm import rmsnorm

# Vocabulary rows that one workgroup handles and one candidate stands for.
CANDIDATE_ROWS = 64


@op
def norm_head(weight: Any, x: Any, gain: Any, state: Any, *, eps: float) -> Any:
    """`matvec(weight, rmsnorm(x[state.rows - 1], gain))`: the logits after this step's last row.

    weight   (V, K) float32 or Blocks
    x        (L, K) float32
    gain     (K,) float32, the norm's weight
    state    (64,) uint32
    returns  (V,) float32, summed in float64 (float32 on the GPU)

    `state.rows` outside 1 to L takes the nearest row. Raises ShapeError.
    """
    row = min(max(State.from_words(state).rows, 1), len(x)) - 1
    return matvec(weight, rmsnorm(x[row], gain, eps=eps))


@norm_head.spec
def _(weight: Spec, x: Spec, gain: Spec, state: Spec, *, eps: float) -> Spec:
    check_norm("norm_head", x, gain, weight)
    check(x.shape[0] >= 1, "norm_head", "x", "at least one row", x)
    check_state("norm_head", state)
    return Spec((weight.shape[0],), "float32")


@op
def norm_head_argmax(weight: Any, x: Any, gain: Any, state: Any, *, eps: float) -> Any:
    """The best token of every 64 of `norm_head`'s logits, which are not kept; `advance` picks the best of those.

    The arguments are those of `norm_head`.
    returns  values (ceil(V / 64),) float32, ids (ceil(V / 64),) int32; the lowest id where logits tie

    Raises ShapeError.
    """
    logits = norm_head(weight, x, gain, state, eps=eps)
    padded = np.full(-(-len(logits) // CANDIDATE_ROWS) * CANDIDATE_ROWS, -np.inf, np.float32)
    padded[: len(logits)] = logits
    rows = padded.reshape(-1, CANDIDATE_ROWS)
    best = rows.argmax(axis=1)
    return rows.max(axis=1), (best + np.arange(len(rows)) * CANDIDATE_ROWS).astype(np.int32)


@norm_head_argmax.spec
def _(weight: Spec, x: Spec, gain: Spec, state: Spec, *, eps: float) -> tuple[Spec, Spec]:
    check_norm("norm_head_argmax", x, gain, weight)
    check(x.shape[0] >= 1, "norm_head_argmax", "x", "at least one row", x)
    check_state("norm_head_argmax", state)
    candidates = -(-weight.shape[0] // CANDIDATE_ROWS)
    return Spec((candidates,), "float32"), Spec((candidates,), "int32")
