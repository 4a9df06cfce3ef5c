"""Cases of elementwise and elementwise_rows: both kinds, over a few workgroups, and rows where S = D."""

from functools import partial

import numpy as np

from webxpu.cases.case import F32, Case, Tolerance, wave

TOLERANCE = Tolerance(6e-8, 0.0, "one rounding of float32: at most half a unit in the last place; 0 on SwiftShader")
KINDS = ("add", "multiply")


def _pair(n: int) -> tuple[F32, F32]:
    return wave(n, 0.37), wave(n, 0.19)


def _rows(s: int, d: int) -> tuple[F32, F32]:
    return wave(s * d, 0.37).reshape(s, d), wave(d, 0.19, 0.4)


CASES = [
    *(Case("elementwise", f"{k}-{n}", partial(_pair, n), {"kind": k}, n == 300) for k in KINDS for n in (300, 4097)),
    Case("elementwise", "empty", lambda: _pair(0), {"kind": "add"}),
    *(
        Case("elementwise_rows", f"{k}-{s}x{d}", partial(_rows, s, d), {"kind": k}, d == 300)
        for k in KINDS
        for s, d in [(3, 3), (2, 300), (300, 2), (5, 1025)]
    ),
    Case(
        "elementwise_rows", "no-rows", lambda: (np.zeros((0, 3), np.float32), np.ones(3, np.float32)), {"kind": "add"}
    ),
]
