"""Cases of rope: both pairings, positions out of order, far positions, one row and several workgroups."""

from typing import Any

import numpy as np

from webxpu.cases.case import Case, Tolerance, wave
from webxpu.ops.rope import rope_table

TOLERANCE = Tolerance(1e-5, 1e-6, "worst 2.4e-7 absolute and 3.1e-6 relative, on SwiftShader: two products and a sum")


def _rows(positions: list[int], h: int, d: int, table: int, base: float = 1e4) -> tuple[Any, ...]:
    length = len(positions)
    x = wave(length * h * d, 0.31, 0.2).reshape(length, h, d)
    return x, np.array(positions, np.int32), rope_table(table, d, base=base)


CASES = [
    *(
        Case("rope", f"{pairs}-{name}", make, {"pairs": pairs}, quick=name == "3x4x16")
        for pairs in ("adjacent", "half")
        for name, make in [
            ("3x4x16", lambda: _rows([5, 0, 9], 4, 16, 10)),
            ("one-row", lambda: _rows([3], 9, 64, 4, 5e5)),
            ("one-pair", lambda: _rows([1, 2, 0], 1, 2, 3)),
            ("7x8x64", lambda: _rows([6, 1, 4, 2, 0, 5, 3], 8, 64, 7)),
            ("far", lambda: _rows([6000, 4095, 5999], 2, 128, 6001)),
        ]
    ),
    Case("rope", "no-rows", lambda: _rows([], 2, 8, 4), {"pairs": "half"}),
]
