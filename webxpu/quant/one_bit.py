"""Dequantisation of GGML's types of one bit (Q1_0) and of three values (TQ1_0, TQ2_0) a weight, w = d * code.

Every function takes the blocks (B, nbytes) and gives the weights (B, elements).
Layouts: https://github.com/ggml-org/llama.cpp/blob/b4000/ggml/src/ggml-common.h (TQ1_0, TQ2_0)
"""

from __future__ import annotations

import numpy as np

from webxpu.quant.floats import F32, U8, f16


def q1_0(rows: U8) -> F32:
    """d, 16 bytes of signs: weight k is +d where bit k % 8 of byte k // 8 is set, else -d."""
    bits = np.unpackbits(rows[:, 2:], axis=1, bitorder="little")
    d = f16(rows[:, :2])
    return np.where(bits, d, -d)


def quantize_q1_0(weight: F32) -> U8:
    """The blocks (N, K / 128 * 18) of a weight (N, K), K a multiple of 128, bit for bit those of ggml's quantiser.

    A block's scale is the mean of its magnitudes, summed in float32 from the first to the last. For a model that was
    trained for one bit a weight this keeps what it knows; any other one is left with little.
    """
    blocks = weight.reshape(-1, 128)
    sums = np.cumsum(np.abs(blocks), axis=1, dtype=np.float32)[:, -1]
    with np.errstate(over="ignore"):  # past the largest float16 it is infinite, as in ggml
        scales = (sums / np.float32(128)).astype(np.float16)[:, None]
    signs = np.packbits(blocks >= 0, axis=1, bitorder="little")
    return np.concatenate([scales.view(np.uint8), signs], axis=1).reshape(len(weight), -1)


def tq1_0(rows: U8) -> F32:
    """Codes in base 3, five to a byte (32 bytes, then 16) and four to a byte (4 bytes), d.

    A byte is the fraction 0.abcde in base 3, times 256 and rounded up: times 3 ** t, its next digit is the carry of one
    more times 3.
    """
    runs = []
    for start, end, digits in ((0, 32, 5), (32, 48, 5), (48, 52, 4)):
        powers = np.array([3**t for t in range(digits)], np.uint8)[:, None]
        runs.append((rows[:, None, start:end] * powers).reshape(len(rows), -1))  # modulo 256
    codes = np.concatenate(runs, axis=1).astype(np.uint16) * 3 >> 8
    return f16(rows[:, 52:54]) * (codes.astype(np.float32) - np.float32(1))


def tq2_0(rows: U8) -> F32:
    """Codes, four to a byte (64 bytes), d: of each 32 bytes those of the lowest two bits come first; 3 stands for 2."""
    shifts = np.array([0, 2, 4, 6], np.uint8)[:, None]
    codes = (rows[:, :64].reshape(-1, 2, 1, 32) >> shifts & 3).reshape(-1, 256)
    return f16(rows[:, 64:66]) * (codes.astype(np.float32) - np.float32(1))
