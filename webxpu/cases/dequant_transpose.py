"""Cases of dequant_transpose: rows that end within a word, codes of both signs, a scale a row."""

from functools import partial

import numpy as np
from numpy.typing import NDArray

from webxpu.cases.case import EXACT, F32, Case

TOLERANCE = EXACT  # one product of a code and its scale, rounded once on both sides


def _weight(n: int, k: int) -> tuple[NDArray[np.uint32], F32]:
    """Rows of n features; what a row's last word has to spare is no 0, so that reading it shows."""
    codes = np.full((n, -(-k // 4) * 4), 99, np.int8)
    codes[:, :k] = (37 * np.arange(n * k).reshape(n, k)) % 200 - 100
    return codes.view(np.uint32), (0.01 + 1e-4 * np.arange(n)).astype(np.float32)


def _edges() -> tuple[NDArray[np.uint32], F32]:
    return np.array([[-128, 127, -1, 0]], np.int8).view(np.uint32), np.array([-0.75], np.float32)


CASES = [
    *(
        Case("dequant_transpose", f"{n}x{k}", partial(_weight, n, k), {"in_features": k}, quick=k in (3, 112))
        for n, k in [(1, 1), (5, 3), (3, 8), (16, 112), (512, 1792), (7, 1793), (1, 4)]
    ),
    Case("dequant_transpose", "least-and-largest-code", _edges, {"in_features": 4}),
    Case("dequant_transpose", "no-rows", partial(_weight, 0, 4), {"in_features": 4}),
]
