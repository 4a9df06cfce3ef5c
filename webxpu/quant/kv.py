"""The three ways in which a key/value cache holds its numbers.

A cache is one buffer a layer: pages, keys then values, 64 positions, kv heads, and of each head its D values as

    f32   D float32
    f16   D float16, two in a word
    q8    D / 32 blocks of nine uint32 words: the bits of a float32 scale, which is the block's largest magnitude, then
          32 signed bytes, four a word, the first in the lowest: `pack4x8snorm` of the values over the scale
"""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from webxpu.errors import ShapeError, Unsupported
from webxpu.gpu.plan import Spec

PAGE_TOKENS = 64
Kv = Literal["f32", "f16", "q8"]
KV_TYPES: tuple[Kv, ...] = get_args(Kv)
# Values that share a scale in q8, and the words that hold them.
BLOCK = 32
BLOCK_WORDS = 9

_DTYPES: dict[str, Kv] = {"float32": "f32", "float16": "f16", "uint32": "q8"}
# The scale of a block of zeros: nothing is ever divided by 0.
_LEAST_SCALE = np.float32(1e-30)
_LARGEST = np.float32(127)

F32 = NDArray[np.float32]


def kv_spec(kv: str, pages: int, kv_heads: int, d: int) -> Spec:
    """The cache of one layer.

    kv        "f32", "f16" or "q8"
    pages     P, of 64 positions each
    kv_heads  G
    d         D, the width of a head

    Raises ShapeError for an unknown kv, Unsupported for a width that it cannot hold: f16 needs an even one, q8 a
    multiple of 32.
    """
    if kv not in KV_TYPES:
        raise ShapeError(f"kv_spec: kv must be one of {', '.join(KV_TYPES)}, got {kv!r}")
    multiple = {"f32": 1, "f16": 2, "q8": BLOCK}[kv]
    if d % multiple:
        raise Unsupported(f"kv_spec: a {kv} cache needs heads of a width that is a multiple of {multiple}, got {d}")
    dtype = next(name for name, held in _DTYPES.items() if held == kv)
    return Spec((pages, 2, PAGE_TOKENS, kv_heads, d // BLOCK * BLOCK_WORDS if kv == "q8" else d), dtype)


def kv_of(spec: Spec) -> Kv:
    """How a cache holds its numbers, by its dtype. Raises ShapeError for a dtype of none of them."""
    if spec.dtype not in _DTYPES:
        raise ShapeError(f"kv_of: cache must be of dtype {', '.join(_DTYPES)}, got {spec}")
    return _DTYPES[spec.dtype]


def width_of(spec: Spec) -> int:
    """D, the values of a head, of a cache (P, 2, 64, G, ...)."""
    return spec.shape[4] // BLOCK_WORDS * BLOCK if kv_of(spec) == "q8" else spec.shape[4]


def stored(rows: F32, dtype: Any) -> NDArray[Any]:
    """Rows (..., D) as a cache of this dtype holds them, each rounded once."""
    return pack_blocks(rows) if np.dtype(dtype) == np.uint32 else rows.astype(dtype)


def restored(rows: NDArray[Any]) -> F32:
    """The values (..., D) of rows that `stored` made."""
    return unpack_blocks(rows) if rows.dtype == np.uint32 else rows.astype(np.float32)


def pack_blocks(rows: F32) -> NDArray[np.uint32]:
    """Rows (..., D) of q8, D a multiple of 32, as words (..., D / 32 * 9). Ties between two codes go up."""
    blocks = rows.astype(np.float32).reshape(*rows.shape[:-1], -1, BLOCK)
    scale = np.maximum(np.abs(blocks).max(axis=-1, initial=0), _LEAST_SCALE)
    codes = np.floor(np.float32(0.5) + _LARGEST * (blocks / scale[..., None])).astype(np.int8)
    words = np.concatenate([scale[..., None].view(np.uint32), codes.view(np.uint32)], axis=-1)
    return words.reshape(*rows.shape[:-1], -1)


def unpack_blocks(words: NDArray[np.uint32]) -> F32:
    """The values (..., D) of words (..., D / 32 * 9)."""
    blocks = np.ascontiguousarray(words).reshape(*words.shape[:-1], -1, BLOCK_WORDS)
    codes = np.ascontiguousarray(blocks[..., 1:]).view(np.int8).astype(np.float32)
    scale = np.ascontiguousarray(blocks[..., :1]).view(np.float32)
    values = np.maximum(codes / _LARGEST, np.float32(-1)) * scale
    return np.asarray(values.reshape(*words.shape[:-1], -1), np.float32)
