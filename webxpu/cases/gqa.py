"""Cases of grouped_attention: shared kv heads, and some of attention, which it is where each head has its own."""

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from webxpu.cases.attention import CASES as ATTENTION
from webxpu.cases.attention import HALF, Arrays, at, narrowed, waves
from webxpu.cases.case import Case, Tolerance, uniform

TOLERANCE = Tolerance(1e-5, 2e-6, "worst 2.6e-7 absolute, on SwiftShader")


def _grouped(h: int, g: int, length: int, s: int, *extra: Any) -> Arrays:
    return (*waves(2, h, g, length, s, 8, 5), *extra)


def _groups() -> Arrays:
    """D = 1: only key g of kv head g answers, in both samples, and the values tell head and sample apart."""
    q, k = np.ones((2, 6, 2, 1), np.float32), np.zeros((2, 3, 4, 1), np.float32)
    for head in range(3):
        k[:, head, head] = 12
    v = 1 + np.arange(2 * 3 * 4, dtype=np.float32).reshape(2, 3, 4, 1)
    return q, k, v


def _cache(length: int, s: int, offset: int) -> Arrays:
    """A cache of S of which offset + L positions are filled; the rest of v is infinite."""
    q, k, v, *extra = _grouped(6, 2, length, s, None, at(offset))
    v[:, :, offset + length :] = np.inf
    return q, k, v, *extra


def _masked(h: int, g: int, length: int, s: int) -> Arrays:
    return _grouped(h, g, length, s, uniform((1, h, 1, s), seed=5, amp=2))


_AS_ATTENTION = ("hidden-by-minus-infinity", "overflow", "hidden-by-minus-infinity-f16", "3x7-causal-at-4-f16")
_PAIRS = [  # H, Hkv, L, S, causal, offset
    (4, 4, 3, 9, False, None), (4, 1, 5, 9, True, None), (4, 2, 1, 70, False, None), (6, 3, 4, 70, True, 66),
    (6, 2, 5, 9, False, None), (8, 2, 3, 300, True, 5), (8, 4, 9, 4, True, None),
]  # fmt: skip

CASES = [
    *(
        Case(
            "grouped_attention", f"{h}.{g}-{n}x{s}" + "-causal" * causal, quick=s == 300,
            make=partial(_grouped, h, g, n, s, None, None if o is None else at(o)), kwargs={"causal": causal},
        )
        for h, g, n, s, causal, o in _PAIRS
    ),
    Case("grouped_attention", "groups", _groups),
    Case("grouped_attention", "mask-by-query-head", partial(_masked, 4, 2, 3, 9)),
    Case("grouped_attention", "decode-of-a-cache", partial(_cache, 1, 16, 5), {"causal": True, "s_eff": 6}, quick=True),
    Case("grouped_attention", "prefill-of-a-cache", partial(_cache, 5, 20, 3), {"causal": True, "s_eff": 8}),
    *(replace(c, op="grouped_attention", quick=False) for c in ATTENTION if c.name in _AS_ATTENTION),
    Case("grouped_attention", "6.2-f16", partial(narrowed, partial(_grouped, 6, 2, 5, 9)), tolerance=HALF),
]  # fmt: skip
