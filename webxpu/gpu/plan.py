"""What an operation asks of the GPU, as plain data that needs no browser to make."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from webxpu.gpu.kernels import Kernel

Access = Literal["read", "read_write", "uniform"]
Source = Literal["in", "out", "scratch"]

# WebGPU's floor for maxComputeWorkgroupsPerDimension, and what every known device offers.
MAX_GROUPS = 65_535


@dataclass(frozen=True)
class Spec:
    """The shape and dtype of an array, a tensor or a block weight, without its data."""

    shape: tuple[int, ...]
    dtype: str

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes on the GPU, padded to the 4 that a storage binding needs."""
        from webxpu.quant.ggml import is_block_type, stored_nbytes

        if is_block_type(self.dtype):
            return stored_nbytes(self.dtype, self.shape)
        return -(-self.size * np.dtype(self.dtype).itemsize // 4) * 4

    def __str__(self) -> str:
        return f"{self.dtype}{list(self.shape)}"


@dataclass(frozen=True)
class Binding:
    """One entry of a bind group: which argument, output or scratch buffer, and how the kernel uses it."""

    source: Source
    index: int
    access: Access = "read"


def arg(index: int, access: Access = "read") -> Binding:
    """Input `index`; `read_write` for an argument that the op declares in `writes`, `uniform` for `state`."""
    return Binding("in", index, access)


def out(index: int = 0) -> Binding:
    """Output `index`, always `read_write`."""
    return Binding("out", index, "read_write")


def scratch(index: int, access: Access = "read_write") -> Binding:
    """Scratch buffer `index` of the plan."""
    return Binding("scratch", index, access)


@dataclass(frozen=True)
class Dispatch:
    """One compute dispatch: a resolved kernel, its override constants, its bindings in order and its grid."""

    kernel: Kernel
    constants: Mapping[str, int | float]
    bindings: Sequence[Binding]
    grid: tuple[int, int, int]


@dataclass(frozen=True)
class Plan:
    """Dispatches in order. `scratch` are specs of buffers that live only inside the plan."""

    dispatches: Sequence[Dispatch]
    scratch: Sequence[Spec] = ()


def fold(groups: int) -> tuple[int, int, int]:
    """A grid of at least `groups` workgroups in one line, folded into two dimensions past 65,535.

    Kernels rebuild the line as `workgroup_id.x + workgroup_id.y * num_workgroups.x` and ignore what is past the end.
    """
    if groups <= MAX_GROUPS:
        return (groups, 1, 1)
    rows = -(-groups // MAX_GROUPS)
    return (-(-groups // rows), rows, 1)
