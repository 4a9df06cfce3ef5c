"""Cases of advance: ties, more candidates than threads, stop ids, a finished sequence, the end of the capacity, a
window that rolls."""

from functools import partial
from typing import Any

import numpy as np

from webxpu.cases.case import EXACT, Case, uniform
from webxpu.llm.state import State

TOLERANCE = EXACT


def _case(
    n: int, best: list[int], first_id: int = 100, stride: int = 1, length: int = 20, **state: Any
) -> tuple[Any, ...]:
    """`n` candidates of which those at `best` share the highest value; ids run from `first_id`."""
    values = uniform((n,), n)
    values[best] = 2
    ids = (first_id + stride * np.arange(n)).astype(np.int32)
    words = State(**{"position": 3, "capacity": 20, **state}).to_words()
    return values, ids, np.full(length, -1, np.int32), words


def _rolling(pages: int, length: int = 300, **state: Any) -> tuple[Any, ...]:
    table = (np.arange(pages) * 5 % pages + 40).astype(np.int32)
    return *_case(5, [2], length=length, **{"capacity": 192, "sinks": 64, **state}), table


CASES = [
    Case("advance", "one-candidate", partial(_case, 1, [0])),
    Case("advance", "768-candidates", partial(_case, 768, [700]), quick=True),
    Case("advance", "ties-take-the-lowest-id", partial(_case, 600, [7, 300, 599])),
    Case("advance", "ties-of-falling-ids", partial(_case, 600, [7, 300, 599], 5000, -1)),
    Case("advance", "all-negative", lambda: (np.array([-3, -2, -5], np.float32), *_case(3, [])[1:])),
    Case("advance", "after-prefill", partial(_case, 5, [2], position=0, rows=7, step=4)),
    Case("advance", "stop-id", partial(_case, 5, [2], stops=(1, 2, 3, 4, 102))),
    Case("advance", "sixteen-stop-ids", partial(_case, 5, [2], stops=(*range(15), 102))),
    Case("advance", "no-stop-id", partial(_case, 5, [2], stops=(100, 101, 103))),
    Case("advance", "id-zero-with-fewer-stop-ids-than-places", partial(_case, 3, [0], 0, stops=(9,))),
    Case("advance", "done", partial(_case, 5, [2], done=True)),
    Case("advance", "last-place", partial(_case, 5, [2], position=18)),
    Case("advance", "past-the-capacity", partial(_case, 5, [2], position=19)),
    Case("advance", "capacity-below-the-history", partial(_case, 5, [2], length=30, position=19)),
    Case("advance", "history-shorter-than-capacity", partial(_case, 5, [2], length=4, position=3)),
    Case("advance", "ring", partial(_case, 5, [2], position=18, evicted=128)),
    Case("advance", "rolls", partial(_rolling, 3, position=191), quick=True),
    Case("advance", "rolls-once-more", partial(_rolling, 3, 200, position=191, evicted=64, runs=3)),
    Case("advance", "rolls-a-capacity-of-no-whole-pages", partial(_rolling, 7, position=399, capacity=400, sinks=128)),
    Case("advance", "rolls-only-the-pages-in-use", partial(_rolling, 6, position=191)),
    Case("advance", "rolls-where-sinks-leave-one-page", partial(_rolling, 3, position=191, sinks=128)),
    Case("advance", "does-not-roll-before-it-is-full", partial(_rolling, 3, position=190)),
    Case("advance", "does-not-roll-without-sinks", partial(_rolling, 3, position=191, sinks=0)),
    Case("advance", "does-not-roll-where-sinks-leave-no-page", partial(_rolling, 3, position=191, sinks=192)),
    Case("advance", "does-not-roll-when-done", partial(_rolling, 3, position=191, done=True)),
    Case("advance", "rolls-at-a-stop-id", partial(_rolling, 3, position=191, stops=(102,))),
    Case("advance", "rolls-after-prefill", partial(_rolling, 3, position=128, rows=64)),
]
