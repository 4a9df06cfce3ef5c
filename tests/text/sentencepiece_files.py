"""SentencePiece model files for tests: written field by field, or out of the archive of trained ones."""

from __future__ import annotations

import json
import lzma
import struct
import tarfile
from pathlib import Path

ARCHIVE = Path(__file__).parents[1] / "goldens" / "sentencepiece.tar.xz"
NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)
UNIGRAM, BPE, WORD, CHAR = range(1, 5)
BYTES = [(f"<0x{byte:02X}>", 0.0, BYTE) for byte in range(256)]
HEAD = [("<unk>", 0.0, UNKNOWN), ("<s>", 0.0, CONTROL), ("</s>", 0.0, CONTROL)]


def varint(value: int) -> bytes:
    out = b""
    value &= (1 << 64) - 1
    while value > 0x7F:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def field(number: int, value: int | float | str | bytes) -> bytes:
    """One field: a number as a varint, a float as 32 bits, the rest with its length."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, float):
        return varint(number << 3 | 5) + struct.pack("<f", value)
    raw = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(raw)) + raw


def message(fields: dict[int, int | float | str | bytes]) -> bytes:
    return b"".join(field(number, value) for number, value in fields.items())


def model(pieces, trainer=None, normalizer=None, tail: bytes = b"") -> bytes:
    """A file of (text, score, type) pieces and of the two specs' fields by number."""
    body = b"".join(field(1, message(dict(zip((1, 2, 3), piece)))) for piece in pieces)
    return body + field(2, message(trainer or {})) + field(3, message(normalizer or {})) + tail


def charsmap(units: list[int], texts: bytes) -> bytes:
    """A compiled charsmap; units are filled up to whole blocks with values of 0."""
    padded = [*units, *[1 << 31] * (-len(units) % 256)]
    return struct.pack(f"<{len(padded) + 1}I", 4 * len(padded), *padded) + texts


def trained() -> dict[str, bytes]:
    """The archive's models by name."""
    with lzma.open(ARCHIVE) as raw, tarfile.open(fileobj=raw) as archive:
        return {entry.name: archive.extractfile(entry).read() for entry in archive if entry.name.endswith(".model")}


def goldens() -> dict:
    """The archive's golden values: see tests/goldens/sentencepiece.py."""
    with lzma.open(ARCHIVE) as raw, tarfile.open(fileobj=raw) as archive:
        return json.load(archive.extractfile("goldens.json"))
