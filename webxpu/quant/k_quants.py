"""Dequantisation of GGML's K-quants: 256 weights a block, in sub-blocks of 16 or 32 with integer scales of their own.

Every function takes the blocks (B, nbytes) and gives the weights (B, 256).
Layouts: https://github.com/ggml-org/llama.cpp/blob/b4000/ggml/src/ggml-common.h
"""

from __future__ import annotations

import numpy as np

from webxpu.quant.floats import F32, U8, f16

_PAIRS = (0, 2, 4, 6)
_NIBBLES = (0, 4)


def q2_k(rows: U8) -> F32:
    """Scales (16 bytes: scale low, minimum high), codes (64), d, dmin; w = d * scale * code - dmin * minimum."""
    d, minimum = f16(rows[:, 80:82]), f16(rows[:, 82:84])
    scales = d * (rows[:, :16] & 15).astype(np.float32)
    minima = minimum * (rows[:, :16] >> 4).astype(np.float32)
    codes = _planes(rows[:, 16:80], 32, _PAIRS, 3)
    return _scaled(codes.astype(np.float32), scales, minima)


def q3_k(rows: U8) -> F32:
    """Third bits (32 bytes), low codes (64), scales (12), d; w = d * (scale - 32) * (code - 4)."""
    codes = _planes(rows[:, 32:96], 32, _PAIRS, 3) | _planes(rows[:, :32], 32, range(8), 1) << 2
    packed = rows[:, 96:108]
    # Byte i < 8 has the low bits of scale i in its low nibble and of i + 8 in its high one; the last four bytes have
    # the high bits, of scales 4 s + j in byte j at bit 2 s.
    scales = _planes(packed[:, :8], 8, _NIBBLES, 15) | _planes(packed[:, 8:], 4, _PAIRS, 3) << 4
    d = f16(rows[:, 108:110]) * (scales.astype(np.float32) - np.float32(32))
    return _scaled(codes.astype(np.float32) - np.float32(4), d)


def q4_k(rows: U8) -> F32:
    """d, dmin, scales (12 bytes), codes (128); w = d * scale * code - dmin * minimum."""
    codes = _planes(rows[:, 16:144], 32, _NIBBLES, 15)
    return _scaled(codes.astype(np.float32), *_scales_and_minima(rows))


def q5_k(rows: U8) -> F32:
    """d, dmin, scales (12 bytes), fifth bits (32), low codes (128); w = d * scale * code - dmin * minimum."""
    codes = _planes(rows[:, 48:176], 32, _NIBBLES, 15) | _planes(rows[:, 16:48], 32, range(8), 1) << 4
    return _scaled(codes.astype(np.float32), *_scales_and_minima(rows))


def q6_k(rows: U8) -> F32:
    """Low codes (128 bytes), high codes (64), int8 scales (16), d; w = d * scale * (code - 32)."""
    codes = _planes(rows[:, :128], 64, _NIBBLES, 15) | _planes(rows[:, 128:192], 32, _PAIRS, 3) << 4
    d = f16(rows[:, 208:210]) * np.ascontiguousarray(rows[:, 192:208]).view(np.int8).astype(np.float32)
    return _scaled(codes.astype(np.float32) - np.float32(32), d)


def _planes(data: U8, run: int, shifts: tuple[int, ...] | range, mask: int) -> U8:
    """Codes that share bytes: of each `run` bytes, those at the first shift, then those at the second, and so on."""
    split = data.reshape(len(data), -1, 1, run) >> np.array(shifts, np.uint8)[:, None]
    return (split & np.uint8(mask)).reshape(len(data), -1)


def _scales_and_minima(rows: U8) -> tuple[F32, F32]:
    """d times the eight 6-bit scales of Q4_K and Q5_K, dmin times their minima, (B, 8) each.

    Of twelve bytes the first four hold scales 0 to 3, the next minima 0 to 3, the last the low nibbles of scales and
    minima 4 to 7, whose two high bits are those of the first eight bytes.
    """
    first, second, low = (rows[:, i : i + 4] for i in (4, 8, 12))
    scales = np.concatenate([first & 63, (low & 15) | (first >> 6 << 4)], axis=1)
    minima = np.concatenate([second & 63, (low >> 4) | (second >> 6 << 4)], axis=1)
    return f16(rows[:, :2]) * scales.astype(np.float32), f16(rows[:, 2:4]) * minima.astype(np.float32)


def _scaled(codes: F32, scales: F32, minima: F32 | None = None) -> F32:
    """Each sub-block of codes times its scale, less its minimum."""
    values = scales[:, :, None] * codes.reshape(*scales.shape, -1)
    return (values if minima is None else values - minima[:, :, None]).reshape(len(codes), -1)
