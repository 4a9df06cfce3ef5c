"""GGUF v2 and v3: metadata and the tensor table, read by growing ranges. Tensor bytes are never looked at.

https://github.com/ggml-org/ggml/blob/9d325133eed396b7bf005a53a83d9747cbd8bde1/docs/gguf.md
"""

from __future__ import annotations

import itertools
import math
import re
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from webxpu.errors import FormatError, Unsupported
from webxpu.formats.ggml_types import BLOCK_SIZES, GgmlType
from webxpu.formats.tensor_info import TensorInfo
from webxpu.formats.window import MAX_HEADER_BYTES, ReadRange, Short, Window

# Strings in one header: known files stay under 0.8 million, and a hostile one must not take seconds.
MAX_STRINGS = 1_250_000
MAX_ENTRIES = 65_536  # keys, or tensors
MAX_DIMENSIONS = 4
MAX_NESTING = 4  # arrays in arrays
_ARRAY_COST = 16  # an array in an array takes the time of so many strings
DEFAULT_ALIGNMENT = 32
MAX_ALIGNMENT = 1 << 20
# The least bytes that a key with its value, a row of the tensor table, take.
_LEAST_KEY_BYTES, _LEAST_TENSOR_BYTES = 13, 24

_PART = re.compile(r"(.*)-(\d{5})-of-(\d{5})\.gguf", re.DOTALL)
_T = TypeVar("_T")


class ValueType(IntEnum):
    """Types of metadata values."""

    UINT8 = 0
    INT8 = 1
    UINT16 = 2
    INT16 = 3
    UINT32 = 4
    INT32 = 5
    FLOAT32 = 6
    BOOL = 7
    STRING = 8
    ARRAY = 9
    UINT64 = 10
    INT64 = 11
    FLOAT64 = 12


_DTYPES: dict[ValueType, np.dtype[Any]] = {
    ValueType.UINT8: np.dtype("<u1"),
    ValueType.INT8: np.dtype("<i1"),
    ValueType.UINT16: np.dtype("<u2"),
    ValueType.INT16: np.dtype("<i2"),
    ValueType.UINT32: np.dtype("<u4"),
    ValueType.INT32: np.dtype("<i4"),
    ValueType.FLOAT32: np.dtype("<f4"),
    ValueType.BOOL: np.dtype("<u1"),
    ValueType.UINT64: np.dtype("<u8"),
    ValueType.INT64: np.dtype("<i8"),
    ValueType.FLOAT64: np.dtype("<f8"),
}
_LEAST_BYTES = {**{t: d.itemsize for t, d in _DTYPES.items()}, ValueType.STRING: 8, ValueType.ARRAY: 12}


@dataclass(frozen=True)
class Gguf:
    """A model file without its tensors' bytes: what it says about itself, and where each tensor lies.

    Metadata values are int, float, bool, str, list (of str, bool or list) and, for arrays of numbers, NumPy arrays.
    """

    name: str
    version: int
    metadata: Mapping[str, Any] = field(repr=False)  # megabytes of text
    tensors: Mapping[str, TensorInfo] = field(repr=False)
    alignment: int
    header_bytes: int  # of the first file: from its magic number to the end of its tensor table
    size_bytes: int | None  # of the first file, where it is known
    parts: tuple[str, ...] = ()  # file names of a split model
    metadata_bytes: int = 0  # of the first file: from its magic number to the end of its metadata

    def tensor(self, name: str) -> TensorInfo:
        """A tensor by name. Raises FormatError where the file has none."""
        if name not in self.tensors:
            raise FormatError(f"{self.name}: tensor {name!r} is missing; the file has {len(self.tensors)} others")
        return self.tensors[name]

    def value(self, key: str, kind: type[_T], default: _T | None = None) -> _T:
        """A metadata value of a given type. Raises FormatError where it is missing (without default) or another."""
        return metadata_value(self.metadata, key, kind, default, name=self.name)


