"""Cases of argmax: lengths around a workgroup's 2,048 values, the winner at each end, ties, infinities."""

from functools import partial

import numpy as np

from webxpu.cases.case import EXACT, F32, Case, hashed, uniform

TOLERANCE = EXACT


def _peak(v: int, *at: int) -> tuple[F32]:
    x = uniform((v,), seed=v)
    x[list(at)] = 2
    return (x,)


def _coarse(v: int) -> tuple[F32]:
    """Few different values, so that the largest occurs many times."""
    return ((hashed(v, 1) % 50).astype(np.float32) - 60,)


CASES = [
    *(
        Case("argmax", f"{v}-at-{at}", partial(_peak, v, at), quick=v == 49_152)
        for v, at in [
            (1, 0), (2, 1), (255, 254), (256, 0), (257, 256), (2047, 2046), (2048, 300), (2049, 2048),
            (49_152, 49_151), (49_152, 4096), (9000, 8500), (1_100_000, 1_050_000),
        ]
    ),
    Case("argmax", "tie-within-a-thread", lambda: _peak(3000, 700, 700 + 256, 700 + 512)),
    Case("argmax", "tie-across-threads", lambda: _peak(3000, 1200, 45, 46)),
    Case("argmax", "tie-across-workgroups", lambda: _peak(9000, 8500, 2100, 6400)),
    Case("argmax", "many-ties", lambda: _coarse(70_000)),
    Case("argmax", "all-equal", lambda: (np.full(5000, -3, np.float32),)),
    Case("argmax", "all-negative-infinity", lambda: (np.full(5000, -np.inf, np.float32),)),
    Case("argmax", "infinity", lambda: (np.where(np.arange(5000) == 4001, np.float32(np.inf), uniform((5000,))),)),
]  # fmt: skip
