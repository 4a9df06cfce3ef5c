"""Cases of norm_qkv and rope_write: both pairings, every weight type, grouped heads, padding, the end of the table."""

from functools import partial
from typing import Any

import numpy as np

from webxpu.cases.case import MANY_CASES, Case, Tolerance, uniform
from webxpu.cases.project import weight_of
from webxpu.llm.state import State
from webxpu.ops.rope import rope_table

TOLERANCE = Tolerance(1e-5, 1e-5, "worst 3.6e-6 absolute at K = 576 on SwiftShader, where a sum cancels")


def _place(g: int, d: int, position: int, valid: int, capacity: int, table: int) -> tuple[Any, ...]:
    cache = np.full((4, 2, 64, g, d), -7, np.float32)
    state = State(position=position, rows=valid, capacity=capacity).to_words()
    return rope_table(table, d, base=100.0), cache, np.array([2, 0, 3, 1], np.int32), state


def _write(
    rows: int, h: int, g: int, d: int, position: int, valid: int, capacity: int = 256, table: int = 256
) -> tuple[Any, ...]:
    return uniform((rows, (h + 2 * g) * d), rows), *_place(g, d, position, valid, capacity, table)


def _norm(
    type_name: str, rows: int, k: int, h: int, g: int, d: int, position: int, *more: int, amp: float = 1
) -> tuple[Any, ...]:
    valid, capacity, table = (more + (rows, 256, 256)[len(more) :])[:3]
    weight = weight_of(type_name, (h + 2 * g) * d, k)
    x, gain = uniform((rows, k), 1, amp=amp), uniform((k,), 2) + np.float32(1.5)
    return weight, x, gain, *_place(g, d, position, valid, capacity, table)


def _kw(h: int, g: int, pairs: str, **more: float) -> dict[str, Any]:
    return {"heads": h, "kv_heads": g, "pairs": pairs, **more}


CASES = [
    *(
        Case(
            "rope_write",
            f"{rows}-rows-{h}.{g}.{d}-at-{n}-{pairs}",
            partial(_write, rows, h, g, d, n, v),
            _kw(h, g, pairs),
            quick=h == 9,
        )
        for rows, h, g, d, n, v in [(1, 9, 3, 64, 70, 1), (6, 4, 2, 16, 61, 5), (3, 2, 2, 6, 0, 3)]
        for pairs in ("adjacent", "half")
    ),
    Case("rope_write", "past-the-capacity", partial(_write, 5, 2, 1, 8, 98, 5, 100), _kw(2, 1, "half")),
    Case("rope_write", "past-the-table", partial(_write, 5, 2, 1, 8, 20, 5, 256, 22), _kw(2, 1, "half")),
    *(
        Case("norm_qkv", f"{t}-one-row", partial(_norm, t, 1, 96, 4, 2, 16, 70), _kw(4, 2, "half", eps=1e-5))
        for t in ("f32", *MANY_CASES)
    ),
    Case("norm_qkv", "q4g128-one-row", partial(_norm, "q4g128", 1, 140, 4, 2, 16, 70), _kw(4, 2, "half", eps=1e-5)),
    Case("norm_qkv", "q4_k-one-row", partial(_norm, "q4_k", 1, 256, 4, 2, 16, 70), _kw(4, 2, "half", eps=1e-5)),
    *(
        Case("norm_qkv", f"{t}-ragged", partial(_norm, t, 1, 44, 4, 2, 16, 70), _kw(4, 2, "half", eps=1e-5))
        for t in ("f16", "bf16")
    ),
    Case(
        "norm_qkv", "smollm2", partial(_norm, "q4_1", 1, 576, 9, 3, 64, 65), _kw(9, 3, "adjacent", eps=1e-5), quick=True
    ),
    Case("norm_qkv", "narrow", partial(_norm, "f32", 1, 36, 3, 1, 10, 5), _kw(3, 1, "adjacent", eps=0.5)),
    Case("norm_qkv", "one-pair-a-head", partial(_norm, "q8_0", 1, 64, 5, 5, 2, 9), _kw(5, 5, "half", eps=1e-6)),
    Case("norm_qkv", "large-x", partial(_norm, "q4_0", 1, 64, 2, 1, 8, 63, amp=300.0), _kw(2, 1, "half", eps=1e-5)),
    Case(
        "norm_qkv", "past-the-capacity", partial(_norm, "f32", 1, 32, 2, 1, 8, 100, 1, 100), _kw(2, 1, "half", eps=1e-5)
    ),
    Case(
        "norm_qkv", "past-the-table", partial(_norm, "f32", 1, 32, 2, 1, 8, 50, 1, 256, 22), _kw(2, 1, "half", eps=1e-5)
    ),
    *(
        Case("norm_qkv", f"{t}-rows", partial(_norm, t, 7, 64, 4, 2, 16, 60, 5), _kw(4, 2, pairs, eps=1e-5))
        for t, pairs in [("f32", "half"), ("q4_1", "adjacent")]
    ),
]
