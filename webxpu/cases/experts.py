"""Cases of expert_gate_up and expert_down: every weight type, one token and several, experts that are not there."""

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from webxpu.cases.case import MANY_CASES, Case, Tolerance, hashed, uniform
from webxpu.cases.project import weight_of

TOLERANCE = Tolerance(2e-5, 1e-5, "worst 3.3e-6 absolute on SwiftShader, where a sum cancels")
I32 = NDArray[np.int32]


def _expert(tokens: int, ranks: int, e: int) -> I32:
    """Different experts at every rank, and not the same ones for neighbours."""
    order = np.argsort(hashed(tokens * e, 7).reshape(tokens, e), axis=1)
    return order[:, :ranks].astype(np.int32)


def _outside() -> I32:
    return np.array([[-1, 2], [3, 0], [-(2**31), 2**31 - 1]], np.int32)


def _gate_up(
    type_name: str, tokens: int, ranks: int, e: int, f: int, k: int, expert: I32 | None = None
) -> tuple[Any, ...]:
    x, gain = uniform((tokens, k), 1), uniform((k,), 2, amp=0.1) + np.float32(0.15)
    return weight_of(type_name, 2 * e * f, k), x, gain, _expert(tokens, ranks, e) if expert is None else expert


def _down(
    type_name: str, tokens: int, ranks: int, e: int, n: int, k: int, expert: I32 | None = None
) -> tuple[Any, ...]:
    hidden, gate = uniform((tokens, ranks, k), 1), np.abs(uniform((tokens, ranks), 3)) + np.float32(0.1)
    if expert is not None:
        gate[(expert < 0) | (expert >= e)] = np.nan
    weight = weight_of(type_name, e * n, k)
    return weight, hidden, _expert(tokens, ranks, e) if expert is None else expert, gate, uniform((tokens, n), 4, amp=3)


# tokens, ranks, experts, rows of an expert, width
_SIZES = [(1, 1, 1, 1, 4), (1, 2, 4, 65, 96), (3, 3, 5, 17, 36), (9, 2, 4, 257, 64), (10, 8, 9, 5, 32)]


def _name(type_name: str, sizes: tuple[int, ...]) -> str:
    tokens, ranks, e, rows, k = sizes
    return f"{type_name}-{tokens}-top-{ranks}-of-{e}x{rows}x{k}"


_TYPED = [
    *((t, (2, 2, 3, 33, 64)) for t in MANY_CASES),
    *(("f32", sizes) for sizes in _SIZES),
    *((t, (2, 2, 3, 5, k)) for t in ("f16", "bf16") for k in (40, 44)),
    ("q4_k", (2, 2, 3, 33, 256)),
]

CASES = [
    *(
        Case(
            "expert_gate_up", _name(t, sizes), partial(_gate_up, t, *sizes), {"experts": sizes[2], "eps": 1e-5},
            quick=t == "q4_k",
        )
        for t, sizes in _TYPED
    ),
    Case(
        "expert_gate_up", "gelu_tanh", partial(_gate_up, "f32", 2, 2, 3, 5, 8),
        {"experts": 3, "eps": 0.5, "kind": "gelu_tanh"},
    ),
    Case("expert_gate_up", "outside", partial(_gate_up, "f32", 3, 2, 3, 5, 8, _outside()), {"experts": 3, "eps": 1e-5}),
    *(Case("expert_down", _name(t, sizes), partial(_down, t, *sizes), quick=t == "q4_k") for t, sizes in _TYPED),
    Case("expert_down", "f32-2-top-2-of-3x5x2080", partial(_down, "f32", 2, 2, 3, 5, 2080)),
    Case("expert_down", "outside", partial(_down, "f32", 3, 2, 3, 5, 8, _outside())),
]  # fmt: skip
