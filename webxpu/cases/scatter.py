"""Cases of scatter: permutations, many values into few sums, indices outside beside rows that would show them."""

from functools import partial

import numpy as np
from numpy.typing import NDArray

from webxpu.cases.case import EXACT, F32, Case, Tolerance, distinct, wave

I32 = NDArray[np.int32]
# TOLERANCE is of sums; values that are alone in theirs are exact.
TOLERANCE = Tolerance(2e-6, 0.0, "worst 6.4e-7 relative, of 215 values a sum in another order, on SwiftShader")


def _permutation(n: int, s: int) -> tuple[F32, I32]:
    index = np.stack([(7 * np.arange(s) + 3 + row) % s for row in range(n)])
    return distinct(n * s).reshape(n, s), index.astype(np.int32)


def _collisions(n: int, s: int, d: int) -> tuple[F32, I32]:
    index = (np.arange(n)[:, None] + np.arange(s) // 3) % d
    return (1 + wave(n * s, 0.37, amp=0.5)).reshape(n, s).astype(np.float32), index.astype(np.int32)


def _outside() -> tuple[F32, I32]:
    # A 4 or more in the first row would fall into the second, a -1 in the second into the first.
    index = [[0, 4, 5, 2, 2**31 - 1], [-1, 3, -4, 1, -(2**31)], [4, -1, 0, 7, 8]]
    return distinct(15).reshape(3, 5), np.array(index, np.int32)


CASES = [
    *(
        Case("scatter", f"permutation-{n}x{s}", partial(_permutation, n, s), {"width": s}, tolerance=EXACT)
        for n, s in [(2, 8), (1, 256), (3, 300)]
    ),
    *(
        Case("scatter", f"{n}x{s}-into-{d}", partial(_collisions, n, s, d), {"width": d}, quick=d == 64)
        for n, s, d in [(1, 8, 1), (2, 256, 64), (2, 300, 4), (3, 1500, 7)]
    ),
    Case("scatter", "outside", _outside, {"width": 4}, True, EXACT),
    Case(
        "scatter", "untouched", lambda: (distinct(2)[None], np.array([[290, 3]], np.int32)), {"width": 300}, True, EXACT
    ),
    Case("scatter", "nothing-to-add", lambda: (distinct(0).reshape(3, 0), np.zeros((3, 0), np.int32)), {"width": 5}),
    Case("scatter", "no-rows", lambda: (distinct(0).reshape(0, 2), np.zeros((0, 2), np.int32)), {"width": 5}),
]
