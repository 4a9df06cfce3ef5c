"""What an operation asks of the GPU, as plain data that needs no browser to make."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

if TYPE_CHECKING:
    from webxpu.gpu.kernels import Kernel
    from webxpu.gpu.op import Op
    from webxpu.gpu.target import Gpu

Access = Literal["read", "read_write", "uniform"]
Source = Literal["in", "out", "scratch"]

Grid = tuple[int, int, int]

# Storage and uniform bindings must begin at a multiple of this many bytes.
ALIGNMENT_BYTES = 256
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
    """One entry of a bind group: which argument, output or scratch buffer, and how the kernel uses it.

    `offset` and `nbytes` choose a part of it, see `in_chunks`; nbytes 0 is the whole.
    """

    source: Source
    index: int
    access: Access = "read"
    offset: int = 0
    nbytes: int = 0


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
    grid: Grid


@dataclass(frozen=True)
class Plan:
    """Dispatches in order. `scratch` are specs of buffers that live only inside the plan."""

    dispatches: Sequence[Dispatch]
    scratch: Sequence[Spec] = ()


def fold(groups: int) -> Grid:
    """A grid of at least `groups` workgroups in one line, folded into two dimensions past 65,535.

    Kernels rebuild the line as `workgroup_id.x + workgroup_id.y * num_workgroups.x` and ignore what is past the end.
    """
    if groups <= MAX_GROUPS:
        return (groups, 1, 1)
    rows = -(-groups // MAX_GROUPS)
    return (-(-groups // rows), rows, 1)


def flat_grid(elements: int) -> Grid:
    """The grid of a kernel whose workgroups of 256 threads take 1,024 elements each, in `kernels/_with/flat.wgsl`."""
    return fold(-(-elements // 1024))


def in_chunks(
    gpu: Gpu,
    dispatch: Dispatch,
    rows: int,
    row_bytes: Sequence[int],
    grid: Callable[[int], Grid],
    multiple: int = 1,
    told: Callable[[int, int], Mapping[str, int]] | None = None,
) -> list[Dispatch]:
    """The dispatch on all rows, or several on consecutive rows where a binding is larger than the device can bind.

    rows       how many the dispatch computes, independent of each other
    row_bytes  for each binding the bytes of one row; 0 where every row reads the whole of it
    grid       the grid for a number of rows
    multiple   a chunk begins at a multiple of this many rows
    told       (first row, number of rows) -> constants of a part, for a kernel that does not count its rows by
               arrayLength or must know where they lie

    One row that is too large is left as it is: the device's limit is
    then named before anything runs.
    """

    def part(first: int, count: int, bindings: Sequence[Binding]) -> Dispatch:
        constants = {**dispatch.constants, **told(first, count)} if told else dispatch.constants
        return replace(dispatch, constants=constants, bindings=bindings, grid=grid(count))

    limit = gpu.limits["maxStorageBufferBindingSize"]
    if rows * max(row_bytes) <= limit:
        return [part(0, rows, dispatch.bindings)]
    steps = [math.lcm(multiple, ALIGNMENT_BYTES // math.gcd(ALIGNMENT_BYTES, n)) for n in row_bytes if n]
    step = math.lcm(*steps)
    chunk = limit // max(row_bytes) // step * step
    if not chunk:
        return [part(0, rows, dispatch.bindings)]
    parts = []
    for first in range(0, rows, chunk):
        count = min(chunk, rows - first)
        bindings = [
            replace(b, offset=first * n, nbytes=-(-count * n // 4) * 4) if n else b
            for b, n in zip(dispatch.bindings, row_bytes, strict=True)
        ]
        parts.append(part(first, count, bindings))
    return parts


@dataclass(frozen=True)
class Value:
    """An array inside a composition: an argument of the outer op, or what an inner op made."""

    binding: Binding
    spec: Spec

    def reshape(self, *shape: int) -> Value:
        """The same bytes in another shape."""
        assert math.prod(shape) == self.spec.size, f"{self.spec} cannot become {shape}"
        return Value(self.binding, Spec(shape, self.spec.dtype))


@dataclass
class Composition:
    """A plan built from other ops' plans. `args` are the outer op's arguments; see `compose`."""

    gpu: Gpu
    args: tuple[Value, ...]
    dispatches: list[Dispatch] = field(default_factory=list)
    scratch: list[Spec] = field(default_factory=list)

    def call(self, op: Op, *values: Value | None, into: Sequence[Binding] = (), **kwargs: Any) -> tuple[Value, ...]:
        """Appends an op's plan and returns its outputs, which lie in scratch unless `into` names outer outputs. None
        stands for an optional array left out."""
        specs, plan = op.plan_of(self.gpu, *(v.spec if v else None for v in values), **kwargs)
        places = into or [self.new(s) for s in specs]
        first = len(self.scratch)
        self.scratch += plan.scratch
        sources: dict[Source, list[Binding | None]] = {
            "in": [v.binding if v else None for v in values],
            "out": list(places),
            "scratch": [scratch(first + i) for i in range(len(plan.scratch))],
        }
        for d in plan.dispatches:
            bound = []
            for b in d.bindings:
                place = sources[b.source][b.index]
                assert place is not None, "a plan binds an array that was left out"
                bound.append(replace(b, source=place.source, index=place.index))
            self.dispatches.append(replace(d, bindings=bound))
        return tuple(Value(place, s) for place, s in zip(places, specs, strict=True))

    def new(self, spec: Spec) -> Binding:
        """A scratch buffer of the composition."""
        self.scratch.append(spec)
        return scratch(len(self.scratch) - 1)

    def plan(self) -> Plan:
        return Plan(self.dispatches, self.scratch)


def compose(gpu: Gpu, *args: Spec) -> Composition:
    """An empty composition of an op with these arguments:

    c = compose(gpu, x, gain, weight)
    (normed,) = c.call(rmsnorm, c.args[0], c.args[1], eps=eps)
    c.call(linear, normed, c.args[2], into=[out(0)])
    return c.plan()
    """
    return Composition(gpu, tuple(Value(arg(i), s) for i, s in enumerate(args)))
