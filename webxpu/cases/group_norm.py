"""Cases of group_norm: groups around 256 values, long ones that are divided, channels far apart, a large mean."""

from functools import partial

import numpy as np
from numpy.typing import NDArray

from webxpu.cases.case import F32, Case, Tolerance, halves, uniform, wave

TOLERANCE = Tolerance(
    1e-5, 2e-6, "worst 9.6e-7 absolute, and 6.5e-7 where that is more than the relative 1e-5, on SwiftShader"
)
HALF = Tolerance(1e-3, 2e-6, "worst 9.7e-4 relative, a step of float16, on an NVIDIA H200")


def _waves(n: int, c: int, *rest: int) -> tuple[F32, F32, F32]:
    size = int(np.prod((n, c, *rest)))
    return wave(size, 0.37, amp=3).reshape(n, c, *rest), 1 + uniform((c,), seed=c), uniform((c,), seed=c + 1)


def _halves(n: int, c: int, *rest: int) -> tuple[NDArray[np.float16], ...]:
    return halves(_waves(n, c, *rest))


def _apart() -> tuple[F32, F32, F32]:
    """A group whose channels lie at 50 and -50: what they share is about 0."""
    x, weight, bias = _waves(1, 4, 60)
    x[:, ::2] += 50
    x[:, 1::2] -= 50
    return x, weight, bias


def _large_mean(length: int) -> tuple[F32, F32, F32]:
    x, weight, bias = _waves(1, 4, length)
    x[:, :2] += 8192
    x[:, 2:] += 1024
    return x, weight, bias


def _drifting(length: int) -> tuple[F32, F32, F32]:
    """Values that rise along each channel: the shares of a group differ in their means."""
    x, weight, bias = _waves(2, 4, length)
    return (x + np.linspace(0, 40, length)).astype(np.float32), weight, bias


CASES = [
    *(
        Case(
            "group_norm", f"{n}x{c}x{length}-by-{g}", partial(_waves, n, c, length), {"groups": g, "eps": 1e-5},
            c == 64,
        )
        for n, c, length, g in [
            (2, 6, 4, 3), (1, 4, 128, 2), (3, 8, 75, 4), (2, 8, 300, 2), (1, 64, 40, 8), (2, 3, 5, 1), (2, 3, 5, 3),
            (1, 1, 7, 1), (5, 4, 16, 2),
        ]
    ),
    *(
        Case("group_norm", f"long-{n}x{c}x{length}-by-{g}", partial(_waves, n, c, length), {"groups": g, "eps": 1e-5})
        for n, c, length, g in [(2, 4, 16_385, 2), (1, 1, 40_001, 1), (3, 1, 32_768, 1)]
    ),
    Case("group_norm", "channels-apart", _apart, {"groups": 2, "eps": 1e-5}),
    Case("group_norm", "large-mean", partial(_large_mean, 300), {"groups": 2, "eps": 1e-5}),
    Case("group_norm", "long-large-mean", partial(_large_mean, 16_385), {"groups": 2, "eps": 1e-5}),
    Case("group_norm", "long-drifting", partial(_drifting, 16_385), {"groups": 2, "eps": 1e-5}),
    Case("group_norm", "large-eps", partial(_waves, 1, 4, 128), {"groups": 2, "eps": 0.7}),
    Case("group_norm", "long-large-eps", partial(_waves, 2, 4, 16_385), {"groups": 2, "eps": 0.7}),
    Case("group_norm", "four-axes", partial(_waves, 2, 6, 3, 5), {"groups": 3, "eps": 1e-5}),
    Case("group_norm", "no-length", partial(_waves, 2, 6), {"groups": 3, "eps": 1e-5}),
    Case("group_norm", "empty", partial(_waves, 2, 6, 0), {"groups": 3, "eps": 1e-5}),
    *(
        Case(
            "group_norm", f"{n}x{c}x{length}-by-{g}-f16", partial(_halves, n, c, length), {"groups": g, "eps": 1e-5},
            c == 64, HALF,
        )
        for n, c, length, g in [(3, 8, 75, 4), (1, 64, 40, 8), (1, 5, 7, 1), (1, 1, 7, 1), (2, 4, 16_385, 2)]
    ),
]  # fmt: skip
