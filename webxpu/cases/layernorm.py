"""Cases of layernorm: rows around 256, a large mean, a constant row."""

from functools import partial

import numpy as np
from numpy.typing import NDArray

from webxpu.cases.case import F32, Case, Tolerance, halves, uniform, wave

TOLERANCE = Tolerance(
    1e-5, 2e-6, "worst 1.2e-6 absolute, and 6.9e-7 where that is more than the relative 1e-5, on SwiftShader"
)
HALF = Tolerance(1e-3, 2e-6, "worst 6.4e-4 relative on an NVIDIA H200; a step of float16 is 9.8e-4")


def _waves(n: int, d: int) -> tuple[F32, F32, F32]:
    return wave(n * d, 0.37, amp=2).reshape(n, d), 1 + uniform((d,), seed=d), uniform((d,), seed=d + 1)


def _halves(n: int, d: int) -> tuple[NDArray[np.float16], ...]:
    return halves(_waves(n, d))


def _large_mean() -> tuple[F32, F32, F32]:
    """Rows of whole numbers about 8192 and 1024, whose variance is 6.68, and of fractions about 1000."""
    d = 256
    spread = (37 * np.arange(d)) % 9 - 4
    x = np.stack([8192 + spread, 1024 + spread, 1000 + np.sin(np.arange(d))]).astype(np.float32)
    return x, *_waves(3, d)[1:]


def _constant_row() -> tuple[F32, F32, F32]:
    x, weight, bias = _waves(3, 40)
    x[1] = 3.5
    return x, weight, bias


CASES = [
    *(
        Case("layernorm", f"{n}x{d}", partial(_waves, n, d), {"eps": 1e-5}, quick=d == 576)
        for n, d in [(2, 8), (1, 64), (1, 256), (3, 300), (2, 576), (2, 2560), (1, 1), (14, 65)]
    ),
    Case("layernorm", "large-mean", _large_mean, {"eps": 1e-5}),
    Case("layernorm", "constant-row", _constant_row, {"eps": 1e-5}),
    Case("layernorm", "large-eps", partial(_waves, 2, 24), {"eps": 0.7}),
    Case("layernorm", "three-axes", lambda: (wave(48, 0.3).reshape(2, 3, 8), *_waves(1, 8)[1:]), {"eps": 1e-5}),
    Case("layernorm", "one-row", lambda: (wave(24, 0.3), *_waves(1, 24)[1:]), {"eps": 0.7}),
    Case("layernorm", "no-rows", lambda: (np.zeros((0, 8), np.float32), *_waves(1, 8)[1:]), {"eps": 1e-5}),
    *(
        Case("layernorm", f"{n}x{d}-f16", partial(_halves, n, d), {"eps": 1e-5}, d == 576, HALF)
        for n, d in [(3, 300), (2, 576), (5, 65), (3, 1)]
    ),
]
