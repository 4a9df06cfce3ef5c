"""bitgpu's manifest.json, versions 1 (planes) and 2 (Q1_0's blocks too): ranges of a large file and a small one."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from webxpu.errors import FormatError
from webxpu.formats.file_names import is_neighbour
from webxpu.formats.one_bit_layout import BLOCK, CODES, OneBitModel, Run, check_length
from webxpu.formats.tensor_info import TensorInfo

# Of each kind of entry: names of its sizes, and the table that expands it.
_KINDS = {"binary": ("N", "K", "tgt2"), "q2": ("N", "K", "tgt2"), "q4": ("rows", "cols", "tgt4")}
_DTYPES = {"FLOAT": ("f32", 4), "FLOAT16": ("f16", 2), "UINT8": ("u8", 1)}
_ROPES = ("cos_cache", "sin_cache")
MAX_SIZE = 1 << 32


def is_bitgpu(values: Mapping[str, Any]) -> bool:
    """Whether a JSON object is such a manifest."""
    return all(
        isinstance(values.get(key), kind) for key, kind in (("arch", dict), ("tensors", dict), ("data_file", str))
    )


def read_bitgpu(values: Mapping[str, Any], name: str = "manifest.json") -> OneBitModel:
    """The model's table. Raises FormatError, naming the key, for a manifest that is wrong."""
    return _Reader(values, name).model()


class _Reader:
    def __init__(self, values: Mapping[str, Any], name: str) -> None:
        self.values, self.name = values, name
        self.files = {"data": self._file("data_file"), "aux": self._file("aux_file")}

    def _file(self, key: str) -> str:
        file = self.values.get(key, "")
        if file == "":
            return ""
        if not is_neighbour(file):
            raise FormatError(f"{self.name}: {key} must be the name of a file of this folder, got {str(file)[:80]!r}")
        return str(file)

    def model(self) -> OneBitModel:
        version = self.values.get("version", 1)
        if type(version) is not int or version not in (1, 2):
            raise FormatError(f"{self.name}: version must be 1 or 2, got {version!r}")
        made = OneBitModel(arch=self.values["arch"])
        for lut, entry in self._object(self.values, "luts").items():
            if lut in CODES:
                made.luts[lut], _, _ = self._run(f"luts.{lut}", entry, "u8")
        for tensor, entry in self._object(self.values, "tensors").items():
            self._entry(made, tensor, entry, version)
        made.finish()
        return made

    def _entry(self, made: OneBitModel, tensor: str, entry: Any, version: int) -> None:
        what = f"tensors.{ascii(tensor)[1:-1][:80]}"
        kind = entry.get("kind") if isinstance(entry, dict) else None
        if kind == "f32" and tensor in _ROPES:
            run, _, shape = self._run(what, entry, "f32")
            if len(shape) != 2:
                raise self.error(what, "shape", "of two sizes", shape)
            setattr(made, tensor[:3], (run, shape))
        elif kind == "f32":
            run, dtype, shape = self._run(f"{what}.weight", entry.get("weight"), "f32", "f16")
            made.tensors[tensor] = TensorInfo(tensor, dtype, shape, run.start, run.nbytes, run.file)
        elif isinstance(kind, str) and kind in _KINDS:
            self._signs(made, tensor, what, entry, version)
        else:
            raise self.error(what, "kind", f"f32, {', '.join(_KINDS)}", kind)

    def _signs(self, made: OneBitModel, tensor: str, what: str, entry: Mapping[str, Any], version: int) -> None:
        rows, columns, lut = _KINDS[entry["kind"]]
        n, k = (self._count(what, key, entry.get(key)) for key in (rows, columns))
        if entry.get("block", BLOCK) != BLOCK:
            raise self.error(what, "block", str(BLOCK), entry["block"])
        container = entry.get("container")
        if container is not None and (container != "q1_0" or version < 2):
            raise self.error(what, "container", "q1_0, in a manifest of version 2", container)
        weight, _, _ = self._run(f"{what}.weight", entry.get("weight"), "u8")
        if container is not None:
            made.add_blocks(tensor, n, k, weight)
            return
        if entry.get("lut", lut) != lut or lut not in made.luts:
            raise self.error(what, "lut", f"{lut}, one of luts", entry.get("lut"))
        scales, _, _ = self._run(f"{what}.scales", entry.get("scales"), "f32")
        made.add_signs(tensor, n, k, weight, scales)
        if entry.get("zp") is not None:
            made.add_zeros(self._run(f"{what}.zp", entry["zp"], "u8")[0], n, k, lut)

    def _run(self, what: str, ref: Any, *dtypes: str) -> tuple[Run, str, tuple[int, ...]]:
        """A range of one of the two files, its type and shape. `len` is held against them."""
        if not isinstance(ref, dict):
            raise FormatError(
                f"{self.name}: {what} must be an object of dtype, shape, src, off and len, got {str(ref)[:80]!r}"
            )
        dtype, size = _DTYPES.get(str(ref.get("dtype")), ("", 0))
        if dtype not in dtypes:
            raise self.error(
                what, "dtype", " or ".join(k for k, v in _DTYPES.items() if v[0] in dtypes), ref.get("dtype")
            )
        shape = ref.get("shape")
        if not isinstance(shape, list) or not 1 <= len(shape) <= 4:
            raise self.error(what, "shape", "a list of 1 to 4 sizes", shape)
        sizes = tuple(self._count(what, "shape", count) for count in shape)
        src = ref.get("src")
        if not isinstance(src, str) or not self.files.get(src):
            raise self.error(what, "src", "data or aux, whose file is named", src)
        start, nbytes = ref.get("off"), ref.get("len")
        if type(start) is not int or not 0 <= start < 1 << 53 or type(nbytes) is not int:
            raise self.error(what, "off and len", "whole numbers", (start, nbytes))
        run = Run(f"{self.name}: {what}", self.files[src], start, nbytes)
        check_length(run, math.prod(sizes) * size)
        return run, dtype, sizes

    def _count(self, what: str, key: str, value: Any) -> int:
        if type(value) is not int or not 1 <= value < MAX_SIZE:
            raise self.error(what, key, f"a whole number from 1 to {MAX_SIZE - 1}", value)
        return int(value)

    def _object(self, values: Mapping[str, Any], key: str) -> dict[str, Any]:
        found = values.get(key, {})
        if not isinstance(found, dict):
            raise FormatError(f"{self.name}: {key} must be an object, got {str(found)[:80]!r}")
        return found

    def error(self, what: str, key: str, rule: str, got: object) -> FormatError:
        return FormatError(f"{self.name}: {what}: {key} must be {rule}, got {str(got)[:80]!r}")
