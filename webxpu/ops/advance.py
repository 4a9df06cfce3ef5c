"""The last operation of a step: the chosen token goes into the history and the state moves on."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from webxpu.gpu.kernels import resolve
from webxpu.gpu.op import check, op
from webxpu.gpu.plan import Dispatch, Plan, Spec, arg
from webxpu.gpu.target import Gpu
from webxpu.llm import state as words
from webxpu.llm.state import State
from webxpu.ops.cache import check_state


@op(writes=("history", "state"))
def advance(values: Any, ids: Any, history: Any, state: Any) -> None:
    """Picks the id with the highest value, the lowest id on ties, and appends it.

    values   (n,) float32
    ids      (n,) int32
    history  (C,) int32, written: the id at every position
    state    (64,) uint32, written

    The id goes to position + rows, which becomes the position of the next step, of one row; step grows by one. done is
    set where the id is a stop id or the next position is past the capacity; then nothing is written any more, and a
    position at or past the capacity is never written. Raises ShapeError.
    """
    best = np.lexsort((ids, -values.astype(np.float64)))[0]
    append(int(ids[best]), history, state)


def append(token: int, history: NDArray[np.int32], state: NDArray[np.uint32]) -> None:
    """What `advance` and `sample` do with the token they chose."""
    now = State.from_words(state)
    if now.done:
        return
    position = now.position + now.rows
    if position < min(now.capacity, len(history)):
        history[position] = token
    state[words.POSITION], state[words.ROWS], state[words.STEP] = position, 1, now.step + 1
    state[words.DONE] = token in now.stops or position + 1 > now.capacity


def check_history(op_name: str, history: Spec, state: Spec) -> None:
    """The checks that the ops on a history share."""
    check(history.dtype == "int32" and len(history.shape) == 1, op_name, "history", "int32[C]", history)
    check_state(op_name, state)


@advance.spec
def _(values: Spec, ids: Spec, history: Spec, state: Spec) -> tuple[Spec, ...]:
    check(values.dtype == "float32" and len(values.shape) == 1, "advance", "values", "float32[n]", values)
    check(values.shape[0] >= 1, "advance", "values", "at least one candidate", values)
    check(ids == Spec(values.shape, "int32"), "advance", "ids", f"int32[{values.shape[0]}]", ids)
    check_history("advance", history, state)
    return ()


@advance.plan
def _(gpu: Gpu, outputs: tuple[Spec, ...], values: Spec, ids: Spec, history: Spec, state: Spec) -> Plan:
    bindings = [arg(0), arg(1), arg(2, "read_write"), arg(3, "read_write")]
    return Plan([Dispatch(resolve(gpu, "advance"), {}, bindings, (1, 1, 1))])
