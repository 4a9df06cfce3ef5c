"""Cases of matvec: shapes around the widths that kernels work in, every weight type, rows that end early."""

from functools import partial

import numpy as np

from webxpu.cases.case import F32, Case, Tolerance, block_weight, hashed, uniform, wave
from webxpu.quant.ggml import BLOCK_TYPES, Blocks

TOLERANCE = Tolerance(1e-5, 2e-5, "worst 5.3e-6 absolute at 2x2560 and 1.1e-5 relative at 20000x32, on SwiftShader")


def _waves(n: int, k: int) -> tuple[F32, F32]:
    return wave(n * k, 0.37).reshape(n, k), wave(k, 0.11, 0.8)


def _blocks(type_name: str, n: int, k: int) -> tuple[Blocks, F32]:
    return block_weight(type_name, (n, k), seed=n), uniform((k,), seed=k)


def _late_columns() -> tuple[F32, F32]:
    """Only columns past the first 256 count."""
    matrix, vector = np.zeros((3, 301), np.float32), np.zeros(301, np.float32)
    matrix[:, 260], matrix[:, 300] = [1, 2, 3], [0.5, 1, 1.5]
    vector[260], vector[300] = 2, -3
    return matrix, vector


def _tiny_scales(type_name: str) -> tuple[Blocks, F32]:
    """Scales that float16 holds only as subnormals, which a device must not flush to zero; x makes up for them."""
    block = BLOCK_TYPES[type_name]
    weight = block_weight(type_name, (5, 64), seed=1)
    data = weight.data.reshape(-1, block.nbytes).copy()
    for i in range(0, {"q4_1": 4}.get(type_name, 2), 2):
        small = (hashed(len(data), i) % 1000 + 20).astype(np.uint16)
        data[:, i : i + 2] = small.view(np.uint8).reshape(-1, 2)
    return Blocks(type_name, weight.shape, data.reshape(-1)), uniform((64,), seed=2, amp=30000)


CASES = [
    *(
        Case("matvec", f"f32-{n}x{k}", partial(_waves, n, k), quick=n == 5)
        for n, k in [(1, 8), (5, 256), (3, 300), (7, 1027), (2, 2560), (65, 4), (3, 4), (129, 36), (64, 33), (3, 1)]
    ),
    Case("matvec", "columns-past-256", _late_columns),
    Case("matvec", "no-columns", lambda: (np.zeros((5, 0), np.float32), np.zeros(0, np.float32))),
    Case("matvec", "more-workgroups-than-a-grid-is-wide", partial(_waves, 65_536 * 64 + 1, 1)),
    Case("matvec", "many-rows", lambda: _waves(20_000, 32)),
    *(
        Case("matvec", f"{t}-{n}x{k}", partial(_blocks, t, n, k), quick=k == 576)
        for t in BLOCK_TYPES
        for n, k in [(1, 32), (7, 576), (130, 96), (5, 1056)]
    ),
    *(
        Case("matvec", f"{t}-{n}x{k}", partial(_blocks, t, n, k))
        for t in ("f16", "bf16")
        for n, k in [(5, 40), (6, 33), (5, 7)]
    ),
    *(Case("matvec", f"{t}-subnormal-scales", partial(_tiny_scales, t)) for t in ("q8_0", "q4_0", "q4_1")),
    Case("matvec", "q4_0-many-rows", lambda: _blocks("q4_0", 9_001, 64)),
]
