"""Cases of draft: the longest run wins, then the latest; runs that overlap the end; limits of drafts and capacity."""

from functools import partial
from typing import Any

import numpy as np

from webxpu.cases.case import EXACT, Case, hashed
from webxpu.llm.state import State

TOLERANCE = EXACT
HISTORY = [5, 6, 7, 8, 5, 6, 7, 9, 5, 6, 7]


def _case(ids: list[int], room: int = 12, **options: Any) -> tuple[Any, ...]:
    """The ids, and after them places that hold what no draft is."""
    history = np.full(len(ids) + room, -1, np.int32)
    history[: len(ids)] = ids
    state = State(**{"position": len(ids) - 1, "capacity": len(history), "ngram": 3, "drafts": 8, "rows": 4, **options})
    return history, state.to_words()


def _long(places: list[int], length: int = 5000) -> tuple[Any, ...]:
    """Ids of which hardly a run comes twice; what ends them stands at each of `places` too."""
    ids = (hashed(length, 3) % np.uint32(60_000)).astype(np.int32)
    for place in places:
        ids[place : place + 3] = ids[-3:]
    return _case(ids.tolist())


CASES = [
    Case("draft", "ngram-3", partial(_case, HISTORY), quick=True),
    Case("draft", "ngram-2-and-2-drafts", partial(_case, HISTORY, ngram=2, drafts=2)),
    Case("draft", "longer-runs-than-there-are", partial(_case, HISTORY, ngram=40)),
    Case("draft", "a-longer-run-wins-over-a-later", partial(_case, [1, 2, 3, 8, 2, 3, 9, 1, 2, 3])),
    Case("draft", "a-shorter-run-is-taken-where-no-longer-is", partial(_case, [7, 2, 3, 8, 4, 1, 2, 3])),
    Case("draft", "nothing-comes-twice", partial(_case, [1, 2, 3])),
    Case("draft", "one-id-is-no-run", partial(_case, [1, 3, 1, 2, 3])),
    Case("draft", "the-end-overlaps-itself", partial(_case, [4, 4, 4])),
    Case("draft", "one-id", partial(_case, [4])),
    Case("draft", "two-equal-ids", partial(_case, [4, 4])),
    Case("draft", "from-the-first-position", partial(_case, [1, 2, 9, 1, 2])),
    Case("draft", "no-drafts-wanted", partial(_case, HISTORY, drafts=0)),
    Case("draft", "no-ngram", partial(_case, HISTORY, ngram=0)),
    *(Case("draft", f"room-for-{room}", partial(_case, HISTORY, room)) for room in (0, 1, 3)),
    Case("draft", "capacity-below-the-history", partial(_case, HISTORY, capacity=13)),
    Case("draft", "past-the-capacity", partial(_case, HISTORY, capacity=10)),
    Case("draft", "done", partial(_case, HISTORY, done=True)),
    Case("draft", "a-window-that-rolls", partial(_case, HISTORY, sinks=64)),
    Case("draft", "a-long-history", partial(_long, [300, 300 + 10 * 256])),
    Case("draft", "a-long-history-without-a-run", partial(_long, [])),
]
