"""Cases of gather: indices that are never the identity, repeated, outside the table; every weight type."""

from functools import partial

import numpy as np
from numpy.typing import NDArray

from webxpu.cases.case import EXACT, F32, FEW_CASES, MANY_CASES, Case, Tolerance, block_weight, distinct
from webxpu.quant.ggml import Blocks

TOLERANCE = EXACT
# w = d * code + m is fused on some devices and not on others.
FUSED = Tolerance(2e-7, 1e-7, "one rounding more or less")
_OFFSET = ("q5_1", "q2_k", "q4_k", "q5_k")
_OUTSIDE = [0, -1, 6, 7, 3, -100, 2, 1000, -(2**31), 2**31 - 1]


def _rows(n: int, d: int, r: int) -> tuple[F32, NDArray[np.int32]]:
    return distinct(r * d).reshape(r, d), ((7 * np.arange(n) + 3) % r).astype(np.int32)


def _indices(*values: int) -> NDArray[np.int32]:
    return np.array(values, np.int32)


def _blocks(type_name: str, r: int, d: int) -> tuple[Blocks, NDArray[np.int32]]:
    return block_weight(type_name, (r, d), seed=r), _indices(*_OUTSIDE, 5, 5, 1)


CASES = [
    *(
        Case("gather", f"{n}-of-{r}x{d}", partial(_rows, n, d, r), quick=d == 300)
        for n, d, r in [(3, 8, 5), (1, 256, 4), (2, 256, 64), (5, 300, 7), (257, 1, 33), (300, 7, 128)]
    ),
    Case("gather", "one-row-512-times", lambda: (distinct(24).reshape(3, 8), np.full(512, 2, np.int32))),
    Case("gather", "outside", lambda: (distinct(48).reshape(6, 8), _indices(*_OUTSIDE))),
    Case("gather", "empty-table", lambda: (np.zeros((0, 4), np.float32), _indices(0, 1))),
    Case("gather", "no-indices", lambda: (distinct(8).reshape(2, 4), _indices())),
    *(
        Case(
            "gather",
            f"{t}-{r}x{d}",
            partial(_blocks, t, r, d),
            quick=d == 96,
            tolerance=FUSED if t == "q4_1" else None,
        )
        for t in MANY_CASES
        for r, d in [(6, 96), (130, 32)]
    ),
    *(
        Case("gather", f"{t}-6x512", partial(_blocks, t, 6, 512), tolerance=FUSED if t in _OFFSET else None)
        for t in FEW_CASES
    ),
    *(Case("gather", f"{t}-6x{d}", partial(_blocks, t, 6, d)) for t in ("f16", "bf16") for d in (40, 33)),
    *(
        Case("gather", f"{t}-6x{d}", partial(_blocks, t, 6, d))
        for t, d in [("q8", 44), ("q4g128", 268), ("q1g128", 384)]
    ),
]
