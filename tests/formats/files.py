"""GGUF files for tests: valid ones by the `gguf` package, broken ones byte by byte."""

from __future__ import annotations

import asyncio
import struct
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
from gguf import GGMLQuantizationType, GGUFWriter
from gguf.quants import quantize

from webxpu.formats.gguf import Gguf, read_gguf
from webxpu.formats.window import ReadRange


def reader(data: bytes, *, tells_size: bool = True, requests: list[tuple[int, int]] | None = None) -> ReadRange:
    """Reads ranges of bytes in memory; notes each request."""

    async def read_range(start: int, nbytes: int) -> tuple[bytes, int | None]:
        if requests is not None:
            requests.append((start, nbytes))
        return data[start : start + nbytes], len(data) if tells_size else None

    return read_range


def read(data: bytes, *, tells_size: bool = True, name: str = "model.gguf") -> Gguf:
    return asyncio.run(read_gguf(reader(data, tells_size=tells_size), name=name))


def written(build: Callable[[GGUFWriter], None], **options: object) -> bytes:
    """The bytes of a file that `gguf` writes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "written.gguf"
        writer = GGUFWriter(path, "llama", **options)
        build(writer)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        return path.read_bytes()


def small(writer: GGUFWriter) -> None:
    """A few keys of every kind and a few tensors."""
    writer.add_uint8("test.u8", 200)
    writer.add_int8("test.i8", -100)
    writer.add_uint16("test.u16", 60_000)
    writer.add_int16("test.i16", -30_000)
    writer.add_uint32("test.u32", 4_000_000_000)
    writer.add_int32("test.i32", -2_000_000_000)
    writer.add_float32("test.f32", 1e-6)
    writer.add_float64("test.f64", 1e-300)
    writer.add_uint64("test.u64", 1 << 63)
    writer.add_int64("test.i64", -(1 << 62))
    writer.add_bool("test.yes", True)
    writer.add_bool("test.no", False)
    writer.add_string("test.text", "東京 é 😀\n")
    writer.add_string("test.empty", "")
    writer.add_array("test.strings", ["", "Ġthe", "é"])
    writer.add_array("test.ints", [1, -2, 3])
    writer.add_array("test.floats", [0.5, -1.5])
    writer.add_array("test.bools", [True, False, True])
    rng = np.random.default_rng(1)
    matrix = rng.standard_normal((3, 64), np.float32)
    writer.add_tensor("f32", matrix)
    writer.add_tensor("f16", matrix[:2].astype(np.float16))
    writer.add_tensor("vector", matrix[0, :5].copy())
    q4_1 = GGMLQuantizationType.Q4_1
    writer.add_tensor("q4_1", quantize(matrix, q4_1), raw_dtype=q4_1)


def string(text: str | bytes) -> bytes:
    raw = text.encode() if isinstance(text, str) else text
    return struct.pack("<Q", len(raw)) + raw


def key(name: str | bytes, kind: int, value: bytes) -> bytes:
    return string(name) + struct.pack("<I", kind) + value


def row(name: str | bytes, dims: tuple[int, ...], kind: int, offset: int) -> bytes:
    return string(name) + struct.pack(f"<I{len(dims)}QIQ", len(dims), *dims, kind, offset)


def raw(
    keys: list[bytes] = (),
    rows: list[bytes] = (),
    *,
    data: int = 0,
    version: int = 3,
    counts: tuple[int, int] | None = None,
) -> bytes:
    """A file of the given keys and rows, with `data` bytes of tensors; `counts` lies about tensors and keys."""
    tensor_count, key_count = counts or (len(rows), len(keys))
    header = b"GGUF" + struct.pack("<IQQ", version, tensor_count, key_count) + b"".join([*keys, *rows])
    return header + bytes(-len(header) % 32 + data)
