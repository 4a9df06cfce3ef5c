"""Cases of softmax: rows around 256, exponentials that overflow, masked values."""

from functools import partial

import numpy as np
from numpy.typing import NDArray

from webxpu.cases.case import F32, Case, Tolerance, halves, wave

TOLERANCE = Tolerance(1e-5, 1e-6, "worst 2.2e-8 absolute and 6.2e-7 relative, on SwiftShader")
HALF = Tolerance(1e-3, 6e-8, "exact on an NVIDIA H200; WGSL leaves the rounding open, a step of 9.8e-4")


def _wave(n: int, d: int) -> tuple[F32]:
    return (wave(n * d, 0.23, amp=2).reshape(n, d),)


def _halves(n: int, d: int) -> tuple[NDArray[np.float16], ...]:
    return halves(_wave(n, d))


def _masked() -> tuple[F32]:
    (x,) = _wave(3, 70)
    x[0, 1:] = -np.inf
    x[1, ::2] = -np.inf
    return (x,)


CASES = [
    *(
        Case("softmax", f"{n}x{d}", partial(_wave, n, d), quick=d == 500)
        for n, d in [(1, 16), (2, 256), (3, 500), (1, 1), (14, 65), (2, 1500)]
    ),
    Case("softmax", "overflowing-exponentials", lambda: (np.arange(100, 900, 100).astype(np.float32)[None],)),
    Case("softmax", "overflowing-first", lambda: (np.arange(900, 100, -100).astype(np.float32)[None],)),
    Case("softmax", "large-negative", lambda: (np.arange(-9000, -100, 100).astype(np.float32)[None],)),
    Case("softmax", "masked", _masked),
    *(
        Case("softmax", f"{n}x{d}-f16", partial(_halves, n, d), quick=d == 500, tolerance=HALF)
        for n, d in [(3, 500), (5, 65), (2, 1500), (3, 1)]
    ),
    Case("softmax", "masked-f16", lambda: halves(_masked()), tolerance=HALF),
    Case("softmax", "one-axis", lambda: (wave(30, 0.23),)),
    Case("softmax", "no-columns", lambda: (np.zeros((3, 0), np.float32),)),
]
