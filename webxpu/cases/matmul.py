"""Cases of matmul, linear and the quantised products: each size below, at and past the tiles (16, 32, 64, 128), every
weight type."""

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from webxpu.cases.case import F32, FEW_CASES, MANY_CASES, Case, Tolerance, block_weight, uniform, wave
from webxpu.cases.matvec import F16, q4_weight, q8_weight
from webxpu.quant.ggml import Blocks

TOLERANCE = Tolerance(1e-5, 2e-5, "worst 8.6e-6 absolute at 1x64x300 and 3e-5 relative at 65x66x33, on SwiftShader")
# M, N, K, around tiles of 16, 32, 48, 64 and 128 rows and of 64 and 128 columns.
SHAPES = [
    (1, 1, 1), (17, 16, 16), (16, 17, 31), (33, 47, 65), (65, 66, 33), (1, 64, 300), (64, 1, 32), (3, 5, 0),
    (48, 70, 20), (130, 264, 36),
]  # fmt: skip


def _matmul(m: int, n: int, k: int) -> tuple[F32, F32]:
    return wave(m * k, 0.37).reshape(m, k), wave(k * n, 0.11, 0.8).reshape(k, n)


def _linear(m: int, n: int, k: int) -> tuple[F32, F32]:
    return wave(m * k, 0.37).reshape(m, k), wave(k * n, 0.11, 0.8).reshape(n, k)


def _blocks(type_name: str, m: int, n: int, k: int) -> tuple[F32, Blocks]:
    return uniform((m, k), seed=m), block_weight(type_name, (n, k), seed=n)


# The same for quantised weights; large ones by their loads, and rows that end within a word.
QUANTISED = [
    (1, 1, 1), (17, 16, 16), (16, 17, 31), (33, 47, 65), (1, 64, 300), (3, 5, 0), (17, 70, 96),
]  # fmt: skip
Q8 = Tolerance(1e-4, 2e-4, "worst 1.7e-4 absolute at 65x132x48 and 6.6e-4 relative at 33x47x65, on SwiftShader")
Q4 = Tolerance(1e-4, 5e-5, "worst 1.7e-5 absolute at 65x132x160 and 7.8e-4 relative at 33x47x65, on SwiftShader")

F16s = NDArray[np.float16]
Product = tuple[F32, NDArray[np.uint32], F32]


def _halves(make: Callable[[int, int, int], tuple[F32, F32]], m: int, n: int, k: int) -> tuple[F16s, F16s]:
    left, right = make(m, n, k)
    return left.astype(np.float16), right.astype(np.float16)


def _q8(m: int, n: int, k: int) -> Product:
    return wave(m * k, 0.11, 0.8).reshape(m, k), *q8_weight(n, k)


def _q4(m: int, n: int, k: int) -> Product:
    return wave(m * k, 0.11, 0.8).reshape(m, k), *q4_weight(n, k)


def _same_codes() -> Product:
    """Two features that only their scales tell apart."""
    words, _ = q8_weight(1, 19)
    return wave(5 * 19, 0.11).reshape(5, 19), np.repeat(words, 2, axis=0), np.array([0.03, 0.11], np.float32)


def _group_boundary() -> Product:
    """Only the last column of a group and the first of the next count."""
    a = np.zeros((3, 160), np.float32)
    a[:, 127], a[:, 128] = [1, 2, 0], [0, 5, -7]
    return a, *q4_weight(132, 160)


# What lies past an operand, and in the row after the last column, is a sentinel.
ENDS = {"no-read-past-operands": (5, 7, 19), "no-write-past-last-column": (4, 17, 8)}

CASES = [
    *(Case("matmul", f"{m}x{n}x{k}", partial(_matmul, m, n, k), quick=m == 33) for m, n, k in SHAPES),
    *(Case("matmul", name, partial(_matmul, *shape)) for name, shape in ENDS.items()),
    *(Case("linear", f"f32-{m}x{n}x{k}", partial(_linear, m, n, k), quick=m == 33) for m, n, k in SHAPES),
    *(
        Case("linear", f"{t}-{m}x{n}x{k}", partial(_blocks, t, m, n, k), quick=m == 17 and t != "bf16")
        for t in MANY_CASES
        for m, n, k in [(17, 70, 96), (3, 129, 32)]
    ),
    *(Case("linear", f"{t}-5x9x256", partial(_blocks, t, 5, 9, 256)) for t in FEW_CASES),
    *(
        Case("linear", f"{t}-5x9x{k}", partial(_blocks, t, 5, 9, k))
        for t, k in [("q8", 52), ("q4g128", 268), ("q1g128", 256)]
    ),
    *(
        Case("linear", f"{t}-{m}x{n}x{k}", partial(_blocks, t, m, n, k))
        for t in ("f16", "bf16")
        for m, n, k in [(5, 9, 40), (5, 9, 33)]
    ),
    *(Case("linear", f"{t}-65x132x96", partial(_blocks, t, 65, 132, 96)) for t in ("q4_1", "q8_0")),
    Case("linear", "q4_1-20x70x416-shared", lambda: _blocks("q4_1", 20, 70, 416)),
    Case("linear", "no-rows", lambda: (np.zeros((0, 8), np.float32), np.ones((3, 8), np.float32))),
    *(
        Case(
            op,
            f"float16-{m}x{n}x{k}",
            partial(_halves, make, m, n, k),
            quick=m == 33,
            tolerance=F16,
        )
        for op, make in (("matmul", _matmul), ("linear", _linear))
        for m, n, k in [(17, 16, 16), (33, 47, 65), (130, 264, 36), (5, 9, 40), (4, 17, 8), (1, 1, 3)]
    ),
    *(Case("matmul_q8", f"{m}x{n}x{k}", partial(_q8, m, n, k), quick=m == 33, tolerance=Q8) for m, n, k in QUANTISED),
    *(Case("matmul_q8", name, partial(_q8, *shape), tolerance=Q8) for name, shape in ENDS.items()),
    *(Case("matmul_q8", f"65x{n}x{k}", partial(_q8, 65, n, k), tolerance=Q8) for n, k in [(132, 48), (68, 36)]),
    Case("matmul_q8", "scale-per-feature", _same_codes, quick=True, tolerance=Q8),
    *(
        Case("matmul_q4g128", f"{m}x{n}x{k}", partial(_q4, m, n, k), quick=m == 33, tolerance=Q4)
        for m, n, k in QUANTISED
    ),
    *(Case("matmul_q4g128", name, partial(_q4, *shape), tolerance=Q4) for name, shape in ENDS.items()),
    *(Case("matmul_q4g128", f"5x9x{k}", partial(_q4, 5, 9, k), tolerance=Q4) for k in (128, 129, 300)),
    Case("matmul_q4g128", "65x132x160", lambda: _q4(65, 132, 160), tolerance=Q4),
    Case("matmul_q4g128", "group-boundary", _group_boundary, tolerance=Q4),
]
