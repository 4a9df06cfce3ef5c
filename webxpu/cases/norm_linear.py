"""Cases of norm_linear and join: every weight type, one row, as many as one kernel takes and one more."""

from functools import partial
from typing import Any

import numpy as np

from webxpu.cases.case import EXACT, MANY_CASES, Case, Tolerance, distinct, uniform
from webxpu.cases.project import weight_of

TOLERANCE = Tolerance(1e-5, 1e-5, "as norm_qkv, whose sums these are")


def _norm(type_name: str, rows: int, n: int, k: int, amp: float = 1) -> tuple[Any, ...]:
    return weight_of(type_name, n, k), uniform((rows, k), 1, amp=amp), uniform((k,), 2) + np.float32(1.5)


def _join(rows: int, a: int, b: int) -> tuple[Any, ...]:
    values = distinct(rows * (a + b))
    return values[: rows * a].reshape(rows, a), values[rows * a :].reshape(rows, b)


CASES = [
    *(Case("norm_linear", f"{t}-65x96", partial(_norm, t, 1, 65, 96), {"eps": 1e-5}) for t in ("f32", *MANY_CASES)),
    Case("norm_linear", "q4_k-65x256", partial(_norm, "q4_k", 1, 65, 256), {"eps": 1e-5}),
    *(Case("norm_linear", f"{t}-ragged", partial(_norm, t, 2, 5, 44), {"eps": 0.5}) for t in ("f16", "bf16")),
    Case("norm_linear", "gemma3-270m-value", partial(_norm, "q8_0", 1, 256, 640), {"eps": 1e-6}, quick=True),
    *(
        Case("norm_linear", f"{t}-{rows}-rows", partial(_norm, t, rows, n, k, 300.0), {"eps": 1e-5})
        for t, rows, n, k in [("f32", 3, 7, 36), ("q8_0", 9, 257, 64), ("q4_1", 10, 33, 64), ("f32", 9, 300, 4)]
    ),
    # Rows that are staged in workgroup memory where there are subgroups.
    *(
        Case("norm_linear", f"{t}-{rows}x{n}x{k}", partial(_norm, t, rows, n, k), {"eps": 1e-5})
        for t, rows, n, k in [("q4_k", 1, 65, 1024), ("f32", 3, 9, 1056), ("q1_0", 1, 33, 2048)]
    ),
    *(
        Case("join", f"{rows}x{a}-and-{b}", partial(_join, rows, a, b), tolerance=EXACT, quick=a == 200)
        for rows, a, b in [(1, 1, 1), (3, 5, 2), (4, 2, 61), (5, 200, 57)]
    ),
]  # fmt: skip
