"""Cases of router, moe_dispatch and moe_gather: ties, crowded and empty experts, ids and seats outside, blocks of pairs
just full and not."""

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from webxpu.cases.case import EXACT, F32, Case, Tolerance, distinct, hashed, uniform, wave
from webxpu.ops.moe import moe_dispatch

TOLERANCE = Tolerance(1e-5, 1e-6, "gates: worst 1.2e-7 absolute, and 3e-6 relative of a small one, on SwiftShader")
_SUMS = Tolerance(1e-5, 3e-6, "worst 1.9e-6 absolute, of eight products up to 3, on SwiftShader")
I32 = NDArray[np.int32]


def _logits(t: int, e: int, low: float = -4, high: float = 4) -> tuple[F32]:
    return ((uniform((t, e), t + e) * np.float32((high - low) / 2) + np.float32((high + low) / 2)),)


def _rows(*rows: list[float]) -> tuple[F32]:
    return (np.array(rows, np.float32),)


def _experts(t: int, k: int, e: int, seed: int = 0) -> I32:
    """Different experts at every rank; expert e - 1 is nobody's, and expert 0 the first of every third token."""
    picked = np.argsort(hashed(t * (e - 1), seed).reshape(t, e - 1), axis=1)[:, :k].astype(np.int32)
    for row in picked[::3]:
        row[row == 0] = row[0]
        row[0] = 0
    return picked


def _seated(t: int, k: int, e: int, d: int) -> tuple[F32, I32]:
    return distinct(t * d).reshape(t, d), _experts(t, k, e, t)


def _one_expert(t: int) -> tuple[F32, I32]:
    return distinct(t * 4).reshape(t, 4), np.full((t, 1), 1, np.int32)


def _outside() -> tuple[F32, I32]:
    experts = [[-1, 0], [5, 1], [1, -(2**31)], [2**31 - 1, 2], [0, 3], [2, 0]]
    return distinct(6 * 5).reshape(6, 5), np.array(experts, np.int32)


def _results(t: int, k: int, e: int, c: int, d: int) -> tuple[Any, ...]:
    x, expert = _seated(t, k, e, d)
    _, pos = moe_dispatch(x, expert, experts=e, capacity=c)
    gate = np.abs(uniform((t, k), 3)) + np.float32(0.1)
    return wave(e * c * d, 0.37, amp=3).reshape(e, c, d), expert, pos, gate


def _results_from(first: int) -> tuple[Any, ...]:
    y, *pairs = _results(100, 4, 8, 30, 7)
    return (np.ascontiguousarray(y[first : first + 3]), *pairs)


def _results_outside() -> tuple[Any, ...]:
    """Pairs whose expert or seat is not in y, with gates that would show."""
    expert = np.array([[0, 1], [-1, 4], [2, 2**31 - 1], [-(2**31), -2], [3, 1]], np.int32)
    pos = np.array([[0, -1], [1, 0], [2, 0], [0, 0], [-(2**31), 2**31 - 1]], np.int32)
    gate = np.array([[0.5, np.nan], [np.inf, 7], [7, np.nan], [np.nan, 7], [np.nan, 7]], np.float32)
    return wave(4 * 2 * 3, 0.37, 1).reshape(4, 2, 3) + np.float32(2), expert, pos, gate


_SIZES = [
    (3, 2, 4, 3, 8), (8, 2, 4, 4, 256), (20, 1, 4, 8, 300), (100, 4, 8, 30, 7), (2, 1, 3, 1, 1), (257, 2, 5, 120, 3),
    (128, 2, 5, 60, 3), (64, 8, 260, 2, 3), (700, 8, 260, 30, 3),
]  # fmt: skip

CASES = [
    *(
        Case("router", f"{t}x{e}-top-{k}", partial(_logits, t, e), {"k": k, "normalize": normalize}, quick=t == 60)
        for t, e, k, normalize in [
            (3, 4, 1, False),
            (256, 8, 2, True),
            (512, 8, 2, False),
            (257, 16, 4, True),
            (60, 64, 3, True),
            (5, 2, 2, False),
            (9, 512, 10, True),
        ]
    ),
    Case("router", "large-logits", partial(_logits, 40, 8, 100, 800), {"k": 2, "normalize": True}),
    Case(
        "router",
        "ties",
        lambda: _rows([2, 2, 2, 2], [1, 5, 5, 1], [0, -0.0, 0, -0.0], [-1, -3, -1, -3]),
        {"k": 2, "normalize": False},
    ),
    Case("router", "two-experts-top-4", partial(_logits, 5, 2), {"k": 4, "normalize": True}),
    Case("router", "two-experts-top-4-plain", partial(_logits, 5, 2), {"k": 4, "normalize": False}),
    Case(
        "router",
        "masked-experts",
        lambda: _rows([-np.inf, 1, -np.inf, 2], [0, -np.inf, -np.inf, -np.inf]),
        {"k": 2, "normalize": True},
    ),
    Case("router", "no-tokens", partial(_logits, 0, 8), {"k": 2, "normalize": True}),
    *(
        Case(
            "moe_dispatch",
            f"{t}-top-{k}-to-{e}x{c}x{d}",
            partial(_seated, t, k, e, d),
            {"experts": e, "capacity": c},
            quick=t == 100,
            tolerance=EXACT,
        )
        for t, k, e, c, d in _SIZES
    ),
    Case("moe_dispatch", "10-for-3-seats", partial(_one_expert, 10), {"experts": 2, "capacity": 3}, tolerance=EXACT),
    Case(
        "moe_dispatch", "600-for-290-seats", partial(_one_expert, 600), {"experts": 2, "capacity": 290}, tolerance=EXACT
    ),
    Case("moe_dispatch", "outside", _outside, {"experts": 3, "capacity": 4}, tolerance=EXACT),
    Case(
        "moe_dispatch",
        "no-tokens",
        lambda: (np.zeros((0, 4), np.float32), np.zeros((0, 2), np.int32)),
        {"experts": 2, "capacity": 3},
        tolerance=EXACT,
    ),
    Case(
        "moe_dispatch",
        "no-width",
        lambda: (np.zeros((3, 0), np.float32), _experts(3, 2, 4)),
        {"experts": 4, "capacity": 2},
        tolerance=EXACT,
    ),
    *(
        Case(
            "moe_gather",
            f"{t}-top-{k}-of-{e}x{c}x{d}",
            partial(_results, t, k, e, c, d),
            quick=t == 100,
            tolerance=_SUMS,
        )
        for t, k, e, c, d in _SIZES
    ),
    Case("moe_gather", "crowded", partial(_results, 100, 4, 8, 7, 7), tolerance=_SUMS),
    Case("moe_gather", "outside", _results_outside),
    Case("moe_gather", "experts-from-2", lambda: _results_from(2), {"first_expert": 2}, tolerance=_SUMS),
    Case(
        "moe_gather",
        "no-tokens",
        lambda: (np.ones((2, 3, 4), np.float32), *(np.zeros((0, 2), np.int32),) * 2, np.zeros((0, 2), np.float32)),
    ),
]
