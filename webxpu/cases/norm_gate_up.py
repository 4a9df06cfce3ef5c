"""Cases of norm_gate_up and glu: every weight type and activation, one row and several."""

from functools import partial
from typing import Any

import numpy as np

from webxpu.cases.case import MANY_CASES, Case, Tolerance, uniform, wave
from webxpu.cases.project import weight_of
from webxpu.ops.activation import KINDS

TOLERANCE = Tolerance(2e-5, 3e-6, "worst 7.3e-7 absolute on SwiftShader, where a sum or gelu's tail cancels")


def _norm(type_name: str, rows: int, f: int, k: int, amp: float = 1) -> tuple[Any, ...]:
    gain = uniform((k,), 2, amp=0.1) + np.float32(0.15)
    return weight_of(type_name, 2 * f, k), uniform((rows, k), 1, amp=amp), gain


def _glu(rows: int, f: int) -> tuple[Any, ...]:
    return (wave(rows * 2 * f, 0.37, amp=4).reshape(rows, 2 * f),)


CASES = [
    *(Case("glu", f"{kind}", partial(_glu, 3, 37), {"kind": kind}) for kind in KINDS),
    Case("glu", "4x300", partial(_glu, 4, 300), quick=True),
    *(
        Case("norm_gate_up", f"{t}-65x96", partial(_norm, t, 1, 65, 96), {"eps": 1e-5})
        for t in ("f32", *MANY_CASES)
    ),
    Case("norm_gate_up", "q8-65x52", partial(_norm, "q8", 1, 65, 52), {"eps": 1e-5}),
    Case("norm_gate_up", "q4_k-65x256", partial(_norm, "q4_k", 1, 65, 256), {"eps": 1e-5}),
    *(Case("norm_gate_up", f"{t}-ragged", partial(_norm, t, 1, 5, 44), {"eps": 1e-5}) for t in ("f16", "bf16")),
    Case("norm_gate_up", "smollm2", partial(_norm, "q4_1", 1, 1536, 576), {"eps": 1e-5}, quick=True),
    *(
        Case("norm_gate_up", f"{kind}", partial(_norm, "f32", 1, 9, 36), {"eps": 0.3, "kind": kind})
        for kind in ("gelu", "gelu_tanh", "relu2")
    ),
    Case("norm_gate_up", "large-x", partial(_norm, "q4_0", 1, 5, 64, 300.0), {"eps": 1e-5}),
    *(
        Case("norm_gate_up", f"{t}-{n}-rows", partial(_norm, t, n, 65, k), {"eps": 1e-5})
        for t, n, k in [("q4_1", 2, 96), ("f32", 9, 36), ("q8_0", 5, 576), ("q8_0", 1, 1056), ("q4_k", 3, 1024)]
    ),
    *(Case("norm_gate_up", f"{t}-rows", partial(_norm, t, 10, 33, 64), {"eps": 1e-5}) for t in ("f32", "q8_0")),
]  # fmt: skip
