"""Cases of mask: words that are full, empty and cut off by the end of the vocabulary."""

from functools import partial
from typing import Any

import numpy as np

from webxpu.cases.case import EXACT, Case, hashed, uniform

TOLERANCE = EXACT


def _case(v: int, seed: int = 0) -> tuple[Any, ...]:
    allowed = hashed(-(-v // 32), seed)
    allowed[1::5] = 0
    allowed[2::5] = 0xFFFFFFFF
    return uniform((v,), v, amp=20), allowed


def _one(v: int, token: int) -> tuple[Any, ...]:
    allowed = np.zeros(-(-v // 32), np.uint32)
    allowed[token // 32] = 1 << token % 32
    return uniform((v,), v), allowed


CASES = [
    *(Case("mask", f"{v}-tokens", partial(_case, v), quick=v == 1000) for v in (1, 31, 32, 33, 1000, 1025, 262_144)),
    Case("mask", "one-token", partial(_one, 320, 63)),
    Case("mask", "the-last-token", partial(_one, 321, 320)),
]
