"""safetensors: the JSON header, read by ranges, and folders of shards with their index. Tensor bytes are never read.

https://github.com/huggingface/safetensors/blob/v0.6.2/README.md#format
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from webxpu.errors import FormatError
from webxpu.formats.file_names import is_neighbour
from webxpu.formats.json_text import parse_json, quoted, read_json
from webxpu.formats.tensor_info import TensorInfo
from webxpu.formats.window import ReadRange, Window

# 50,000 tensors take 8 MB; the format itself allows 100 MB, which would cost a browser tab its memory.
MAX_HEADER_TEXT_BYTES = 16 * 1024 * 1024
MAX_TENSORS = 65_536
MAX_DIMENSIONS = 8
MAX_SHARDS = 1_000
# Brackets, commas and colons of an entry with as many dimensions as there may be.
_MOST_VALUES = 3 + 3 + 4 + 1 + MAX_DIMENSIONS
INDEX_NAME = "model.safetensors.index.json"

# Bits of an element.
DTYPE_BITS = {
    **{"BOOL": 8, "U8": 8, "I8": 8, "U16": 16, "I16": 16, "U32": 32, "I32": 32, "U64": 64, "I64": 64},
    **{"F16": 16, "BF16": 16, "F32": 32, "F64": 64, "C64": 64},
    **{"F8_E5M2": 8, "F8_E4M3": 8, "F8_E8M0": 8, "F8_E4M3FNUZ": 8, "F8_E5M2FNUZ": 8},
    **{"F6_E2M3": 6, "F6_E3M2": 6, "F4": 4},
}


@dataclass(frozen=True)
class Safetensors:
    """A file, or a folder of shards, without its tensors' bytes: texts about it, and where each tensor lies."""

    name: str
    metadata: Mapping[str, str] = field(repr=False)  # `__metadata__`; of a folder: none
    tensors: Mapping[str, TensorInfo] = field(repr=False)
    data_start: int  # of a single file: where its header ends
    size_bytes: int | None  # of a single file, where it is known
    parts: tuple[str, ...] = ()  # file names of a folder's shards

    def tensor(self, name: str) -> TensorInfo:
        """A tensor by name. Raises FormatError where there is none."""
        if name not in self.tensors:
            raise FormatError(f"{self.name}: tensor {name!r} is missing; the file has {len(self.tensors)} others")
        return self.tensors[name]


async def read_safetensors(read_range: ReadRange, *, name: str = "model.safetensors") -> Safetensors:
    """Reads the header of one file.

    Tensors may begin at any byte: older writers do not pad the header, so alignment is a matter of whoever copies.
    Raises FormatError, quoting offset and bytes, for whatever is not safetensors. Where `read_range` does not know the
    size of the file, data that is missing at its end is found only by the upload.
    """
    return await _Header(read_range, name).read()


async def read_sharded(
    read_range: ReadRange, open_file: Callable[[str], ReadRange], *, name: str = INDEX_NAME
) -> Safetensors:
    """Reads a folder by its index, `model.safetensors.index.json`; `open_file` opens its shards by file name.

    The index's `metadata.total_size` is not compared with anything: writers disagree about what it counts.
    Raises FormatError for an index or shard that is malformed, and where the index and the shards' tables differ.
    """
    most_bytes, most = MAX_HEADER_TEXT_BYTES, 4 * MAX_TENSORS
    index = await read_json(read_range, name=name, most_bytes=most_bytes, most=most)
    places = _weight_map(name, index.get("weight_map"))
    parts = sorted(set(places.values()))
    if len(parts) > MAX_SHARDS:
        raise FormatError(f"{name}: weight_map must name at most {MAX_SHARDS} files, got {len(parts)}")
    tensors: dict[str, TensorInfo] = {}
    for part_name in parts:
        part = await read_safetensors(open_file(part_name), name=part_name)
        for tensor in part.tensors:
            if places.get(tensor) != part_name:
                place = f"{places[tensor]} by {name}" if tensor in places else f"left out of {name}"
                raise FormatError(f"{part_name}: tensor {tensor!r} must be where the index says, got it {place}")
        tensors.update(part.tensors)
    for tensor, part_name in places.items():
        if tensor not in tensors:
            raise FormatError(f"{part_name}: tensor {tensor!r}, which {name} places there, is missing")
    return Safetensors(name, {}, tensors, 0, None, tuple(parts))


def _weight_map(name: str, value: object) -> dict[str, str]:
    """The index's table of tensors and files."""
    if not isinstance(value, dict) or not value:
        raise FormatError(f"{name}: weight_map must be an object that is not empty, got {str(value)[:40]}")
    for tensor, file in value.items():
        if not (is_neighbour(file) and file.endswith(".safetensors")):
            got = f"{str(file)[:80]!r} for {tensor[:80]!r}"
            raise FormatError(f"{name}: weight_map must name .safetensors files of its own folder, got {got}")
    return value


