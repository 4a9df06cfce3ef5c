"""Cases of matmul and linear: each size below, at and past the tiles (16, 32, 64, 128), every weight type."""

from functools import partial

import numpy as np

from webxpu.cases.case import F32, Case, Tolerance, block_weight, uniform, wave
from webxpu.quant.ggml import BLOCK_TYPES, Blocks

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


CASES = [
    *(Case("matmul", f"{m}x{n}x{k}", partial(_matmul, m, n, k), quick=m == 33) for m, n, k in SHAPES),
    *(Case("linear", f"f32-{m}x{n}x{k}", partial(_linear, m, n, k), quick=m == 33) for m, n, k in SHAPES),
    *(
        Case("linear", f"{t}-{m}x{n}x{k}", partial(_blocks, t, m, n, k), quick=m == 17)
        for t in BLOCK_TYPES
        for m, n, k in [(17, 70, 96), (3, 129, 32)]
    ),
    *(
        Case("linear", f"{t}-{m}x{n}x{k}", partial(_blocks, t, m, n, k))
        for t in ("f16", "bf16")
        for m, n, k in [(5, 9, 40), (5, 9, 33)]
    ),
    *(Case("linear", f"{t}-65x132x96", partial(_blocks, t, 65, 132, 96)) for t in ("q4_1", "q8_0")),
    Case("linear", "no-rows", lambda: (np.zeros((0, 8), np.float32), np.ones((3, 8), np.float32))),
]
