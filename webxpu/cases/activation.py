"""Cases of activation: each kind at the values where a formula goes wrong, and over a few workgroups."""

import numpy as np

from webxpu.cases.case import F32, Case, Tolerance, wave
from webxpu.ops.activation import KINDS

TOLERANCE = Tolerance(1e-5, 2e-6, "worst 4.8e-7 absolute, of silu, gelu and gelu_tanh, on SwiftShader")
# gelu and gelu_tanh differ most at 2.699; tanh overflows on some devices from 89.
_PROBES = [300, 100, 89, 20, 8, 4, 3, 2.699, 2, 1, 0.5, 0.05, 1e-4]


def _values(n: int) -> tuple[F32]:
    probes = np.array([*_PROBES, 0, *(-p for p in _PROBES)], np.float32)
    return (np.concatenate([probes, wave(n - len(probes), 0.37, amp=8)]),)


CASES = [
    *(Case("activation", f"{kind}-300", lambda: _values(300), {"kind": kind}, quick=True) for kind in KINDS),
    *(Case("activation", f"{kind}-4097", lambda: _values(4097), {"kind": kind}) for kind in ("silu", "gelu")),
    Case("activation", "elu-alpha", lambda: _values(300), {"kind": "elu", "alpha": 0.7}),
    Case("activation", "one-value", lambda: (np.array([-1.5], np.float32),), {"kind": "silu"}),
    Case("activation", "three-axes", lambda: (wave(30, 0.3).reshape(2, 3, 5),), {"kind": "tanh"}),
    Case("activation", "empty", lambda: (np.zeros(0, np.float32),), {"kind": "silu"}),
]
