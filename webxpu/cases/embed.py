"""Cases of embed: every weight type, padding, ids outside the table, positions past the history, a ring."""

from functools import partial
from typing import Any

import numpy as np

from webxpu.cases.case import MANY_CASES, Case, Tolerance, hashed
from webxpu.cases.project import weight_of
from webxpu.llm.state import State

TOLERANCE = Tolerance(1e-6, 1e-6, "a decoded weight is a product and a sum, which a GPU may fuse; exact on SwiftShader")


def _case(type_name: str, v: int, k: int, position: int, length: int = 40) -> tuple[Any, ...]:
    history = (hashed(length, 5) % v).astype(np.int32)
    return weight_of(type_name, v, k), history, State(position=position, capacity=length).to_words()


def _outside(type_name: str) -> tuple[Any, ...]:
    weight, history, state = _case(type_name, 33, 64, 2)
    history[3:7] = [-1, 33, 32, 2**31 - 1]
    return weight, history, state


def _ring(type_name: str) -> tuple[Any, ...]:
    """A window that has rolled: the positions wrap round the history's end, and the last two lie past it."""
    weight, history, _ = _case(type_name, 67, 64, 0)
    return weight, history, State(position=37, capacity=40, evicted=64 + 1).to_words()


CASES = [
    *(
        Case("embed", f"{t}-one-row", partial(_case, t, 67, 96, 7), {"rows": 1}, quick=t == "q8_0")
        for t in ("f32", *MANY_CASES)
    ),
    *(
        Case("embed", f"{t}-one-row", partial(_case, t, 67, 256, 7), {"rows": 1})
        for t in ("q6_k", "q1_0", "q1g128", "tq1_0", "tq2_0")
    ),
    *(
        Case("embed", f"{t}-{rows}x{k}", partial(_case, t, 67, k, 3), {"rows": rows})
        for t, rows, k in [("q4_1", 16, 576), ("f32", 5, 33), ("f16", 3, 44), ("q4_0", 17, 32), ("q4g128", 3, 268)]
    ),
    *(Case("embed", f"{t}-ids-outside", partial(_outside, t), {"rows": 6}) for t in ("f32", "q8_0")),
    Case("embed", "scaled", partial(_case, "q8_0", 67, 96, 7), {"rows": 2, "scale": 25.25}),
    *(Case("embed", f"ring-{t}", partial(_ring, t), {"rows": 5}) for t in ("f32", "q4_1")),
    Case("embed", "past-the-history", partial(_case, "q4_1", 67, 64, 38), {"rows": 5}),
]
