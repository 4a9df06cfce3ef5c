"""Our own 8-bit weights: one float32 scale a row, four signed codes in a uint32 word.

A word's lowest byte holds the first of its four columns; codes are two's complement. Each row starts on a word of its
own, and what its last word has to spare is 0 and never read. Where K is a multiple of 4 the words are the codes' bytes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from webxpu.errors import ShapeError

Int = NDArray[np.int32]
F32 = NDArray[np.float32]
F64 = NDArray[np.float64]
Words = NDArray[np.uint32]

# Codes run from -LARGEST to LARGEST: the range is symmetric, so no code stands for a value that its mirror lacks.
LARGEST = 127


def quantize_rows(x: F32) -> tuple[Int, F32]:
    """Codes and scales with `codes * scales[:, None]` nearest to x.

    x        (N, K) float32, finite
    returns  (N, K) int32 from -127 to 127, and (N,) float32: a row's largest magnitude / 127, 1 for a row of zeros

    Ties go up: 62.5 -> 63, -62.5 -> -62, as JavaScript's Math.round.
    """
    return scaled_codes(x, LARGEST)


def scaled_codes(x: F32, largest: int) -> tuple[Int, F32]:
    """Each row of x as whole numbers from -largest to largest and the scale that makes them values again."""
    wide = x.astype(np.float64)
    magnitude = np.abs(wide).max(axis=1, initial=0)
    live = magnitude > 0
    # Not 1 / float32(scale): that would round a second time.
    inverse = np.divide(largest, magnitude, out=np.zeros_like(magnitude), where=live)
    codes = np.clip(round_half_up(wide * inverse[:, None]), -largest, largest)
    return codes.astype(np.int32), np.where(live, magnitude / largest, 1).astype(np.float32)


def round_half_up(values: F64) -> F64:
    """The nearest whole number, ties up. floor(v + 0.5) would take 0.49999999999999994 to 1."""
    below = np.floor(values)
    return np.asarray(below + (values - below >= 0.5), np.float64)


def pack_q8(codes: NDArray[Any]) -> Words:
    """Codes (N, K) from -128 to 127 as words (N, ceil(K / 4)). Raises ShapeError."""
    return pack_bytes(checked_codes("pack_q8", codes, -128, 127).astype(np.int8))


def unpack_q8(words: Words, k: int) -> Int:
    """The codes (N, K) of words (N, ceil(K / 4)), int32. Raises ShapeError."""
    check_words("unpack_q8", words, k, 4)
    return np.ascontiguousarray(words).view(np.int8)[:, :k].astype(np.int32)


def dequantize_q8(words: Words, scales: F32, k: int) -> F64:
    """The weights (N, K) in float64, not rounded to float32."""
    return unpack_q8(words, k) * scales.astype(np.float64)[:, None]


def checked_codes(name: str, codes: NDArray[Any], least: int, most: int) -> NDArray[Any]:
    """The codes. Raises ShapeError unless they are a matrix of whole numbers from `least` to `most`."""
    array = np.asarray(codes)
    if array.ndim != 2 or array.dtype.kind not in "iu":
        raise ShapeError(f"{name}: codes must be integers of shape (N, K), got {array.dtype}{list(array.shape)}")
    if array.size and (array.min() < least or array.max() > most):
        raise ShapeError(f"{name}: codes must be from {least} to {most}, got {array.min()} to {array.max()}")
    return array


def check_words(name: str, words: NDArray[Any], k: int, codes_per_word: int) -> None:
    """Raises ShapeError unless these are the words of rows of `k` codes."""
    expected = -(-k // codes_per_word)
    if words.dtype != np.uint32 or words.shape[1:] != (expected,):
        raise ShapeError(
            f"{name}: words must be uint32 of shape (N, {expected}) for K = {k}, got {words.dtype}{list(words.shape)}"
        )


def pack_bytes(rows: NDArray[Any]) -> Words:
    """Rows of bytes, each filled up with zeros to whole words, as words. NumPy's hosts are little-endian."""
    filled = np.pad(rows, ((0, 0), (0, -rows.shape[1] % 4)))
    return np.ascontiguousarray(filled).view(np.uint32)
