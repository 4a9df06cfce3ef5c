"""What a test case of an op is, how results are compared, and the data that cases are made of.

A module `webxpu/cases/<op>.py` has `CASES`, a list of Case, and `TOLERANCE`, how far a GPU may lie from the NumPy body
with the measured reason. The cases ship with the package, so a user can check the device at hand.
"""

from __future__ import annotations

import importlib
import math
import pkgutil
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from webxpu.errors import ShapeError
from webxpu.quant.ggml import BLOCK_TYPES, Blocks
from webxpu.quant.rows import ROW_TYPES, joined

F32 = NDArray[np.float32]

# Block types with few cases: matvec, linear and gather have one of each, other ops of one or two. They differ in how
# codes and scales are found; what is done with those is kernels/_with/packed_rows.wgsl, the same for all.
FEW_CASES = ("q5_0", "q5_1", "q2_k", "q3_k", "q4_k", "q5_k", "q6_k", "q1_0", "tq1_0", "tq2_0")
# Those of which every op that takes weights has cases.
MANY_CASES = tuple(name for name in BLOCK_TYPES if name not in FEW_CASES)
# What codes, with the scale of their sub-block, reach, and the middle of codes that are never negative: the offset is
# so many scales, added or, of the K-quants, subtracted.
_CODES = {
    **{"q8_0": (127, 0.0), "q4_0": (8, 0.0), "q4_1": (8, -7.0), "q5_0": (16, 0.0), "q5_1": (16, -15.5)},
    **{"q2_k": (20, 1.5), "q3_k": (64, 0.0), "q4_k": (500, 7.5), "q5_k": (1000, 15.5), "q6_k": (2048, 0.0)},
    **{"q8": (127, 0.0), "q4g128": (8, 0.0), "q1g128": (1, 0.0)},
    **{"q1_0": (1, 0.0), "tq1_0": (1, 0.0), "tq2_0": (1, 0.0)},
}


@dataclass(frozen=True)
class Tolerance:
    """An element agrees if it is within `abs` or within `rel` of the expected one. `why` is what was measured."""

    rel: float = 1e-5
    abs: float = 1e-6
    why: str = ""


EXACT = Tolerance(0.0, 0.0, "values are moved, counted, or rounded once on both sides")


@dataclass(frozen=True)
class Case:
    """One call of an op. `make` builds the positional arguments when they are needed; `quick` cases are the ones that
    `check()` runs on a user's device; `tolerance` is set only where it differs from the module's; `decode` gives the
    values of a written argument whose words are no numbers."""

    op: str
    name: str
    make: Callable[[], tuple[Any, ...]]
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    quick: bool = False
    tolerance: Tolerance | None = None
    decode: Callable[[NDArray[Any]], NDArray[Any]] | None = None

    def __str__(self) -> str:
        return f"{self.op}-{self.name}"


@dataclass(frozen=True)
class Disagreement:
    """The element that lies furthest off, by relative error."""

    index: tuple[int, ...]
    got: float
    want: float
    rel: float
    abs: float
    count: int

    def __str__(self) -> str:
        return (
            f"{self.count} elements disagree, worst at {list(self.index)}: got {self.got!r}, want {self.want!r} "
            f"(rel {self.rel:.3g}, abs {self.abs:.3g})"
        )


def agree(got: ArrayLike, want: ArrayLike, tolerance: Tolerance) -> Disagreement | None:
    """None where every element agrees, else the worst. NaN agrees with nothing, infinities neither: test them directly.

    Raises ShapeError where the shapes differ.
    """
    left, right = np.asarray(got), np.asarray(want)
    if left.shape != right.shape:
        raise ShapeError(f"agree: got must be of the wanted shape {right.shape}, got {left.shape}")
    with np.errstate(invalid="ignore", over="ignore"):
        absolute = np.abs(left.astype(np.float64) - right.astype(np.float64))
        relative = absolute / np.maximum(np.abs(right.astype(np.float64)), np.finfo(np.float64).smallest_subnormal)
    wrong = ~((absolute <= tolerance.abs) | (relative <= tolerance.rel))
    if not wrong.any():
        return None
    score = np.where(wrong, np.where(np.isnan(relative), np.inf, relative), -1.0)
    index = tuple(int(i) for i in np.unravel_index(int(np.argmax(score)), left.shape))
    return Disagreement(
        index, left[index].item(), right[index].item(), float(relative[index]), float(absolute[index]), int(wrong.sum())
    )


def wave(n: int, k: float, phase: float = 0.0, amp: float = 1.5) -> F32:
    """`sin(i * k + phase) * amp`, narrowed to float32."""
    return np.asarray(np.sin(np.arange(n) * k + phase) * amp, np.float32)


def code_wave(n: int, k: float, phase: float = 0.0) -> NDArray[np.int32]:
    """Integer codes between -100 and 100."""
    return np.asarray(np.round(np.sin(np.arange(n) * k + phase) * 100), np.int32)


def scale_wave(n: int) -> F32:
    """Strictly increasing scales, none of them 1."""
    return (0.02 * (np.arange(n) + 1) + 0.007).astype(np.float32)


