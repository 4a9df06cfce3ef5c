"""Cases of the heads: vocabularies around 64, every weight type, the last valid row or all rows, ties."""

from functools import partial
from typing import Any

import numpy as np

from webxpu.cases.case import MANY_CASES, Case, Tolerance, uniform
from webxpu.cases.project import weight_of
from webxpu.llm.state import State

TOLERANCE = Tolerance(1e-5, 1e-5, "worst 3.9e-6 absolute at K = 576 on SwiftShader, where a sum cancels")


def _head(type_name: str, rows: int, v: int, k: int, valid: int = 1) -> tuple[Any, ...]:
    gain = uniform((k,), 2) + np.float32(1.5)
    return weight_of(type_name, v, k), uniform((rows, k), 1), gain, State(rows=valid, capacity=64).to_words()


def _ties() -> tuple[Any, ...]:
    """Rows 3, 9 and 40 are equal and best, and so are the rows of the second candidate all together."""
    weight, x, gain, state = _head("f32", 1, 130, 32)
    weight[[3, 9, 40]] = gain * x[0]
    weight[64:128] = weight[64]
    return weight, x, gain, state


_SHAPES = [("q8_0", 1, 4099, 576, 1), ("f32", 1, 1, 4, 1), ("f32", 1, 63, 36, 1), ("q4_0", 1, 64, 64, 1)]
_LARGE_BLOCKS = [(t, 1, 131, 256, 1) for t in ("q6_k", "q1_0", "q1g128", "tq1_0", "tq2_0")]
_RAGGED = [("f16", 1, 70, 44, 1), ("bf16", 1, 70, 44, 1), ("q8", 1, 70, 52, 1)]
_ROWS = [("f32", 5, 67, 32, 3), ("q4_1", 3, 40, 32, 3), ("f32", 3, 5, 8, 9), ("f32", 3, 5, 8, 0)]
_FEW = [("q8_0", 5, 131, 576), ("q4_k", 3, 131, 1024)]

CASES = [
    *(
        Case(op, f"{t}-131x96", partial(_head, t, 1, 131, 96), {"eps": 1e-5})
        for op in ("norm_head", "norm_head_argmax")
        for t in ("f32", *MANY_CASES)
    ),
    *(
        Case(op, f"{t}-{rows}x{v}x{k}-row-{n}", partial(_head, t, rows, v, k, n), {"eps": 1e-5}, quick=v == 4099)
        for op in ("norm_head", "norm_head_argmax")
        for t, rows, v, k, n in [*_SHAPES, *_LARGE_BLOCKS, *_RAGGED, *_ROWS]
    ),
    Case("norm_head_argmax", "ties", _ties, {"eps": 1e-5}),
    *(
        Case(op, f"{t}-{rows}x{v}x{k}", partial(_head, t, rows, v, k), {"eps": 1e-5}, quick=rows == 5)
        for op in ("norm_head_rows", "norm_head_rows_argmax")
        for t, rows, v, k in [*_FEW, ("q4_1", 2, 131, 96), ("f32", 9, 67, 36), ("q4_0", 10, 70, 32)]
    ),
    Case("norm_head_rows", "no-row", partial(_head, "f32", 0, 5, 8), {"eps": 1e-5}),
    Case("norm_head_rows_argmax", "ties", _ties, {"eps": 1e-5}),
]  # fmt: skip
