"""Prompt lookup: what may come next is what followed the last few tokens when they came before."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from webxpu.gpu.kernels import resolve
from webxpu.gpu.op import op
from webxpu.gpu.plan import Dispatch, Plan, Spec, arg
from webxpu.gpu.target import Gpu
from webxpu.llm import state as words
from webxpu.llm.state import State
from webxpu.ops.advance import check_history


@op(writes=("history", "state"))
def draft(history: Any, state: Any) -> None:
    """Drafts the tokens of the next step from the history: for n from `state.ngram` down to 2 it looks for the latest
    earlier place of the last n tokens, and takes what followed.

    history  (C,) int32, written: the id at every position, of which those up to `state.position` are known
    state    (64,) uint32, written

    At most `state.drafts` ids are written behind the last known one, never past the capacity; `state.rows` becomes 1
    and their number. A sequence that is done changes nothing, one whose window rolls (`state.sinks`) drafts nothing.
    Raises ShapeError.
    """
    now = State.from_words(state)
    if now.done:
        return
    size, known = min(now.capacity, len(history)), now.position + 1
    drafts = (
        [] if now.sinks or known > size else drafts_after(history[:known], now.ngram, min(now.drafts, size - known))
    )
    history[known : known + len(drafts)] = drafts
    state[words.ROWS] = 1 + len(drafts)


def drafts_after(ids: NDArray[np.int32], ngram: int, most: int) -> list[int]:
    """Up to `most` ids that followed the latest earlier place of the longest run, `ngram` to 2 ids, that ends `ids`."""
    for n in range(min(ngram, len(ids) - 1), 1, -1):
        runs = np.lib.stride_tricks.sliding_window_view(ids[:-1], n)
        (places,) = np.nonzero((runs == ids[-n:]).all(axis=1))
        if len(places):
            first = int(places[-1]) + n
            return [int(i) for i in ids[first : first + most]]
    return []


@draft.spec
def _(history: Spec, state: Spec) -> tuple[Spec, ...]:
    check_history("draft", history, state)
    return ()


@draft.plan
def _(gpu: Gpu, outputs: tuple[Spec, ...], history: Spec, state: Spec) -> Plan:
    bindings = [arg(0, "read_write"), arg(1, "read_write")]
    return Plan([Dispatch(resolve(gpu, "draft"), {}, bindings, (1, 1, 1))])
