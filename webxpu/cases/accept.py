"""Cases of accept: drafts that hold for no row, some and all; ties, stop ids, padding rows, the end of the capacity."""

from functools import partial
from typing import Any

import numpy as np

from webxpu.cases.case import EXACT, Case, uniform
from webxpu.llm.state import State

TOLERANCE = EXACT


def _case(
    best: list[int], drafts: list[int], n: int = 5, length: int = 20, ties: int = 1, **state: Any
) -> tuple[Any, ...]:
    """Row r chooses the id 100 + best[r], which ties with `ties` - 1 higher ones; drafts are ids less 100 as well."""
    values = uniform((len(best), n), n)
    for row, place in enumerate(best):
        values[row, place : place + ties] = 2
    ids = np.tile(np.arange(100, 100 + n, dtype=np.int32), (len(best), 1))
    words = State(**{"position": 3, "rows": 1 + len(drafts), "capacity": 20, "step": 6, "runs": 4, **state})
    history = np.full(length, -1, np.int32)
    history[words.position + 1 : words.position + 1 + len(drafts)] = 100 + np.array(drafts, np.int32)
    return values, ids, history, words.to_words()


CASES = [
    Case("accept", "no-drafts", partial(_case, [2], [])),
    Case("accept", "no-drafts-in-nine-rows", partial(_case, [2] * 9, [])),
    Case("accept", "all-hold", partial(_case, [2, 0, 3, 1], [2, 0, 3]), quick=True),
    Case("accept", "the-first-fails", partial(_case, [2, 0, 3, 1], [1, 0, 3])),
    Case("accept", "the-second-fails", partial(_case, [2, 0, 3, 1], [2, 1, 3])),
    Case("accept", "padding-rows-do-not-count", partial(_case, [2, 0, 3, 1, 4, 4, 4, 4, 4], [2, 0])),
    Case("accept", "drafts-of-an-earlier-step-do-not-count", partial(_case, [2, 0, 3, 1], [2, 0, 3], rows=2)),
    Case("accept", "nine-rows", partial(_case, [2, 0, 3, 1, 4, 4, 0, 1, 2], [2, 0, 3, 1, 4, 4, 0, 1])),
    Case("accept", "a-stop-id-among-them", partial(_case, [2, 0, 3, 1], [2, 0, 3], stops=(7, 100))),
    Case("accept", "a-stop-id-at-once", partial(_case, [2, 0, 3, 1], [2, 0, 3], stops=(102,))),
    Case("accept", "a-stop-id-that-was-not-drafted", partial(_case, [2, 0, 3, 1], [2, 1, 3], stops=(100,))),
    Case("accept", "a-stop-id-past-what-holds", partial(_case, [2, 0, 3, 1], [1, 0, 3], stops=(100,))),
    Case("accept", "done", partial(_case, [2, 0], [2], done=True)),
    Case("accept", "ties-take-the-lowest-id", partial(_case, [7, 300, 12], [7, 300], n=600, ties=200)),
    Case("accept", "768-candidates", partial(_case, [700, 300, 255], [700, 300], n=768)),
    *(
        Case("accept", f"position-{position}-of-20", partial(_case, [2, 0, 3, 1], [2, 0, 3], position=position))
        for position in (15, 16)
    ),
    Case("accept", "the-last-place", partial(_case, [2, 0, 3], [2], position=18)),
    Case("accept", "past-the-capacity", partial(_case, [2, 0, 3], [], position=19)),
    Case(
        "accept",
        "capacity-below-the-history",
        partial(_case, [2, 0, 3, 1], [2, 0, 3], position=15, length=30, capacity=18),
    ),
    Case("accept", "more-rows-than-there-are", partial(_case, [2, 0], [2], rows=7)),
    Case("accept", "a-later-row", partial(_case, [2, 0, 3, 1], []), {"first": 2}),
    Case("accept", "drafts-from-a-later-row", partial(_case, [2, 0, 3, 1], [0, 3, 1, 4]), {"first": 1}),
    Case("accept", "rows-0", partial(_case, [2, 0], [2], rows=0)),
]
