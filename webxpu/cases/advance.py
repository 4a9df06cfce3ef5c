"""Cases of advance: ties, more candidates than threads, stop ids, a finished sequence, the end of the capacity."""

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
]