def distinct(n: int) -> F32:
    """Values that all differ and are exact in float32, for ops that only move values."""
    return ((np.arange(n) + 1) * 0.25).astype(np.float32)


def words(*shape: int, dtype: str = "float32") -> tuple[NDArray[Any]]:
    """The argument of an op that only moves values: `distinct` ones, or `hashed` words that are no floats."""
    n = math.prod(shape)
    return ((distinct(n) if dtype == "float32" else hashed(n).view(dtype)).reshape(shape),)


def hashed(n: int, seed: int = 0) -> NDArray[np.uint32]:
    """Well-mixed 32-bit words, the same with every NumPy."""
    return mix(np.arange(n, dtype=np.uint32), seed)


def mix(indices: NDArray[np.uint32], seed: int) -> NDArray[np.uint32]:
    """The words of `hashed` at some indices."""
    words = indices * np.uint32(2654435761) + np.uint32((seed * 40503 + 1) % 2**32)
    for shift, factor in ((16, 0x7FEB352D), (15, 0x846CA68B)):
        words = (words ^ (words >> np.uint32(shift))) * np.uint32(factor)
    return words ^ (words >> np.uint32(16))


def uniform(shape: tuple[int, ...], seed: int = 0, amp: float = 1.0) -> F32:
    """Values spread evenly over (-amp, amp) in no order."""
    words = hashed(int(np.prod(shape)), seed).astype(np.float64)
    return ((words / 2**31 - 1) * amp).astype(np.float32).reshape(shape)


def halves(arrays: tuple[F32, ...]) -> tuple[NDArray[np.float16], ...]:
    """Arguments rounded to float16, for the kernels of that dtype."""
    return tuple(array.astype(np.float16) for array in arrays)


def block_weight(type_name: str, shape: tuple[int, int], seed: int = 0) -> Blocks:
    """A weight of a block type with codes of every value and scales of both signs, most weights within (-1, 1)."""
    if type_name in ROW_TYPES:
        return _row_weight(type_name, shape, seed)
    block = BLOCK_TYPES[type_name]
    if type_name == "f16":
        return Blocks(type_name, shape, uniform(shape, seed).astype(np.float16).reshape(-1).view(np.uint8))
    if type_name == "bf16":
        return Blocks(
            type_name, shape, (uniform(shape, seed).view(np.uint32) >> 16).astype(np.uint16).reshape(-1).view(np.uint8)
        )
    blocks = shape[0] * shape[1] // block.elements
    data = hashed(blocks * block.nbytes, seed).astype(np.uint8).reshape(blocks, block.nbytes)
    reach, middle = _CODES[type_name]
    scale = uniform((blocks, 2), seed + 1)
    scale += np.copysign(np.float32(8e-3), scale)
    scale /= reach
    data[:, block.halves[0] :][:, :2] = scale[:, :1].astype(np.float16).view(np.uint8)
    if len(block.halves) > 1:
        offset = middle * scale[:, :1] + scale[:, 1:] / 4
        data[:, block.halves[1] :][:, :2] = offset.astype(np.float16).view(np.uint8)
    return Blocks(type_name, shape, data.reshape(-1))


def _row_weight(type_name: str, shape: tuple[int, int], seed: int) -> Blocks:
    """The same of a type in planes of rows; what fills up a row of codes is no zero, so that reading it shows."""
    kind, (n, k) = ROW_TYPES[type_name], shape
    codes = hashed(n * kind.code_bytes(k), seed).astype(np.uint8).reshape(n, kind.code_bytes(k))
    scales = uniform((n, kind.scale_bytes(k) // 4), seed + 1)
    scales += np.copysign(np.float32(8e-3), scales)
    return Blocks(type_name, shape, joined(codes, scales / np.float32(_CODES[type_name][0])))


def gather_cases(names: Collection[str] | None = None) -> list[Case]:
    """Every case of every module beside this one, each with its module's tolerance filled in, ordered by op.

    names   only these, by op ("conv2d") or by module ("conv"); None for all

    Raises LookupError, whose text is the names that are neither.
    """
    package = importlib.import_module("webxpu.cases")
    cases: list[Case] = []
    unknown = set(names or ())
    for found in pkgutil.iter_modules(package.__path__):
        if found.name == "case" or found.name.startswith("_"):
            continue
        module = importlib.import_module(f"webxpu.cases.{found.name}")
        chosen = [c for c in module.CASES if names is None or c.op in names or found.name in names]
        cases += [replace(case, tolerance=case.tolerance or module.TOLERANCE) for case in chosen]
        unknown -= {found.name, *(case.op for case in module.CASES)}
    if unknown:
        raise LookupError(", ".join(sorted(unknown)))
    return sorted(cases, key=lambda case: case.op)


def tolerance_of(op_module: str) -> Tolerance:
    """The tolerance of the cases of an op's module: `webxpu.cases.softmax` for `webxpu.ops.softmax`."""
    tolerance: Tolerance = importlib.import_module(op_module.replace(".ops.", ".cases.")).TOLERANCE
    return tolerance
