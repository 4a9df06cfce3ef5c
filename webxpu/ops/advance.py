"""The last operation of a step: the chosen token goes into the history and the state moves on."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from webxpu.gpu.kernels import resolve
from webxpu.gpu.op import check, op
from webxpu.gpu.plan import Binding, Dispatch, Plan, Spec, arg
from webxpu.gpu.target import Gpu
from webxpu.llm import state as words
from webxpu.llm.state import State
from webxpu.ops.cache import PAGE_TOKENS, check_state


@op(writes=("history", "state", "pages"))
def advance(values: Any, ids: Any, history: Any, state: Any, pages: Any = None) -> None:
    """Picks the id with the highest value, the lowest id on ties, and appends it.

    values   (n,) float32
    ids      (n,) int32
    history  (C,) int32, written, a ring: the id at position p is history[(state.evicted + p) % C]
    state    (64,) uint32, written
    pages    (m,) int32, the cache's page table, written where the window rolls; None where it never does

    The id goes to position + rows, which becomes the position of the next step, of one row; step and runs grow by one.
    done is set where the id is a stop id or the next position is past the capacity; then nothing is written any more,
    and a position at or past the capacity is never written.

    With pages, and sinks that leave a page of the capacity, the window rolls instead of passing the capacity: of the
    table's first ceil(capacity / 64) entries the one after the sinks' goes to the end, position falls and evicted grows
    by 64. Raises ShapeError.
    """
    best = np.lexsort((ids, -values.astype(np.float64)))[0]
    append(int(ids[best]), history, state, pages)


def append(
    token: int, history: NDArray[np.int32], state: NDArray[np.uint32], pages: NDArray[np.int32] | None = None
) -> None:
    """What `advance` and `sample` do with the token they chose."""
    now = State.from_words(state)
    if now.done:
        return
    position, evicted = now.position + now.rows, now.evicted
    if pages is not None and position >= now.capacity and rolls(now):
        roll(pages, now)
        position, evicted = position - PAGE_TOKENS, evicted + PAGE_TOKENS
    if position < min(now.capacity, len(history)):
        history[(evicted + position) % len(history)] = token
    state[words.POSITION], state[words.ROWS], state[words.EVICTED] = position, 1, evicted
    state[words.STEP], state[words.RUNS] = now.step + 1, now.runs + 1
    state[words.DONE] = token in now.stops or position + 1 > now.capacity


def rolls(state: State) -> bool:
    """Whether a full cache drops a page instead of ending: it has sinks, and a page beside them."""
    return 0 < state.sinks <= state.capacity - PAGE_TOKENS


def roll(pages: NDArray[np.int32], state: State) -> None:
    """Moves the first page after the sinks to the end of the pages that the capacity needs."""
    first, count = state.sinks // PAGE_TOKENS, min(-(-state.capacity // PAGE_TOKENS), len(pages))
    pages[first:count] = np.roll(pages[first:count], -1)


def check_history(op_name: str, history: Spec, state: Spec, pages: Spec | None = None) -> None:
    """The checks that the ops on a history share."""
    check(history.dtype == "int32" and len(history.shape) == 1, op_name, "history", "int32[C]", history)
    check_state(op_name, state)
    fits = pages is None or (pages.dtype == "int32" and len(pages.shape) == 1)
    check(fits, op_name, "pages", "int32[m]", pages)


@advance.spec
def _(values: Spec, ids: Spec, history: Spec, state: Spec, pages: Spec | None = None) -> tuple[Spec, ...]:
    check(values.dtype == "float32" and len(values.shape) == 1, "advance", "values", "float32[n]", values)
    check(values.shape[0] >= 1, "advance", "values", "at least one candidate", values)
    check(ids == Spec(values.shape, "int32"), "advance", "ids", f"int32[{values.shape[0]}]", ids)
    check_history("advance", history, state, pages)
    return ()


@advance.plan
def _(
    gpu: Gpu,
    outputs: tuple[Spec, ...],
    values: Spec,
    ids: Spec,
    history: Spec,
    state: Spec,
    pages: Spec | None = None,
) -> Plan:
    places = [arg(2, "read_write"), arg(3, "read_write"), *([arg(4, "read_write")] if pages else [])]
    return Plan([advancing(gpu, [arg(0), arg(1)], places)])


def advancing(gpu: Gpu, candidates: list[Binding], places: list[Binding]) -> Dispatch:
    """The dispatch that appends the best of the candidates.

    candidates  values and ids
    places      history, state and, where the window may roll, pages
    """
    return Dispatch(
        resolve(gpu, "advance", "rolling" if len(places) > 2 else "kernel"), {}, candidates + places, (1, 1, 1)
    )
