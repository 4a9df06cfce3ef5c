"""Cases of matvec and its quantised forms: shapes around the widths that kernels work in, every weight type, rows that
end early, words whose spare codes are poisoned."""

from functools import partial

import numpy as np
from numpy.typing import NDArray

from webxpu.cases.case import (
    F32,
    FEW_CASES,
    MANY_CASES,
    Case,
    Tolerance,
    block_weight,
    code_wave,
    hashed,
    scale_wave,
    uniform,
    wave,
)
from webxpu.quant.ggml import BLOCK_TYPES, Blocks
from webxpu.quant.q4g128 import pack_q4
from webxpu.quant.q8 import pack_q8

Apart = tuple[NDArray[np.uint32], F32]

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


def _constant_rows() -> tuple[F32, F32]:
    """A row that was read on into the next, or past the last, would be larger."""
    return np.repeat(np.arange(1, 5, dtype=np.float32), 300).reshape(4, 300), np.ones(300, np.float32)


def _tiny_scales(type_name: str) -> tuple[Blocks, F32]:
    """Scales that float16 holds only as subnormals, which a device must not flush to zero; x makes up for them."""
    block = BLOCK_TYPES[type_name]
    weight = block_weight(type_name, (5, 64), seed=1)
    data = weight.data.reshape(-1, block.nbytes).copy()
    for i in block.halves:
        small = (hashed(len(data), i) % 1000 + 20).astype(np.uint16)
        data[:, i : i + 2] = small.view(np.uint8).reshape(-1, 2)
    return Blocks(type_name, weight.shape, data.reshape(-1)), uniform((64,), seed=2, amp=30000)


F16 = Tolerance(1e-3, 4e-5, "worst 9.6e-4 relative, a step of float16, and 1.5e-5 absolute on an NVIDIA H200")
Q8 = Tolerance(1e-4, 5e-5, "worst 1.2e-4 absolute and, of smaller values, 1.4e-4 relative at 20000x32, on SwiftShader")
Q4 = Tolerance(1e-4, 2e-5, "worst 2.3e-5 absolute at 2x2600 and 9.4e-4 relative at 9001x64, on SwiftShader")
FFN = Tolerance(1e-4, 5e-6, "worst 2.9e-6 absolute and 4.6e-5 relative at 130x48, on SwiftShader")


def q8_weight(n: int, k: int, phase: float = 0.5) -> Apart:
    """Codes between -100 and 100 and a scale of its own for each row."""
    return pack_q8(code_wave(n * k, 0.37, phase).reshape(n, k)), scale_wave(n) % 1


