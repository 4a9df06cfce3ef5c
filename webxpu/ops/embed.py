"""The start of a language model: the embeddings of this step's tokens, read from the history."""

from __future__ import annotations

from typing import Any

import numpy as np

from webxpu.gpu.kernels import resolve
from webxpu.gpu.op import check, op
from webxpu.gpu.plan import Dispatch, Plan, Spec, arg, fold, out
from webxpu.gpu.target import Gpu
from webxpu.llm.state import State
from webxpu.ops.advance import check_history
from webxpu.ops.matvec import check_weight
from webxpu.quant.ggml import Blocks, dequantize, weight_part

WORKGROUP = 64
BLOCK = 32


@op
def embed(table: Any, history: Any, state: Any, *, rows: int, scale: float = 1.0) -> Any:
    """`torch.nn.functional.embedding(history[position : position + rows], table) * scale`.

    table    (V, K) float32 or Blocks
    history  (C,) int32, a ring: the id at position p is history[(state.evicted + p) % C]
    state    (64,) uint32
    rows     rows that the program has; row r is that of position `state.position + r`
    scale    the exact factor: a model that rounds the root of K to bfloat16 gives what that is
    returns  (rows, K) float32, exactly the table's values where scale is 1

    A position at or past C and an id outside the table give a row of zeros. Raises ShapeError.
    """
    now = State.from_words(state)
    positions = now.position + np.arange(rows)
    ids = np.where(positions < len(history), history[(now.evicted + positions) % len(history)], -1)
    inside = (ids >= 0) & (ids < table.shape[0])
    picked = np.where(inside, ids, 0)
    dense = dequantize(table.rows(picked)) if isinstance(table, Blocks) else table[picked]
    return np.where(inside[:, None], dense * np.float32(scale), np.float32(0))


@embed.spec
def _(table: Spec, history: Spec, state: Spec, *, rows: int, scale: float = 1.0) -> Spec:
    check_weight("embed", table)
    check_history("embed", history, state)
    check(history.shape[0] >= 1, "embed", "history", "at least one position", history)
    check(rows >= 1, "embed", "rows", "at least 1", rows)
    return Spec((rows, table.shape[1]), "float32")


@embed.plan
def _(
    gpu: Gpu, outputs: tuple[Spec, ...], table: Spec, history: Spec, state: Spec, *, rows: int, scale: float = 1.0
) -> Plan:
    v, k = table.shape
    kernel = resolve(gpu, "embed", weights=weight_part(table.dtype, table.shape))
    grid = fold(-(-rows * -(-k // BLOCK) // WORKGROUP))
    constants = {"N": v, "K": k, "SCALE": scale}
    return Plan([Dispatch(kernel, constants, [arg(0), arg(1), out(0), arg(2, "uniform")], grid)])
