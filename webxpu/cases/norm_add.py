"""Cases of norm_add: one row and several, narrow and wide, values whose squares matter less than eps."""

from functools import partial
from typing import Any

import numpy as np

from webxpu.cases.case import Case, Tolerance, uniform

TOLERANCE = Tolerance(1e-5, 2e-6, "worst 4.8e-7 absolute on SwiftShader, where the sum cancels")


def _rows(rows: int, d: int, amp: float = 1) -> tuple[Any, ...]:
    return uniform((rows, d), d, amp=amp), uniform((d,), 2) + np.float32(0.5), uniform((rows, d), 3, amp=3)


CASES = [
    *(
        Case("norm_add", f"{rows}x{d}", partial(_rows, rows, d), {"eps": 1e-6}, quick=d == 640)
        for rows, d in [(1, 1), (1, 640), (3, 63), (5, 65), (2, 1024), (3, 1025), (7, 4)]
    ),
    Case("norm_add", "large", partial(_rows, 3, 96, 1e4), {"eps": 1e-6}),
    Case("norm_add", "small", partial(_rows, 3, 96, 1e-3), {"eps": 1e-6}),
]
