"""The last operation of a step that verifies drafts: what the model would have chosen stays, and one token more."""

from __future__ import annotations

from typing import Any

import numpy as np

from webxpu.gpu.kernels import resolve
from webxpu.gpu.op import check, op
from webxpu.gpu.plan import Dispatch, Plan, Spec, arg
from webxpu.gpu.target import Gpu
from webxpu.llm import state as words
from webxpu.llm.state import State
from webxpu.ops.advance import append, check_history


@op(writes=("history", "state"))
def accept(values: Any, ids: Any, history: Any, state: Any, *, first: int = 0) -> None:
    """Picks the best id of each row as `advance` does, and appends them in order up to and including the first that
    differs from the token that was drafted in its place.

    values   (L, n) float32, of which `state.rows` rows count
    ids      (L, n) int32
    history  (C,) int32, written: the drafts stand behind `state.position`, as `draft` writes them
    state    (64,) uint32, written
    first    the row to begin with: others may be those of other sequences

    State and history end as if `advance` had been called for one token after the other: no row counts behind a stop id
    or the end of the capacity. Only runs grows by one in all. `state.rows` outside 1 to L - first takes the nearest.
    The window must not roll. Raises ShapeError.
    """
    before = State.from_words(state)
    if before.done:
        return
    rows = min(max(before.rows, 1), len(values) - first)
    state[words.ROWS] = 1
    for row in range(first, first + rows):
        token = int(ids[row][np.lexsort((ids[row], -values[row].astype(np.float64)))[0]])
        place = min(int(state[words.POSITION]) + 1, len(history) - 1)
        drafted = history[place] == token
        append(token, history, state)  # nothing any more behind a stop id
        state[words.RUNS] = before.runs + 1
        if not drafted:
            break


@accept.spec
def _(values: Spec, ids: Spec, history: Spec, state: Spec, *, first: int = 0) -> tuple[Spec, ...]:
    check(values.dtype == "float32" and len(values.shape) == 2, "accept", "values", "float32[L, n]", values)
    check(values.size >= 1, "accept", "values", "at least one row and one candidate", values)
    rule = f"int32[{values.shape[0]}, {values.shape[1]}]"
    check(ids == Spec(values.shape, "int32"), "accept", "ids", rule, ids)
    check(0 <= first < values.shape[0], "accept", "first", f"from 0 to {values.shape[0] - 1}", first)
    check_history("accept", history, state)
    check(history.size >= 1, "accept", "history", "at least one place", history)
    return ()


@accept.plan
def _(
    gpu: Gpu, outputs: tuple[Spec, ...], values: Spec, ids: Spec, history: Spec, state: Spec, *, first: int = 0
) -> Plan:
    bindings = [arg(0), arg(1), arg(2, "read_write"), arg(3, "read_write")]
    return Plan([Dispatch(resolve(gpu, "accept"), {"ROWS": values.shape[0], "FIRST": first}, bindings, (1, 1, 1))])
