"""Our own 4-bit weights: one float32 scale for every 128 columns of a row, eight signed codes in a uint32 word.

A word's lowest nibble holds the first of its eight columns; codes are two's complement. Each row starts on a word of
its own, and what its last word has to spare is 0 and never read. This is not Q4_0 (groups of 32, codes to -8, float16
scales), and there is no zero point as in GPTQ and AWQ.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from webxpu.quant.q8 import F32, F64, Int, Words, check_words, checked_codes, pack_bytes, scaled_codes

# Columns that share a scale; a row's last group may be shorter.
GROUP = 128
# Codes run from -LARGEST to LARGEST: those to -8 fit the weights better on the whole, and flip the argmax of a model
# (MioTTS-0.6B) that the symmetric range leaves as it is.
LARGEST = 7


def quantize_q4g128(weight: F32) -> tuple[Int, F32]:
    """Codes and scales with a weight's every 128 columns nearest to code * scale.

    weight   (N, K) float32, finite
    returns  (N, K) int32 from -7 to 7, and (N, ceil(K / 128)) float32: a group's largest magnitude / 7, 1 for zeros

    Ties go up, as in `quantize_rows`.
    """
    n, k = weight.shape
    groups = np.pad(weight, ((0, 0), (0, -k % GROUP))).reshape(-1, GROUP)
    codes, scales = scaled_codes(groups, LARGEST)
    return np.ascontiguousarray(codes.reshape(n, -(-k // GROUP) * GROUP)[:, :k]), scales.reshape(n, -(-k // GROUP))


def pack_q4(codes: NDArray[Any]) -> Words:
    """Codes (N, K) from -8 to 7 as words (N, ceil(K / 8)). Raises ShapeError."""
    array = checked_codes("pack_q4", codes, -8, 7)
    nibbles = (np.pad(array, ((0, 0), (0, array.shape[1] % 2))) & 15).astype(np.uint8)
    return pack_bytes(nibbles[:, ::2] | nibbles[:, 1::2] << 4)


def unpack_q4(words: Words, k: int) -> Int:
    """The codes (N, K) of words (N, ceil(K / 8)), int32. Raises ShapeError."""
    check_words("unpack_q4", words, k, 8)
    pairs = np.ascontiguousarray(words).view(np.uint8)
    nibbles = np.stack([pairs & 15, pairs >> 4], axis=2).reshape(len(words), -1)[:, :k].astype(np.int32)
    return (nibbles ^ 8) - 8


def dequantize_q4g128(words: Words, scales: F32, k: int) -> F64:
    """The weights (N, K) in float64, not rounded to float32."""
    return unpack_q4(words, k) * np.repeat(scales.astype(np.float64), GROUP, axis=1)[:, :k]
