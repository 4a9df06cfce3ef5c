"""Cases of alibi and alibi_slopes: heads that are and are no power of two, offsets before, on and past the keys."""

from functools import partial
from typing import Any

import numpy as np

from webxpu.cases.case import Case, Tolerance, wave

TOLERANCE = Tolerance(1e-5, 1e-6, "worst 4.8e-7 absolute, on SwiftShader")


def _waves(h: int, m: int, n: int, offset: int | None, slopes: bool = False) -> tuple[Any, ...]:
    scores = wave(h * m * n, 0.37, amp=3).reshape(h, m, n)
    given = (0.1 + np.arange(h)).astype(np.float32) if slopes else None
    return scores, given, None if offset is None else np.array([offset], np.int32)


def _own_slopes() -> tuple[Any, ...]:
    return np.zeros((4, 3, 5), np.float32), np.array([1, 10, 100, 1000], np.float32)


_SHAPES = [
    (1, 1, 1, 0), (1, 4, 4, 0), (3, 5, 7, 0), (4, 8, 8, 0), (2, 16, 16, 0), (5, 7, 11, 0), (12, 3, 40, 0),
    (8, 1, 37, 36), (12, 4, 33, 29), (7, 9, 9, 3), (3, 5, 9, -2),
]  # fmt: skip

CASES = [
    *(
        Case("alibi_slopes", str(h), lambda: (), {"heads": h}, quick=h == 12)
        for h in (1, 2, 3, 4, 8, 9, 12, 15, 16, 17, 32, 255, 256, 257, 300)
    ),
    *(
        Case("alibi", f"{h}.{m}.{n}-at-{o}", partial(_waves, h, m, n, o or None), quick=n == 33)
        for h, m, n, o in _SHAPES
    ),
    Case("alibi", "slopes-and-offset", partial(_waves, 3, 5, 9, 2, True)),
    Case("alibi", "own-slopes", _own_slopes),
    Case("alibi", "empty", lambda: (np.zeros((3, 0, 5), np.float32),)),
]
