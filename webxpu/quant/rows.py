"""Weights in planes of rows: all rows' codes, then all rows' float32 scales, in one run of bytes.

A row of codes is filled up to whole loads of 16 bytes with zeros; a scale is for a group of columns, or a whole row.
The types are our own q8 and q4g128 (codes and rounding: `webxpu.quant.q8`, `webxpu.quant.q4g128`), and q1g128, as other
runtimes' files of one bit a weight are: bit k % 8 of byte k // 8 is set where weight k is +scale, else it is -scale.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from webxpu.quant.floats import F32, U8
from webxpu.quant.q4g128 import pack_q4, quantize_q4g128, unpack_q4
from webxpu.quant.q8 import quantize_rows

_LOAD_BYTES = 16


@dataclass(frozen=True)
class RowType:
    """A weight type: `load` codes are in 16 bytes, a scale is for `group` columns or a whole row, and a row's length is
    a multiple of `multiple` (what kernels load of x)."""

    name: str
    load: int
    group: int | None
    multiple: int

    def code_bytes(self, k: int) -> int:
        """Bytes of a row of codes."""
        return -(-k // self.load) * _LOAD_BYTES

    def scale_bytes(self, k: int) -> int:
        """Bytes of a row's scales."""
        return 4 * (1 if self.group is None else -(-k // self.group))

    def nbytes(self, shape: tuple[int, ...]) -> int:
        """Bytes of a weight of rows of shape[-1] columns."""
        return math.prod(shape[:-1]) * (self.code_bytes(shape[-1]) + self.scale_bytes(shape[-1]))


ROW_TYPES = {
    t.name: t for t in (RowType("q8", 16, None, 4), RowType("q4g128", 32, 128, 4), RowType("q1g128", 128, 128, 128))
}


def planes(type_name: str, shape: tuple[int, ...], data: U8) -> tuple[U8, F32]:
    """The rows of codes (N, bytes) and of scales (N, groups) of a weight's bytes."""
    kind, k = ROW_TYPES[type_name], shape[-1]
    n, size = math.prod(shape[:-1]), kind.code_bytes(k)
    codes, scales = np.split(data.reshape(-1), [n * size])
    return codes.reshape(n, size), np.ascontiguousarray(scales).view("<f4").reshape(n, kind.scale_bytes(k) // 4)


def joined(codes: U8, scales: F32) -> U8:
    """A weight's bytes from its planes."""
    return np.concatenate([codes.reshape(-1), np.ascontiguousarray(scales, "<f4").reshape(-1).view(np.uint8)])


def picked(type_name: str, shape: tuple[int, ...], data: U8, indices: NDArray[np.integer]) -> U8:
    """The bytes of some entries of the first axis."""
    parts = (plane.reshape(shape[0], -1)[indices] for plane in planes(type_name, shape, data))
    return joined(*parts)


def stacked(type_name: str, k: int, parts: Sequence[U8]) -> U8:
    """The bytes of several weights' rows one below the other."""
    kind = ROW_TYPES[type_name]
    row = kind.code_bytes(k) + kind.scale_bytes(k)
    split = [planes(type_name, (part.size // row, k), part) for part in parts]
    return joined(np.concatenate([codes for codes, _ in split]), np.concatenate([scales for _, scales in split]))


def dequantize_rows(type_name: str, shape: tuple[int, ...], data: U8) -> F32:
    """The weights (N, K): float32(code * scale)."""
    codes, scales = planes(type_name, shape, data)
    k = shape[-1]
    if type_name == "q8":
        return codes.view(np.int8)[:, :k].astype(np.float32) * scales
    wide = np.repeat(scales, ROW_TYPES[type_name].group or k, axis=1)[:, :k]
    if type_name == "q4g128":
        words = np.ascontiguousarray(codes).view("<u4")[:, : -(-k // 8)]
        return unpack_q4(np.ascontiguousarray(words), k).astype(np.float32) * wide
    return np.where(np.unpackbits(codes, axis=1, bitorder="little")[:, :k], wide, -wide)


def quantize_to(type_name: str, weight: F32) -> tuple[U8, F32]:
    """The planes of codes and scales of a weight (N, K) in q8 or q4g128."""
    k = weight.shape[1]
    if type_name == "q8":
        codes, scales = quantize_rows(weight)
        packed, scales = codes.astype(np.int8).view(np.uint8), scales[:, None]
    else:
        codes, scales = quantize_q4g128(weight)
        packed = pack_q4(codes).view(np.uint8)
    fill = ROW_TYPES[type_name].code_bytes(k) - packed.shape[1]
    return np.pad(packed, ((0, 0), (0, fill))), scales
