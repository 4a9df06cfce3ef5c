"""Cases of rmsnorm: rows around 256, grouped weights, a row of zeros."""

from functools import partial

import numpy as np
from numpy.typing import NDArray

from webxpu.cases.case import F32, Case, Tolerance, halves, uniform, wave

TOLERANCE = Tolerance(1e-5, 1e-6, "worst 4.8e-7 absolute and 2.4e-7 relative, on SwiftShader")
HALF = Tolerance(1e-3, 1e-6, "exact on an NVIDIA H200; WGSL leaves the rounding open, a step of 9.8e-4")


def _shared(n: int, d: int) -> tuple[F32, F32]:
    return wave(n * d, 0.37, amp=2).reshape(n, d), uniform((d,), seed=d)


def _grouped(n: int, d: int, g: int) -> tuple[F32, F32]:
    weight = 0.5 + 0.4 * np.cos(0.11 * np.arange(d)) + np.arange(g)[:, None]
    return wave(n * d, 0.37, amp=2).reshape(n, d), weight.astype(np.float32)


def _halves(n: int, d: int) -> tuple[NDArray[np.float16], ...]:
    return halves(_grouped(n, d, 2))


def _with_zero_row() -> tuple[F32, F32]:
    x, weight = _shared(3, 40)
    x[1] = 0
    return x, weight


CASES = [
    *(
        Case("rmsnorm", f"{n}x{d}", partial(_shared, n, d), {"eps": 1e-6}, quick=d == 576)
        for n, d in [(2, 8), (1, 64), (1, 256), (3, 300), (2, 576), (2, 2560), (1, 1), (14, 65)]
    ),
    *(
        Case("rmsnorm", f"{n}x{d}-groups-{g}", partial(_grouped, n, d, g), {"eps": 1e-5})
        for n, d, g in [(12, 8, 4), (6, 300, 3), (6, 8, 4), (5, 256, 1)]
    ),
    *(
        Case("rmsnorm", f"{n}x{d}-f16", partial(_halves, n, d), {"eps": 1e-6}, d == 576, HALF)
        for n, d in [(3, 300), (2, 576), (5, 65), (3, 1)]
    ),
    Case("rmsnorm", "zero-row", _with_zero_row, {"eps": 1e-6}),
    Case("rmsnorm", "large-eps", lambda: _shared(2, 24), {"eps": 0.7}),
    Case("rmsnorm", "three-axes", lambda: (wave(48, 0.3).reshape(2, 3, 8), uniform((3, 8))), {"eps": 1e-6}),
    Case("rmsnorm", "one-row", lambda: (wave(24, 0.3), uniform((24,))), {"eps": 1e-6}),
    Case("rmsnorm", "no-rows", lambda: (np.zeros((0, 8), np.float32), np.ones(8, np.float32)), {"eps": 1e-6}),
]
