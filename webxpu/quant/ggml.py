"""Weight types: sizes, how their bytes lie on the GPU, and dequantisation to float32. Those of `webxpu.quant.rows` are
told from GGML's block types here, so that nothing else has to.

Layouts: https://github.com/ggml-org/llama.cpp/blob/b4000/ggml/src/ggml-common.h
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from webxpu.errors import ShapeError
from webxpu.quant.floats import F32, U8, bf16, f16
from webxpu.quant.k_quants import q2_k, q3_k, q4_k, q5_k, q6_k
from webxpu.quant.one_bit import q1_0, tq1_0, tq2_0
from webxpu.quant.rows import ROW_TYPES, dequantize_rows, picked


@dataclass(frozen=True)
class BlockType:
    """A weight type: `elements` weights in `nbytes` bytes, of which the float16 scale and, of some types, the float16
    offset or scale of offsets begin at `halves`."""

    name: str
    elements: int
    nbytes: int
    halves: tuple[int, ...] = ()

    @property
    def planes(self) -> bool:
        """Whether the GPU copy is split, see `to_stored`: that of blocks which are no whole number of words."""
        return self.elements > 1 and self.nbytes % 4 != 0


BLOCK_TYPES = {
    t.name: t
    for t in (
        BlockType("f16", 1, 2),
        BlockType("bf16", 1, 2),
        BlockType("q8_0", 32, 34, (0,)),
        BlockType("q4_0", 32, 18, (0,)),
        BlockType("q4_1", 32, 20, (0, 2)),
        BlockType("q5_0", 32, 22, (0,)),
        BlockType("q5_1", 32, 24, (0, 2)),
        BlockType("q2_k", 256, 84, (80, 82)),
        BlockType("q3_k", 256, 110, (108,)),
        BlockType("q4_k", 256, 144, (0, 2)),
        BlockType("q5_k", 256, 176, (0, 2)),
        BlockType("q6_k", 256, 210, (208,)),
        BlockType("q1_0", 128, 18, (0,)),
        BlockType("tq1_0", 256, 54, (52,)),
        BlockType("tq2_0", 256, 66, (64,)),
    )
}
WEIGHT_TYPES = (*BLOCK_TYPES, *ROW_TYPES)


@dataclass(frozen=True)
class Blocks:
    """A weight as its file stores it: `data` are the bytes of `shape` (N rows, K weights a row), row after row, or, of
    the types in `webxpu.quant.rows`, plane after plane."""

    type: str
    shape: tuple[int, ...]
    data: NDArray[np.uint8]

    def __post_init__(self) -> None:
        expected = nbytes(self.type, self.shape)
        if self.data.nbytes != expected:
            raise ShapeError(
                f"Blocks: data must hold {expected} bytes for {self.type}{list(self.shape)}, got {self.data.nbytes}"
            )

    def rows(self, indices: NDArray[np.integer]) -> Blocks:
        """The given rows, still in blocks."""
        if self.type in ROW_TYPES:
            data = picked(self.type, self.shape, self.data, indices)
        else:
            data = self.data.reshape(self.shape[0], -1)[indices].reshape(-1)
        return Blocks(self.type, (len(indices), *self.shape[1:]), data)


def is_block_type(name: str) -> bool:
    """Whether it is a weight type, of blocks or of planes of rows."""
    return name in BLOCK_TYPES or name in ROW_TYPES


def nbytes(type_name: str, shape: tuple[int, ...]) -> int:
    """Bytes of a weight in its file. Raises ShapeError for an unknown type or a row that does not end with a block."""
    if not is_block_type(type_name):
        raise ShapeError(f"Blocks: type must be one of {', '.join(WEIGHT_TYPES)}, got {type_name!r}")
    rows = ROW_TYPES.get(type_name)
    multiple = rows.multiple if rows else BLOCK_TYPES[type_name].elements
    if not shape or shape[-1] % multiple:
        raise ShapeError(f"Blocks: K must be a multiple of {multiple} for {type_name}, got the shape {list(shape)}")
    if rows:
        return rows.nbytes(shape)
    block = BLOCK_TYPES[type_name]
    return math.prod(shape) // block.elements * block.nbytes


def stored_nbytes(type_name: str, shape: tuple[int, ...]) -> int:
    """Bytes of a weight on the GPU: its planes each padded to 16, or the file's bytes padded to 4."""
    if type_name in ROW_TYPES:
        return -(-nbytes(type_name, shape) // 16) * 16  # rows of codes are whole loads already
    block = BLOCK_TYPES[type_name]
    size = nbytes(type_name, shape)
    return sum(planes_nbytes(type_name, math.prod(shape) // block.elements)) if block.planes else -(-size // 4) * 4


def planes_nbytes(type_name: str, blocks: int) -> tuple[int, int]:
    """Bytes of the plane of codes and of the plane of float16 scales, each padded to 16."""
    codes = BLOCK_TYPES[type_name].nbytes - 2
    return -(-blocks * codes // 16) * 16, -(-blocks * 2 // 16) * 16


def row_nbytes(type_name: str, k: int) -> int | None:
    """Bytes of a row of `k` weights on the GPU, of an array's dtype or a block type; None of planes, which have no rows
    that lie one after the other."""
    if not is_block_type(type_name):
        return k * np.dtype(type_name).itemsize
    return None if type_name in ROW_TYPES or BLOCK_TYPES[type_name].planes else nbytes(type_name, (1, k))


def weight_part(type_name: str, shape: tuple[int, ...]) -> str:
    """The part in `kernels/_with/weights/` that reads a weight of `shape` (N, K): its type, or `<type>_ragged` where a
    row is no whole number of 16-byte loads (`x` is then an array of f32, not of vec4). A float16 array is read as
    Blocks of f16 are."""
    if type_name not in ("float32", "float16", *WEIGHT_TYPES):
        raise ShapeError(f"weight_part: weight must be float32 or one of {sorted(WEIGHT_TYPES)}, got {type_name}")
    name = {"float32": "f32", "float16": "f16"}.get(type_name, type_name)
    width = {"f32": 4, "f16": 8, "bf16": 8}.get(name, 1)
    return f"{name}_ragged" if shape[-1] % width else name


def part_chunk(part: str) -> int:
    """`CHUNK` of a weight part: the consecutive weights that one lane takes at a time."""
    name = part.removeprefix("apart/")
    chunks = {"f16": 8, "bf16": 8, "q8_0": 16, "q8": 16, "q4g128": 32, "q1g128": 32}
    block = BLOCK_TYPES.get(name)
    return chunks.get(name, 32 if block and block.elements > 1 else 4)


def dequantize(blocks: Blocks) -> NDArray[np.float32]:
    """The weights as float32, `shape`. Bit for bit what `gguf.quants.dequantize` gives (of Q1_0: `libgguf`)."""
    if blocks.type in ROW_TYPES:
        return dequantize_rows(blocks.type, blocks.shape, blocks.data).reshape(blocks.shape)
    rows = blocks.data.reshape(-1, BLOCK_TYPES[blocks.type].nbytes)
    return _DEQUANTIZE[blocks.type](rows).reshape(blocks.shape)


def to_stored(blocks: Blocks) -> NDArray[np.uint8]:
    """The bytes as kernels read them. Types with planes: all codes, padded to 16 bytes, then all float16 scales,
    padded to 16 bytes; the others: the file's bytes, padded to 4."""
    if blocks.type in ROW_TYPES:
        return _padded(blocks.data, 16)
    block = BLOCK_TYPES[blocks.type]
    if not block.planes:
        return _padded(blocks.data, 4)
    codes, scales = split_blocks(blocks.type, blocks.data.reshape(-1, block.nbytes))
    return np.concatenate([_padded(codes.reshape(-1), 16), _padded(scales.reshape(-1), 16)])


def split_blocks(type_name: str, rows: NDArray[np.uint8]) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Blocks (B, nbytes) of a type with planes as codes (B, nbytes - 2), which are all but the scale in the file's
    order, and scales (B, 2)."""
    at = BLOCK_TYPES[type_name].halves[0]
    return np.concatenate([rows[:, :at], rows[:, at + 2 :]], axis=1), rows[:, at : at + 2]


def _padded(data: NDArray[np.uint8], multiple: int) -> NDArray[np.uint8]:
    return np.concatenate([data, np.zeros(-len(data) % multiple, np.uint8)])


def _q8_0(rows: U8) -> F32:
    # d: float16, 32 int8 codes; w = d * code
    return f16(rows[:, :2]) * np.ascontiguousarray(rows[:, 2:]).view(np.int8).astype(np.float32)


def _nibbles(data: U8) -> U8:
    # Byte j holds weight j in its low nibble and weight j + 16 in its high nibble.
    return np.concatenate([data & 15, data >> 4], axis=1)


def _fives(high: U8, low: U8) -> F32:
    # Bit j of four bytes is the fifth bit of weight j.
    return (_nibbles(low) | np.unpackbits(high, axis=1, bitorder="little") << 4).astype(np.float32)


def _q4_0(rows: U8) -> F32:
    # d: float16, 16 bytes of nibbles; w = d * (code - 8)
    return f16(rows[:, :2]) * (_nibbles(rows[:, 2:]).astype(np.float32) - np.float32(8))


def _q4_1(rows: U8) -> F32:
    # d, m: float16, 16 bytes of nibbles; w = d * code + m
    return f16(rows[:, :2]) * _nibbles(rows[:, 4:]).astype(np.float32) + f16(rows[:, 2:4])


def _q5_0(rows: U8) -> F32:
    # d: float16, 4 bytes of fifth bits, 16 bytes of nibbles; w = d * (code - 16)
    return f16(rows[:, :2]) * (_fives(rows[:, 2:6], rows[:, 6:]) - np.float32(16))


def _q5_1(rows: U8) -> F32:
    # d, m: float16, 4 bytes of fifth bits, 16 bytes of nibbles; w = d * code + m
    return f16(rows[:, :2]) * _fives(rows[:, 4:8], rows[:, 8:]) + f16(rows[:, 2:4])


_DEQUANTIZE: dict[str, Callable[[U8], F32]] = {
    **{"f16": f16, "bf16": bf16, "q8_0": _q8_0, "q4_0": _q4_0, "q4_1": _q4_1, "q5_0": _q5_0, "q5_1": _q5_1},
    **{"q2_k": q2_k, "q3_k": q3_k, "q4_k": q4_k, "q5_k": q5_k, "q6_k": q6_k},
    **{"q1_0": q1_0, "tq1_0": tq1_0, "tq2_0": tq2_0},
}
