"""Converted checkpoints: manifest.json, a payload with the weights, and the source's own files about text.

The manifest has the tensor table, a hash for every chunk of every other file, and what the source said of its
architecture: a Hugging Face configuration, or the name of a GGUF file that holds metadata alone.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from webxpu.errors import FormatError
from webxpu.formats.file_names import is_neighbour
from webxpu.formats.tensor_info import TensorInfo
from webxpu.formats.window import ReadRange
from webxpu.quant.ggml import BLOCK_TYPES, WEIGHT_TYPES, is_block_type, nbytes
from webxpu.quant.rows import ROW_TYPES

MANIFEST_NAME = "manifest.json"
PAYLOAD_NAME = "weights.bin"
METADATA_NAME = "metadata.gguf"
FORMAT = "webxpu checkpoint"
VERSION = 1
CHUNK_BYTES = 4 << 20
# A chunk is in memory as a whole for its hash.
MAX_CHUNK_BYTES = 64 << 20
# Where a tensor may begin in the payload.
ALIGNMENT_BYTES = 256
MAX_DIMENSIONS = 4
_HASH = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class ChunkHashes:
    """What a file must hold: `nbytes` bytes; each `chunk_bytes` of them (the last time fewer) have a SHA-256 in hex."""

    nbytes: int
    chunk_bytes: int
    sha256: tuple[str, ...]

    def check(self, name: str, index: int, data: bytes) -> None:
        """Raises FormatError unless these are the bytes of chunk `index`."""
        found = hashlib.sha256(data).hexdigest()
        if found != self.sha256[index]:
            at, rule = index * self.chunk_bytes, f"of sha256 {self.sha256[index]}"
            raise FormatError(f"{name}: the {len(data)} bytes at byte {at} must be {rule}, got {found}")


def verified(read_range: ReadRange, name: str, hashes: ChunkHashes) -> ReadRange:
    """Reads ranges of a file, whole chunks at a time, and gives out no byte of one whose hash is not the manifest's."""

    async def read(start: int, wanted: int) -> tuple[bytes, int | None]:
        start, end = min(start, hashes.nbytes), min(start + wanted, hashes.nbytes)
        if start == end:
            return b"", hashes.nbytes
        first = start // hashes.chunk_bytes
        begin = first * hashes.chunk_bytes
        stop = min(-(-end // hashes.chunk_bytes) * hashes.chunk_bytes, hashes.nbytes)
        data, _ = await read_range(begin, stop - begin)
        for index in range(first, -(-stop // hashes.chunk_bytes)):
            at = index * hashes.chunk_bytes - begin
            hashes.check(name, index, data[at : at + hashes.chunk_bytes])
        return data[start - begin : end - begin], hashes.nbytes

    return read


@dataclass(frozen=True)
class Manifest:
    """A manifest's contents, checked.

    config      the config.json of a Hugging Face source, or None
    generation  its generation_config.json, or None
    metadata    the file with a GGUF source's metadata, or None
    """

    tensors: Mapping[str, TensorInfo]
    hashes: Mapping[str, ChunkHashes]
    config: Mapping[str, Any] | None
    generation: Mapping[str, Any] | None
    metadata: str | None


def is_manifest(values: Mapping[str, Any]) -> bool:
    """Whether a JSON object is a manifest of this format, of whatever version."""
    return values.get("format") == FORMAT


def read_manifest(values: Mapping[str, Any], name: str = MANIFEST_NAME) -> Manifest:
    """The manifest in a JSON object. Raises FormatError, naming the key, for one that is wrong."""
    if type(values.get("version")) is not int or values["version"] != VERSION:
        raise FormatError(f"{name}: version must be {VERSION}, got {values.get('version')!r}")
    chunk = values.get("chunk_bytes")
    if type(chunk) is not int or not 1 <= chunk <= MAX_CHUNK_BYTES:
        raise FormatError(f"{name}: chunk_bytes must be 1 to {MAX_CHUNK_BYTES}, got {chunk!r}")
    files = _object(name, values, "files")
    hashes = {file: _hashes(name, file, entry, chunk) for file, entry in files.items()}
    config, generation, metadata = (values.get(key) for key in ("config", "generation", "metadata"))
    for key, value in (("config", config), ("generation", generation)):
        if value is not None and not isinstance(value, dict):
            raise FormatError(f"{name}: {key} must be an object, got {str(value)[:40]!r}")
    if metadata is not None and not (isinstance(metadata, str) and metadata in hashes):
        raise FormatError(f"{name}: metadata must be one of the files, got {str(metadata)[:80]!r}")
    if (config is None) == (metadata is None):
        raise FormatError(
            f"{name}: one of config and metadata must be there, got {'neither' if config is None else 'both'}"
        )
    table = _object(name, values, "tensors")
    tensors = {tensor: _tensor(name, tensor, entry, hashes) for tensor, entry in table.items()}
    _check_places(name, tensors)
    return Manifest(tensors, hashes, config, generation, metadata)


def _object(name: str, values: Mapping[str, Any], key: str) -> dict[str, Any]:
    found = values.get(key)
    if not isinstance(found, dict) or not found:
        raise FormatError(f"{name}: {key} must be an object that is not empty, got {str(found)[:40]!r}")
    return found


def _hashes(name: str, file: str, entry: Any, chunk_bytes: int) -> ChunkHashes:
    """A file's size and hashes."""
    what = f"{name}: files {file[:80]!r}"
    if not is_neighbour(file) or file == MANIFEST_NAME:
        raise FormatError(f"{what} must be the name of a file of this folder")
    nbytes = entry.get("bytes") if isinstance(entry, dict) else None
    sums = entry.get("sha256") if isinstance(entry, dict) else None
    if type(nbytes) is not int or nbytes < 0 or not isinstance(sums, list):
        raise FormatError(f"{what} must have bytes and a list sha256, got {str(entry)[:80]!r}")
    if len(sums) != -(-nbytes // chunk_bytes) or not all(isinstance(s, str) and _HASH.fullmatch(s) for s in sums):
        count = -(-nbytes // chunk_bytes)
        raise FormatError(
            f"{what} must have {count} hashes of 64 hexadecimal digits for {nbytes} bytes, got {len(sums)}"
        )
    return ChunkHashes(nbytes, chunk_bytes, tuple(sums))


def _tensor(name: str, tensor: str, entry: Any, hashes: Mapping[str, ChunkHashes]) -> TensorInfo:
    what = f"{name}: tensor {ascii(tensor)[:80]}"
    if not isinstance(entry, dict) or entry.keys() != {"type", "shape", "start"}:
        raise FormatError(f"{what} must be an object of type, shape and start, got {str(entry)[:80]!r}")
    kind, shape, start = entry["type"], entry["shape"], entry["start"]
    if kind != "f32" and not (isinstance(kind, str) and is_block_type(kind)):
        raise FormatError(f"{what} must have a type of f32, {', '.join(WEIGHT_TYPES)}, got {str(kind)[:40]!r}")
    counts = isinstance(shape, list) and all(type(n) is int and 1 <= n < 1 << 40 for n in shape)
    if not counts or not 1 <= len(shape) <= MAX_DIMENSIONS or math.prod(shape) >= 1 << 48:
        raise FormatError(f"{what} must have a shape of 1 to {MAX_DIMENSIONS} whole numbers, got {str(shape)[:80]!r}")
    multiple = 1 if kind == "f32" else _multiple(kind)
    if shape[-1] % multiple:
        raise FormatError(f"{what} must have rows of a multiple of {multiple} for {kind}, got {shape[-1]}")
    size = 4 * math.prod(shape) if kind == "f32" else nbytes(kind, tuple(shape))
    payload = hashes.get(PAYLOAD_NAME)
    if payload is None:
        raise FormatError(f"{name}: files must have {PAYLOAD_NAME!r}, got {', '.join(hashes)[:80]}")
    if type(start) is not int or start < 0 or start % ALIGNMENT_BYTES or start + size > payload.nbytes:
        rule = f"a multiple of {ALIGNMENT_BYTES} with {size} bytes before byte {payload.nbytes}"
        raise FormatError(f"{what} must start at {rule}, got {str(start)[:40]}")
    return TensorInfo(tensor, kind, tuple(shape), start, size, PAYLOAD_NAME)


def _multiple(kind: str) -> int:
    return ROW_TYPES[kind].multiple if kind in ROW_TYPES else BLOCK_TYPES[kind].elements


def _check_places(name: str, tensors: Mapping[str, TensorInfo]) -> None:
    end, before = 0, ""
    for info in sorted(tensors.values(), key=lambda t: t.start):
        if info.start < end:
            raise FormatError(
                f"{name}: tensors must not overlap, got {before!r} to byte {end}, {info.name!r} at {info.start}"
            )
        end, before = info.start + info.nbytes, info.name
