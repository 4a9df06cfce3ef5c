"""Cases of logprobs: vocabularies around the shares of its passes, ties, banned tokens, rings that have turned."""

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from webxpu.cases.case import Case, Tolerance, hashed, uniform
from webxpu.llm.state import State

TOLERANCE = Tolerance(
    3e-7, 2e-6, "the logarithm of the sum is off by 4e-7, and ids differ by at least 4e-6 of themselves"
)
EMPTY = 7


def _ring(logits: NDArray[np.float32], most: int, token: int, **state: Any) -> tuple[Any, ...]:
    now = State(**{"position": 3, "capacity": 9, **state})
    history = np.full(9, -1, np.int32)
    history[(now.evicted + now.position) % 9] = token
    return logits, history, now.to_words(), np.full((9, 1 + 2 * most), EMPTY, np.float32)


def _case(v: int, most: int, amp: float = 12, **state: Any) -> tuple[Any, ...]:
    return _ring(uniform((v,), v, amp=amp), most, v // 3, **state)


def _ties(v: int, most: int) -> tuple[Any, ...]:
    """Few values, each shared by many tokens of every workgroup."""
    return _ring((hashed(v) % np.uint32(7)).astype(np.float32), most, v - 1)


def _banned(v: int, most: int, left: int) -> tuple[Any, ...]:
    logits = np.full(v, np.finfo(np.float32).min, np.float32)
    logits[v // 2 : v // 2 + left] = uniform((left,), 5, amp=3)
    return _ring(logits, most, v // 2)


CASES = [
    *(
        Case("logprobs", f"{v}-tokens-and-{most}", partial(_case, v, most), {"most": most}, quick=v == 5000)
        for v, most in (
            (1, 0), (1, 1), (31, 31), (32, 32), (255, 5), (257, 1), (1023, 20), (1024, 32), (1025, 32), (5000, 5),
            (49_152, 0), (49_152, 32), (262_144, 32),
        )
    ),
    Case("logprobs", "ties", partial(_ties, 3000, 32), {"most": 32}),
    Case("logprobs", "one-token-left", partial(_banned, 3000, 1, 1), {"most": 1}),
    Case("logprobs", "few-tokens-left", partial(_banned, 3000, 4, 4), {"most": 4}),
    Case("logprobs", "near-certain", partial(_case, 2000, 3, amp=80), {"most": 3}),
    Case("logprobs", "nearly-even", partial(_case, 2000, 3, amp=1e-3), {"most": 3}),
    Case("logprobs", "a-ring-that-turned", partial(_case, 400, 2, evicted=128), {"most": 2}),
    Case("logprobs", "done", partial(_case, 400, 2, done=True), {"most": 2}),
]  # fmt: skip