def metadata_value(
    metadata: Mapping[str, Any], key: str, kind: type[_T], default: _T | None = None, *, name: str = "GGUF metadata"
) -> _T:
    """`metadata[key]`, which must be a `kind`; an int will do for a float, a bool is no int."""
    value = metadata.get(key, default)
    if value is None:
        raise FormatError(f"{name}: the metadata key {key!r} is missing")
    if kind is float and type(value) is int:
        value = float(value)
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise FormatError(f"{name}: {key} must be {kind.__name__}, got {type(value).__name__} {str(value)[:40]!r}")
    return value


async def read_gguf(
    read_range: ReadRange, *, name: str = "model.gguf", open_part: Callable[[str], ReadRange] | None = None
) -> Gguf:
    """Reads the header of a GGUF file, and of the other parts of a split model, which `open_part` opens by file name.

    Raises FormatError, quoting offset and bytes, for whatever is not GGUF. Where `read_range` does not know the size of
    the file, a tensor past its end is found only by the upload.
    """
    first = await _Header(read_range, name).read()
    count = first.value("split.count", int, 1)
    if count <= 1:
        return first
    names = _part_names(first, count)
    if open_part is None:
        raise Unsupported(f"{name}: is part 1 of {count}; its source gives no way to open {names[1]}")
    tensors = dict(first.tensors)
    for number, part_name in enumerate(names[1:], start=1):
        part = await _Header(open_part(part_name), part_name).read()
        found = (part.value("split.no", int), part.value("split.count", int))
        if found != (number, count):
            raise FormatError(f"{part_name}: split.no, split.count must be {(number, count)}, got {found}")
        twice = tensors.keys() & part.tensors.keys()
        if twice:
            raise FormatError(f"{part_name}: tensor {min(twice)!r} is in another part too")
        tensors.update(part.tensors)
    expected = first.value("split.tensors.count", int, len(tensors))
    if expected != len(tensors):
        raise FormatError(f"{name}: split.tensors.count must be {len(tensors)}, as many as there are, got {expected}")
    return replace(first, tensors=tensors, parts=tuple(names))


async def read_gguf_header(read_range: ReadRange, *, name: str) -> Gguf:
    """Reads the header of one file; where it says that it is part of a split model, the other parts are left alone."""
    return await _Header(read_range, name).read()


def without_tensors(head: bytes) -> bytes:
    """The metadata of a file as a GGUF file of its own; `head` are the file's first `metadata_bytes`."""
    return head[:8] + bytes(8) + head[16:]


def _part_names(first: Gguf, count: int) -> list[str]:
    """File names of a split model's parts, `model-00001-of-00003.gguf` and so on."""
    name = first.name
    match = _PART.fullmatch(name)
    if match is None or int(match[3]) != count:
        raise FormatError(f"{name}: the name of a model in {count} parts must end in -00001-of-{count:05}.gguf")
    names = [f"{match[1]}-{number:05}-of-{count:05}.gguf" for number in range(1, count + 1)]
    number = first.value("split.no", int)
    if number != 0 or name != names[0]:
        raise FormatError(f"{name}: a model in parts must be opened by its first, {names[0]}, got split.no {number}")
    return names


