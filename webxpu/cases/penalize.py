"""Cases of penalize: each option alone and all together, rings that have turned, sizes around a workgroup's share."""

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from webxpu.cases.case import Case, Tolerance, hashed, uniform
from webxpu.llm.state import State

TOLERANCE = Tolerance(
    2e-6, 4e-6, "a division is off by 2.5 ulp, and products may be added unrounded: 1e-6 of logits up to 20"
)

ALL: dict[str, Any] = {"repetition": 1.3, "presence": 0.4, "frequency": 0.15, "no_repeat": 3, "biases": 5}


def _history(length: int, kinds: int, seed: int) -> NDArray[np.int32]:
    """Ids of which most come many times, in runs that repeat."""
    return (hashed(length, seed) % np.uint32(kinds)).astype(np.int32)


def _case(
    v: int = 1000, length: int = 700, kinds: int = 40, dry: bool = False, ring: int = 0, **state: Any
) -> tuple[Any, ...]:
    """`length` ids have come into a ring of as many places, or of `ring`. Of the table's entries more are there than
    count, one is out of the vocabulary, one bans."""
    ids = _history(length, min(kinds, v), v)
    history = np.full(ring or length, -1, np.int32)
    for place, token in enumerate(ids):
        history[place % len(history)] = token
    rows = min(3, length)
    words = State(**{"position": length - rows, "rows": rows, "capacity": length, **state}).to_words()
    logits = uniform((v,), v, amp=20)
    bias_ids = (np.arange(7) * 3).astype(np.int32)
    bias_ids[1] = v
    bias_values = uniform((7,), 2, amp=5)
    bias_values[3] = -np.inf
    arrays = (logits, history, words, bias_ids, bias_values)
    if not dry:
        return arrays
    dry_ids = np.concatenate([np.arange(8) * 5, [-1, v, 9]]).astype(np.int32)
    dry_values = np.abs(uniform((11,), 3, amp=6))
    dry_values[2] = 3e38
    return *arrays, dry_ids, dry_values


def _again(n: int) -> tuple[Any, ...]:
    """The last n - 1 ids came twice before, with one follower outside the vocabulary."""
    ids = np.array([5, 6, 7, 8, 5, 6, 7, 9, 5, 6, 7, 50, 6, 7, 4, 5, 6, 7], np.int32)
    words = State(position=len(ids) - 1, rows=1, capacity=40, no_repeat=n).to_words()
    history = np.concatenate([ids, np.full(9, 3, np.int32)])
    return uniform((20,), 4), history, words, np.zeros(1, np.int32), np.zeros(1, np.float32)


def _short(length: int, n: int) -> tuple[Any, ...]:
    """A history too short for an n-gram, in a longer ring whose other places hold the same ids."""
    words = State(position=0, rows=length, capacity=40, no_repeat=n).to_words()
    return uniform((20,), 4), np.full(30, 2, np.int32), words, np.zeros(1, np.int32), np.zeros(1, np.float32)


def _banned_already() -> tuple[Any, ...]:
    """Tokens that are banned before penalties come, among them one that a division would lift."""
    logits, history, words, bias_ids, bias_values = _case(**{**ALL, "repetition": 0.5, "presence": -3.0})
    logits[500] = logits[:20:2] = np.finfo(np.float32).min
    logits[1:20:4] = -(2.0**127)
    bias_values[:] = -np.inf
    return logits, history, words, bias_ids, bias_values


CASES = [
    Case("penalize", "off", partial(_case)),
    Case("penalize", "all", partial(_case, **ALL), quick=True),
    *(Case("penalize", name.replace("_", "-"), partial(_case, **{name: value})) for name, value in ALL.items()),
    Case("penalize", "repetition-below-1", partial(_case, repetition=0.8)),
    Case("penalize", "negative-penalties", partial(_case, presence=-1.5, frequency=-0.25)),
    Case("penalize", "all-biases", partial(_case, biases=7)),
    Case("penalize", "more-biases-than-entries", partial(_case, biases=900)),
    Case("penalize", "dry", partial(_case, dry=True)),
    Case("penalize", "all-and-dry", partial(_case, dry=True, **ALL)),
    *(Case("penalize", f"{n}-grams", partial(_again, n)) for n in (1, 2, 3, 4, 5, 2**32 - 1)),
    *(
        Case("penalize", f"{length}-ids-and-{n}-grams", partial(_short, length, n))
        for length, n in ((1, 1), (1, 2), (1, 3), (2, 3), (3, 3))
    ),
    *(Case("penalize", f"{n}-ids", partial(_case, length=n, **ALL)) for n in (1, 255, 256, 257, 3000)),
    *(Case("penalize", f"{v}-tokens", partial(_case, v=v, **ALL)) for v in (1, 1023, 1024, 1025, 262_144)),
    Case("penalize", "a-ring-that-turned", partial(_case, ring=300, position=57, evicted=640, **ALL)),
    Case("penalize", "a-ring-just-full", partial(_case, ring=700, position=57, evicted=640, **ALL)),
    Case("penalize", "few-kinds", partial(_case, kinds=3, **ALL)),
    Case("penalize", "banned-already", _banned_already),
]
