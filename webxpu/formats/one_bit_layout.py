"""What files of 1-bit models say, whichever of two forms they have: bitgpu's manifest, or an ONNX graph of its recipe.

A weight is signs, eight to a byte, and a float32 scale for every 128 columns. Linear layers, the embedding and the head
expand a byte by a table into codes of two or four bits, of which a zero point is the middle: all of them are +-scale.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from webxpu.errors import FormatError, Unsupported
from webxpu.formats.tensor_info import TensorInfo
from webxpu.quant.ggml import nbytes
from webxpu.quant.rows import ROW_TYPES

BLOCK = 128
# Bits of a code, and its two values.
CODES = {"tgt2": (2, 1, 3), "tgt4": (4, 7, 9)}


@dataclass(frozen=True)
class Run:
    """A run of bytes in a file; `what` names it in messages."""

    what: str
    file: str
    start: int
    nbytes: int


@dataclass
class OneBitModel:
    """A model's table.

    tensors  by bitgpu's names
    arch     what bitgpu's manifest says of the architecture, or None where config.json does
    luts     the tables of codes that the file has, by name
    zeros    runs of zero points: bits of one, how many a row has, and rows
    cos, sin baked tables of rope (positions, D / 2), or None
    """

    tensors: dict[str, TensorInfo] = field(default_factory=dict)
    arch: Mapping[str, Any] | None = None
    luts: dict[str, Run] = field(default_factory=dict)
    zeros: list[tuple[Run, int, int]] = field(default_factory=list)
    cos: tuple[Run, tuple[int, int]] | None = None
    sin: tuple[Run, tuple[int, int]] | None = None

    def add_signs(self, name: str, n: int, k: int, signs: Run, scales: Run) -> None:
        """A weight of planes. Raises FormatError where the runs are not as long as it needs."""
        check_width(signs, k)
        kind = ROW_TYPES["q1g128"]
        for run, expected in ((signs, n * kind.code_bytes(k)), (scales, n * kind.scale_bytes(k))):
            check_length(run, expected)
        total = signs.nbytes + scales.nbytes
        place = (scales.file, scales.start)
        self.tensors[name] = TensorInfo(name, "q1g128", (n, k), signs.start, total, signs.file, place)

    def add_blocks(self, name: str, n: int, k: int, run: Run) -> None:
        """A weight of Q1_0's blocks."""
        check_width(run, k)
        check_length(run, nbytes("q1_0", (n, k)))
        self.tensors[name] = TensorInfo(name, "q1_0", (n, k), run.start, run.nbytes, run.file)

    def add_zeros(self, run: Run, n: int, k: int, lut: str) -> None:
        """Zero points of a weight, as many as scales, packed row by row."""
        bits = CODES[lut][0]
        groups = k // BLOCK
        check_length(run, n * -(-groups * bits // 8))
        self.zeros.append((run, bits, groups))

    def finish(self) -> None:
        """A head that is the embedding is no tensor of its own. Raises FormatError where others share bytes."""
        head, embedding = self.tensors.get("lm_head"), self.tensors.get("embed_tokens")
        if head and embedding and _places(head) == _places(embedding):
            del self.tensors["lm_head"]
        planes = sorted((p.file, p.start, p.nbytes, t.name) for t in self.tensors.values() for p in t.planes())
        for one, two in itertools.pairwise(planes):
            if one[0] == two[0] and one[1] + one[2] > two[1]:
                end = one[1] + one[2]
                raise FormatError(
                    f"{one[0]}: tensors must not overlap, got {one[3]!r} to byte {end} and {two[3]!r} at {two[1]}"
                )


def _places(info: TensorInfo) -> list[tuple[str, int, int, str]]:
    return [(p.file, p.start, p.nbytes, p.type) for p in info.planes()]


def check_width(run: Run, k: int) -> None:
    if k < 1 or k % BLOCK:
        raise FormatError(f"{run.what} must have rows of a multiple of {BLOCK} weights, got {k}")


def check_length(run: Run, expected: int) -> None:
    if run.nbytes != expected:
        raise FormatError(f"{run.what} must be {expected} bytes long, got {run.nbytes}")


def lut_of(name: str) -> NDArray[np.uint8]:
    """The table (256, bits) that expands a byte of signs: weight j of the byte is code j, lowest bits first."""
    bits, low, high = CODES[name]
    signs = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little")
    codes = np.where(signs, high, low).astype(np.uint8).reshape(256, bits, 8 // bits)
    return np.asarray((codes << (np.arange(8 // bits, dtype=np.uint8) * bits)).sum(axis=2), np.uint8)


def check_lut(run: Run, name: str, data: bytes) -> None:
    """Raises Unsupported for a table by which a byte is anything but its eight signs."""
    if data != lut_of(name).tobytes():
        raise Unsupported(
            f"{run.what} must expand each byte to its signs for this version of webxpu, got another table"
        )


def check_zeros(run: Run, bits: int, groups: int, data: bytes) -> None:
    """Raises Unsupported where a zero point is not the middle of the two codes."""
    rows = np.frombuffer(data, np.uint8).reshape(-1, -(-groups * bits // 8))
    parts = [(rows >> np.uint8(shift)) & np.uint8((1 << bits) - 1) for shift in range(0, 8, bits)]
    zeros = np.stack(parts, axis=2).reshape(len(rows), -1)[:, :groups]
    middle = 1 << (bits - 1)
    if (zeros != middle).any():
        found = int(zeros[zeros != middle][0])
        raise Unsupported(
            f"{run.what} must be {middle}, the middle of the codes, for this version of webxpu, got {found}"
        )


def unique(runs: list[tuple[Run, int, int]]) -> Iterator[tuple[Run, int, int]]:
    """Without runs that were there before: one constant serves many weights."""
    seen = set()
    for run, bits, groups in runs:
        key = (run.file, run.start, run.nbytes, bits, groups)
        if key not in seen:
            seen.add(key)
            yield run, bits, groups
