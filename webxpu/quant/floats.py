"""The 16-bit floats that blocks hold, as float32."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

F32 = NDArray[np.float32]
U8 = NDArray[np.uint8]


def f16(data: U8) -> F32:
    """float16, little-endian: the last axis halves."""
    return np.ascontiguousarray(data).view(np.float16).astype(np.float32)


def bf16(data: U8) -> F32:
    """bfloat16, little-endian: the last axis halves."""
    return (np.ascontiguousarray(data).view(np.uint16).astype(np.uint32) << 16).view(np.float32)