def q4_weight(n: int, k: int) -> Apart:
    """Codes between -7 and 7 and a scale of its own for each 128 columns of a row."""
    codes = (code_wave(n * k, 0.37) % 15 - 7).reshape(n, k)
    groups = -(-k // 128)
    return pack_q4(codes), (scale_wave(n * groups) % 1).reshape(n, groups)


def _halves(n: int, k: int) -> tuple[NDArray[np.float16], NDArray[np.float16]]:
    matrix, vector = _waves(n, k)
    return matrix.astype(np.float16), vector.astype(np.float16)


def _q8(n: int, k: int) -> tuple[NDArray[np.uint32], F32, F32]:
    return *q8_weight(n, k), wave(k, 0.11, 0.8)


def _late_codes(n: int, k: int, *columns: int) -> Apart:
    """Only a few columns count."""
    codes = np.zeros((n, k), np.int32)
    codes[:, columns] = 12 * np.arange(1, n * len(columns) + 1).reshape(n, -1)
    return pack_q8(codes), scale_wave(n)


def _poisoned(codes_per_word: int, k: int, code: int) -> tuple[NDArray[np.uint32], F32, F32]:
    """Codes of 1 in every column, and of `code` in what the last words have to spare."""
    pack = {4: pack_q8, 8: pack_q4}[codes_per_word]
    codes = np.full((3, -(-k // codes_per_word) * codes_per_word), code)
    codes[:, :k] = 1
    groups = -(-k // 128)
    scales = scale_wave(3) if codes_per_word == 4 else scale_wave(3 * groups).reshape(3, groups)
    return pack(codes), scales, np.arange(1, k + 1).astype(np.float32)


def _ffn(gate: Apart, up: Apart, k: int) -> tuple[NDArray[np.uint32], F32, NDArray[np.uint32], F32, F32]:
    """Two weights against an x that keeps the gate where silu bends; what they have in common are the shapes."""
    return *gate, up[0], up[1] + np.float32(0.013), wave(k, 0.11, 0.8, 0.02)


def _residual(n: int, k: int) -> tuple[NDArray[np.uint32], F32, F32, F32]:
    return *_q8(n, k), wave(n, 0.23, 0.3, 40)


def _q4(n: int, k: int) -> tuple[NDArray[np.uint32], F32, F32]:
    return *q4_weight(n, k), wave(k, 0.11, 0.8)


def _group_boundary() -> tuple[NDArray[np.uint32], F32, F32]:
    """The last column of a group and the first of the next, whose scales are far apart."""
    codes = np.zeros((3, 256), np.int32)
    codes[:, 127], codes[:, 128] = [1, 2, 3], [5, -6, 7]
    scales = np.array([[0.03, 0.11], [0.5, 2.5], [7, 13]], np.float32)
    return pack_q4(codes), scales, wave(256, 0.11, 0.8)


def _same_codes(n: int, k: int) -> tuple[NDArray[np.uint32], F32, F32]:
    """Rows that only their scales tell apart."""
    words, _ = q4_weight(1, k)
    scales = np.tile(np.array([0.03, 0.11], np.float32), n * -(-k // 128))[: n * -(-k // 128)]
    return np.repeat(words, n, axis=0), scales.reshape(n, -1), wave(k, 0.11, 0.8)


CASES = [
    *(
        Case("matvec", f"f32-{n}x{k}", partial(_waves, n, k), quick=n == 5)
        for n, k in [(1, 8), (5, 256), (3, 300), (7, 1027), (2, 2560), (65, 4), (3, 4), (129, 36), (64, 33), (3, 1)]
    ),
    Case("matvec", "columns-past-256", _late_columns),
    Case("matvec", "stops-at-row-end", _constant_rows),
    Case("matvec", "no-columns", lambda: (np.zeros((5, 0), np.float32), np.zeros(0, np.float32))),
    Case("matvec", "more-workgroups-than-a-grid-is-wide", partial(_waves, 65_536 * 64 + 1, 1)),
    Case("matvec", "many-rows", lambda: _waves(20_000, 32)),
    *(
        Case("matvec", f"{t}-{n}x{k}", partial(_blocks, t, n, k), quick=k == 576 and t != "bf16")
        for t in MANY_CASES
        for n, k in [(1, 32), (7, 576), (130, 96), (5, 1056)]
    ),
    *(Case("matvec", f"{t}-67x512", partial(_blocks, t, 67, 512)) for t in FEW_CASES),
    *(
        Case("matvec", f"{t}-{n}x{k}", partial(_blocks, t, n, k))
        for t, n, k in [("q8", 7, 52), ("q8", 66, 1040), ("q4g128", 5, 268), ("q4g128", 67, 512), ("q1g128", 67, 384)]
    ),
    *(
        Case("matvec", f"{t}-{n}x{k}", partial(_blocks, t, n, k))
        for t in ("f16", "bf16")
        for n, k in [(5, 40), (6, 33), (5, 7)]
    ),
    *(Case("matvec", f"{t}-subnormal-scales", partial(_tiny_scales, t)) for t in ("q8_0", "q4_0", "q4_1")),
    Case("matvec", "q4_0-many-rows", lambda: _blocks("q4_0", 9_001, 64)),
    *(
        Case("matvec", f"float16-{n}x{k}", partial(_halves, n, k), quick=k == 1024, tolerance=F16)
        for n, k in [(5, 1024), (3, 300), (7, 1027), (130, 96), (65, 40), (3, 1)]
    ),
    *(
        Case("matvec_q8", f"{n}x{k}", partial(_q8, n, k), quick=k == 1024, tolerance=Q8)
        for n, k in [(1, 3), (1, 8), (5, 1024), (3, 1030), (7, 1027), (2, 2600), (130, 48), (65, 16), (67, 5)]
    ),
    Case(
        "matvec_q8",
        "words-past-first-pass",
        lambda: (*_late_codes(3, 1030, 1027, 1029), wave(1030, 0.11)),
        tolerance=Q8,
    ),
    Case("matvec_q8", "not-past-packed-words", lambda: _q8(4, 1023), tolerance=Q8),
    Case("matvec_q8", "padding-lane-poisoned", lambda: _poisoned(4, 5, 99), quick=True, tolerance=Q8),
    Case("matvec_q8", "no-columns", lambda: (*q8_weight(5, 0), np.zeros(0, np.float32))),
    Case("matvec_q8", "many-rows", lambda: _q8(20_000, 32), tolerance=Q8),
    *(
        Case(
            "matvec_q8_ffn",
            f"{n}x{k}",
            partial(_ffn, q8_weight(n, k), q8_weight(n, k, 1.3), k),
            quick=k == 1024,
            tolerance=FFN,
        )
        for n, k in [(5, 1024), (130, 48), (65, 16), (3, 70)]
    ),
    Case(
        "matvec_q8_ffn",
        "gate-past-first-pass",
        lambda: _ffn(_late_codes(5, 1024, 1000, 1023), q8_weight(5, 1024), 1024),
        tolerance=FFN,
    ),
    Case(
        "matvec_q8_ffn",
        "up-past-first-pass",
        lambda: _ffn(q8_weight(5, 1024), _late_codes(5, 1024, 1000, 1023), 1024),
        tolerance=FFN,
    ),
    *(
        Case("matvec_q8_residual", f"{n}x{k}", partial(_residual, n, k), quick=k == 1024, tolerance=Q8)
        for n, k in [(5, 1024), (130, 48), (65, 16), (3, 70)]
    ),
    Case(
        "matvec_q8_residual",
        "codes-of-zero",
        lambda: (np.zeros((3, 4), np.uint32), scale_wave(3), wave(16, 0.11), np.array([1, 20, 300], np.float32)),
        tolerance=Q8,
    ),
    *(
        Case("matvec_q4g128", f"{n}x{k}", partial(_q4, n, k), quick=k == 256, tolerance=Q4)
        for n, k in [(3, 8), (3, 127), (2, 128), (3, 129), (7, 256), (5, 300), (2, 2600), (130, 96), (65, 32)]
    ),
    Case("matvec_q4g128", "group-boundary", _group_boundary, tolerance=Q4),
    Case("matvec_q4g128", "scale-index", lambda: _same_codes(5, 300), tolerance=Q4),
    Case("matvec_q4g128", "padding-nibbles-poisoned", lambda: _poisoned(8, 129, -7), quick=True, tolerance=Q4),
    Case("matvec_q4g128", "not-past-packed-words", lambda: _q4(4, 1023), tolerance=Q4),
    Case("matvec_q4g128", "no-columns", lambda: (*q4_weight(5, 0), np.zeros(0, np.float32))),
    Case("matvec_q4g128", "many-rows", lambda: _q4(9_001, 64), tolerance=Q4),
]