class _Header(Window):
    """One file's header and the rules of the format."""

    def __init__(self, read_range: ReadRange, name: str) -> None:
        super().__init__(read_range, name)
        self.strings = 0
        self.unfinished: tuple[int, list[str], int] = (0, [], 0)  # a list: its start, what was read of it, to where

    async def read(self) -> Gguf:
        version, tensor_count, key_count = await self.step(self._head)
        metadata: dict[str, Any] = {}
        for index in range(key_count):
            self.what = f"metadata key {index}"
            start = self.pos
            key, value = await self.step(self._key_value)
            if key in metadata:
                raise self.error(start, f"metadata key {index}", "a new name", f"{key!r} a second time")
            metadata[key] = value
        metadata_bytes = self.pos
        alignment = metadata_value(metadata, "general.alignment", int, DEFAULT_ALIGNMENT, name=self.name)
        if not 1 <= alignment <= MAX_ALIGNMENT or alignment & (alignment - 1):
            rule = f"a power of two up to {MAX_ALIGNMENT}"
            raise FormatError(f"{self.name}: general.alignment must be {rule}, got {alignment}")
        rows = []
        for index in range(tensor_count):
            self.what = f"row {index} of the tensor table"
            rows.append(await self.step(self._row))
        tensors = self._place(rows, -(-self.pos // alignment) * alignment, alignment)
        return Gguf(
            self.name, version, metadata, tensors, alignment, self.pos, self.size, metadata_bytes=metadata_bytes
        )

    # What follows parses at the cursor, and raises Short past the bytes read so far.

    def _head(self) -> tuple[int, int, int]:
        self.what = "the magic number"
        at = self.take(4)
        if self.data[:4] != b"GGUF":
            raise self.error(at, self.what, "'GGUF'", _other_file(self.data))
        self.what = "the version"
        at = self.pos
        version = self.u32()
        if version not in (2, 3):
            # A big-endian 3 reads as 3 << 24.
            found = version if version & 0xFFFF or not version else "a big-endian file, which webxpu cannot read"
            raise self.error(at, self.what, "2 or 3", found)
        self.what = "the number of tensors"
        tensor_count = self.count(self.what, _LEAST_TENSOR_BYTES, MAX_ENTRIES)
        self.what = "the number of metadata keys"
        return version, tensor_count, self.count(self.what, _LEAST_KEY_BYTES, MAX_ENTRIES)

    def _key_value(self) -> tuple[str, Any]:
        key = self.short_string("a metadata key")
        self.what = f"the value of {key!r}"
        strings = self.strings
        try:
            return key, self._value(self._value_type())
        except Short:
            self.strings = strings
            raise

    def _value_type(self) -> ValueType:
        at = self.pos
        number = self.u32()
        try:
            return ValueType(number)
        except ValueError as e:
            raise self.error(at, f"the type of {self.what}", "0 to 12", number) from e

    def _value(self, kind: ValueType) -> Any:
        if kind is ValueType.STRING:
            return self._string_list(1)[0]
        if kind is ValueType.ARRAY:
            return self._array(0)
        values = self._numbers(kind, 1)
        return values[0] if isinstance(values, list) else values[0].item()

    def _array(self, depth: int) -> Any:
        if depth == MAX_NESTING:
            raise self.error(self.pos, self.what, f"nested at most {MAX_NESTING} deep", "an array in it")
        kind = self._value_type()
        count = self.count(f"the length of {self.what}", _LEAST_BYTES[kind], MAX_HEADER_BYTES)
        if kind is ValueType.STRING:
            return self._string_list(count)
        if kind is ValueType.ARRAY:
            self._charge(count * _ARRAY_COST)
            return [self._array(depth + 1) for _ in range(count)]
        return self._numbers(kind, count)

    def _numbers(self, kind: ValueType, count: int) -> NDArray[Any] | list[bool]:
        at = self.take(count * _LEAST_BYTES[kind])
        values = np.frombuffer(self.data, _DTYPES[kind], count, at).copy()
        if kind is not ValueType.BOOL:
            return values
        self._charge(count)
        wrong = np.flatnonzero(values > 1)
        if len(wrong):
            raise self.error(at + int(wrong[0]), self.what, "0 or 1", values[wrong[0]])
        return [bool(v) for v in values]

    def _charge(self, count: int) -> None:
        self.strings += count
        if self.strings > MAX_STRINGS:
            raise self.error(self.pos, self.what, f"in the header's first {MAX_STRINGS} strings", f"{count} more")

    def _string_list(self, count: int) -> list[str]:
        """Strings one after the other: the only hot loop, as tokenizers keep hundreds of thousands here.

        Where the window ends, it goes on from there the next time.
        """
        self._charge(count)
        start, strings, pos = self.unfinished if self.unfinished[0] == self.pos else (self.pos, [], self.pos)
        data, data_end, length_at = self.data, len(self.data), struct.Struct("<Q").unpack_from
        for _ in range(count - len(strings)):
            end = pos + 8
            if end <= data_end:
                end += length_at(data, pos)[0]
            if end > data_end:
                self.unfinished = (start, strings, pos)
                raise Short(pos, end)
            try:
                strings.append(data[pos + 8 : end].decode())
            except UnicodeDecodeError as e:
                raise self.error(pos + 8 + e.start, self.what, "UTF-8", e.reason) from e
            pos = end
        self.pos = pos
        return strings

    def _row(self) -> _Row:
        at = self.pos
        name = self.short_string("a tensor's name")
        here = self.pos
        count = self.u32()
        if count > MAX_DIMENSIONS:
            raise self.error(here, f"the dimensions of {name!r}", f"at most {MAX_DIMENSIONS}", count)
        here = self.pos
        dims = tuple(self.u64() for _ in range(count))
        if 0 in dims or math.prod(dims) >= 1 << 63:
            raise self.error(here, f"the shape of {name!r}", "of 1 to 2**63 - 1 weights", list(dims))
        return _Row(at, name, dims, self.u32(), self.u64())

    def _place(self, rows: list[_Row], data_start: int, alignment: int) -> dict[str, TensorInfo]:
        """The table as TensorInfo, after the checks that need all of it."""
        tensors: dict[str, TensorInfo] = {}
        for row in rows:
            if row.name in tensors:
                raise self.error(row.at, "a tensor's name", "new", f"{row.name!r} a second time")
            type_name, nbytes = self._sized(row)
            if row.offset % alignment:
                raise self.error(row.at, f"the offset of {row.name!r}", f"a multiple of {alignment}", row.offset)
            start = data_start + row.offset
            if self.size is not None and start + nbytes > self.size:
                rule = f"inside the file of {self.size} bytes"
                raise self.error(row.at, f"the data of {row.name!r}", rule, f"bytes {start} to {start + nbytes}")
            tensors[row.name] = TensorInfo(row.name, type_name, row.dims[::-1], start, nbytes, self.name)
        for one, two in itertools.pairwise(sorted(tensors.values(), key=lambda t: (t.start, t.nbytes))):
            if two.start < one.start + one.nbytes:
                raise FormatError(
                    f"{self.name}: tensors must not overlap, got {one.name!r} at bytes {one.start} to "
                    f"{one.start + one.nbytes} and {two.name!r} at {two.start} to {two.start + two.nbytes}"
                )
        return tensors

    def _sized(self, row: _Row) -> tuple[str, int]:
        """A type's name and the bytes of a tensor of it (0 where the type is unknown)."""
        try:
            kind = GgmlType(row.type)
        except ValueError:
            return f"type {row.type}", 0
        elements, block_bytes = BLOCK_SIZES[kind]
        row_weights = row.dims[0] if row.dims else 1
        if row_weights % elements:
            rule = f"whole blocks of {elements} {kind.name} weights"
            raise self.error(row.at, f"the rows of {row.name!r}", rule, row_weights)
        return kind.name.lower(), math.prod(row.dims) // elements * block_bytes


@dataclass(frozen=True)
class _Row:
    """A row of the tensor table as the file has it: dimensions fastest first, type and offset as numbers."""

    at: int
    name: str
    dims: tuple[int, ...]
    type: int
    offset: int


def _other_file(data: bytes) -> str:
    """What a file without GGUF's magic number looks like, for the message."""
    head = data[:64].lstrip().lower()
    if head.startswith((b"<!doctype", b"<html")):
        return "a web page; use the link that downloads the file itself"
    if head.startswith(b"version https://git-lfs"):
        return "a Git LFS pointer; download the file that it stands for"
    if data[:4] in (b"FUGG", b"lmgg", b"fmgg", b"tjgg", b"algg"):
        return "an older GGML format or another byte order, which webxpu cannot read"
    return ascii(data[:4].decode("latin-1"))
