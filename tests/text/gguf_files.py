"""GGUF files for tests that hold metadata alone."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any

import numpy as np

_KINDS = {"u1": 0, "i1": 1, "u2": 2, "i2": 3, "u4": 4, "i4": 5, "f4": 6, "u8": 10, "i8": 11, "f8": 12}
_STRING, _ARRAY = 8, 9


def gguf_bytes(metadata: Mapping[str, Any]) -> bytes:
    """A file of these keys without tensors: ints become int32, arrays keep their type."""
    head = b"GGUF" + struct.pack("<IQQ", 3, 0, len(metadata))
    return head + b"".join(_text(key) + _value(value) for key, value in metadata.items())


def _text(text: str) -> bytes:
    raw = text.encode()
    return struct.pack("<Q", len(raw)) + raw


def _value(value: Any) -> bytes:
    if isinstance(value, bool):
        return struct.pack("<IB", 7, value)
    if isinstance(value, int):
        return struct.pack("<Ii", 5, value)
    if isinstance(value, str):
        return struct.pack("<I", _STRING) + _text(value)
    if isinstance(value, list):
        return struct.pack("<IIQ", _ARRAY, _STRING, len(value)) + b"".join(map(_text, value))
    array = np.asarray(value)
    return struct.pack("<IIQ", _ARRAY, _KINDS[array.dtype.str[1:]], len(array)) + array.tobytes()