class _Header(Window):
    """One file's header and the rules of the format."""

    async def read(self) -> Safetensors:
        length = await self.step(self._length)
        self.what = "the header"
        start = await self.step(lambda: self.take(length))
        self.text = self.data[start : self.pos]
        most = MAX_TENSORS * _MOST_VALUES
        table = parse_json(self.text, name=self.name, what="the header", at=start, most=most)
        if not isinstance(table, dict):
            raise self.error(start, "the header", "a JSON object", str(table)[:40])
        metadata = self._metadata(table.pop("__metadata__", None))
        if len(table) > MAX_TENSORS:
            raise self.error(start, "the header", f"of at most {MAX_TENSORS} tensors", len(table))
        tensors = {tensor: self._tensor(tensor, entry) for tensor, entry in table.items()}
        self._check_places(tensors)
        return Safetensors(self.name, metadata, tensors, self.pos, self.size)

    def _length(self) -> int:
        self.what = "the length of the header"
        at = self.pos
        length = self.u64()
        rest = MAX_HEADER_TEXT_BYTES if self.size is None else self.size - self.pos
        if length > MAX_HEADER_TEXT_BYTES:
            raise self.error(at, self.what, f"at most {MAX_HEADER_TEXT_BYTES}", f"{length}{_other_file(self.data)}")
        if not 2 <= length <= rest:
            raise self.error(at, self.what, f"2 to {rest}, what the file has left", length)
        return length

    def _fail(self, name: str, what: str, rule: str, got: object) -> FormatError:
        """An error at the place where the header names a tensor."""
        found = self.text.find(quoted(name))
        return self.error(8 + max(0, found), what, rule, str(got)[:80])

    def _metadata(self, value: object) -> dict[str, str]:
        if value is None:
            return {}
        if not isinstance(value, dict) or not all(isinstance(text, str) for text in value.values()):
            raise self._fail("__metadata__", "__metadata__", "an object of texts", value)
        return value

    def _tensor(self, name: str, entry: object) -> TensorInfo:
        what = ascii(name)[:80]
        if not isinstance(entry, dict) or entry.keys() != {"dtype", "shape", "data_offsets"}:
            raise self._fail(name, f"tensor {what}", "an object of dtype, shape and data_offsets", entry)
        dtype, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
        if not isinstance(dtype, str) or dtype not in DTYPE_BITS:
            raise self._fail(name, f"the dtype of {what}", f"one of {', '.join(DTYPE_BITS)}", dtype)
        if not _are_counts(shape) or len(shape) > MAX_DIMENSIONS:
            raise self._fail(name, f"the shape of {what}", f"at most {MAX_DIMENSIONS} whole numbers", shape)
        if not _are_counts(offsets) or len(offsets) != 2 or offsets[1] < offsets[0]:
            raise self._fail(name, f"the data_offsets of {what}", "where it begins and ends", offsets)
        # The product of the dimensions that are not 0 has to be a number of bytes too.
        if math.prod(n or 1 for n in shape) >= 1 << 56:
            raise self._fail(name, f"the shape of {what}", "of less than 2**56 elements", shape)
        bits = math.prod(shape) * DTYPE_BITS[dtype]
        if bits % 8:
            raise self._fail(name, f"the shape of {what}", "of whole bytes", f"{bits} bits")
        if offsets[1] - offsets[0] != bits // 8:
            rule = f"{bits // 8} bytes apart, for {dtype} {shape}"
            raise self._fail(name, f"the data_offsets of {what}", rule, offsets)
        return TensorInfo(name, dtype.lower(), tuple(shape), self.pos + offsets[0], bits // 8, self.name)

    def _check_places(self, tensors: Mapping[str, TensorInfo]) -> None:
        """Each tensor begins where the one before it ends; the last one ends with the file."""
        end = self.pos
        for info in sorted(tensors.values(), key=lambda t: (t.start, t.nbytes)):
            if info.start != end:
                fault = "overlaps the tensor before it" if info.start < end else "leaves a gap"
                got = f"{info.start}, which {fault}"
                raise self._fail(info.name, f"the data of {ascii(info.name)[:80]}", f"from byte {end} on", got)
            end += info.nbytes
        if self.size is not None and end != self.size:
            raise self.error(end, "the last tensor's end", "the end of the file", f"a file of {self.size} bytes")


def _are_counts(value: Any) -> bool:
    return isinstance(value, list) and all(type(n) is int and n >= 0 for n in value)


def _other_file(data: bytes) -> str:
    """What a file that begins with no sensible length looks like, for the message."""
    head = data[:64].lstrip().lower()
    if head.startswith((b"<!doctype", b"<html")):
        return ", a web page; use the link that downloads the file itself"
    if head.startswith(b"version "):
        return ", a Git LFS pointer; download the file that it stands for"
    kinds = {b"GGUF": "a GGUF file", b"PK\3\4": "a zip archive, as PyTorch writes"}
    return f", {kinds[data[:4]]}" if data[:4] in kinds else ""
