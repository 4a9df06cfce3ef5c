"""Recorded programs: which calls, which buffers, and the plain data that the bridge compiles and replays."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from webxpu.errors import DeviceError, Unsupported
from webxpu.gpu.kernels import assemble
from webxpu.gpu.plan import Binding, Dispatch, Plan, Spec
from webxpu.gpu.tensor import MIN_BYTES, Storage, Tensor

if TYPE_CHECKING:
    from webxpu.gpu.device import Device

# A buffer as a bind group sees it: handle, offset in bytes, size in bytes.
Range = tuple[int, int, int]
NO_RANGE = (-1, 0, 0)
_LARGEST_CONSTANT = float(np.finfo(np.float32).max)


@dataclass(frozen=True)
class Call:
    """One dispatch with the buffer ranges of its bindings, in order."""

    dispatch: Dispatch
    ranges: Sequence[Range]


def bind(plan: Plan, inputs: Sequence[Range], outputs: Sequence[Range], scratch: Sequence[Range]) -> list[Call]:
    """A plan's dispatches with their buffers. Raises DeviceError where one dispatch would read and write one buffer."""
    sources = {"in": inputs, "out": outputs, "scratch": scratch}
    calls = []
    for dispatch in plan.dispatches:
        ranges = [_part(sources[b.source][b.index], b) for b in dispatch.bindings]
        written = {r[0] for r, b in zip(ranges, dispatch.bindings, strict=True) if b.access == "read_write"}
        handles = [r[0] for r in ranges]
        for handle in written:
            if handles.count(handle) > 1:
                raise DeviceError(
                    f"{dispatch.kernel.label}: an argument that is written must not share its buffer with another "
                    f"argument, got buffer {handle} {handles.count(handle)} times"
                )
        calls.append(Call(dispatch, ranges))
    return calls


def _part(whole: Range, binding: Binding) -> Range:
    handle, offset, nbytes = whole
    return (handle, offset + binding.offset, binding.nbytes or nbytes)


def encode(label: str, calls: Sequence[Call], limits: dict[str, int] | None = None) -> dict[str, Any]:
    """The bridge's program: every module, pipeline and bind group once, and a flat command list of integers.

    With `limits`, raises Unsupported before anything reaches the GPU where a grid or binding passes one.
    """
    modules: dict[Any, int] = {}
    pipelines: dict[Any, int] = {}
    groups: dict[Any, int] = {}
    program: dict[str, Any] = {
        "label": label, "modules": [], "pipelines": [], "groups": [], "commands": [], "labels": [],
    }  # fmt: skip
    for call in calls:
        dispatch = call.dispatch
        if limits is not None:
            check_limits(call, limits)
        module = modules.get(dispatch.kernel)
        if module is None:
            text = assemble(dispatch.kernel)
            module = modules[dispatch.kernel] = len(program["modules"])
            program["modules"].append(
                {"label": text.label, "code": text.code, "segments": [list(s) for s in text.segments]}
            )
        access = [b.access for b in dispatch.bindings]
        constants = _plain_constants(dispatch)
        pipeline = _index(
            pipelines,
            (module, json.dumps(constants, sort_keys=True), tuple(access)),
            program["pipelines"],
            {"module": module, "constants": constants, "access": access},
        )
        buffers = [list(r) for r in call.ranges]
        group = _index(
            groups, (pipeline, tuple(call.ranges)), program["groups"], {"pipeline": pipeline, "buffers": buffers}
        )
        program["commands"] += [pipeline, group, *dispatch.grid]
        program["labels"].append(dispatch.kernel.label)
    return program


def _plain_constants(dispatch: Dispatch) -> dict[str, int | float]:
    """The constants as JavaScript knows numbers. Raises Unsupported for one that no pipeline takes."""
    plain = {k: v.item() if isinstance(v, np.generic) else v for k, v in dispatch.constants.items()}
    for name, value in plain.items():
        if not abs(value) <= _LARGEST_CONSTANT:
            raise Unsupported(f"{dispatch.kernel.label}: constant {name} must be a finite float32, got {value}")
    return plain


def _index(seen: dict[Any, int], key: Any, items: list[Any], item: Any) -> int:
    if key not in seen:
        seen[key] = len(items)
        items.append(item)
    return seen[key]


def check_limits(call: Call, limits: dict[str, int]) -> None:
    """Raises Unsupported, naming the limit, where a dispatch cannot run on the device."""
    dispatch = call.dispatch
    label = dispatch.kernel.label
    if max(dispatch.grid) > limits["maxComputeWorkgroupsPerDimension"]:
        raise Unsupported(
            f"{label}: a grid of {dispatch.grid} passes this device's maxComputeWorkgroupsPerDimension "
            f"{limits['maxComputeWorkgroupsPerDimension']}"
        )
    storage = [r for r, b in zip(call.ranges, dispatch.bindings, strict=True) if b.access != "uniform"]
    if len(storage) > limits["maxStorageBuffersPerShaderStage"]:
        raise Unsupported(
            f"{label}: {len(storage)} storage buffers pass this device's maxStorageBuffersPerShaderStage "
            f"{limits['maxStorageBuffersPerShaderStage']}"
        )
    for _, _, size in storage:
        if size > limits["maxStorageBufferBindingSize"]:
            raise Unsupported(
                f"{label}: a binding of {size} bytes passes this device's maxStorageBufferBindingSize "
                f"{limits['maxStorageBufferBindingSize']}"
            )


@dataclass
class Step:
    """One recorded op call: its plan, and storage, spec and offset of what it reads and makes.

    It holds no tensors, so that a tensor that nobody else holds can give its buffer back to the pool.
    """

    name: str
    plan: Plan
    inputs: Sequence[tuple[Storage, Spec, int] | None]
    outputs: Sequence[tuple[Storage, Spec]]


@dataclass
class Program:
    """A recorded sequence of op calls. `await compile()` once, then `run()` as often as wanted: one bridge call each.

    pool_bytes is what the intermediates need together, known before anything is allocated. Tensors that are still
    referenced when the recording ends keep their buffer; all others share a pool by lifetime.
    """

    device: Device
    label: str
    steps: list[Step] = field(default_factory=list)
    pool_sizes: list[int] = field(default_factory=list)
    _handle: int | None = None
    _pool: list[int] = field(default_factory=list)
    _data: dict[str, Any] | None = None

    @property
    def pool_bytes(self) -> int:
        return sum(self.pool_sizes)

    @property
    def dispatches(self) -> int:
        return sum(len(step.plan.dispatches) for step in self.steps)

    @property
    def handle(self) -> int:
        if self._handle is None:
            raise DeviceError(f"program {self.label!r} is not compiled; await compile() first")
        return self._handle

    @property
    def compiled(self) -> bool:
        return self._handle is not None

    def place(self) -> None:
        """Gives every storage of the recording a buffer of the pool, by lifetime. Called when the recording ends."""
        self._slots, self._scratch_slots, self.pool_sizes = place(self.steps)

    async def compile(self) -> Program:
        """Allocates the pool, compiles the pipelines in parallel and makes the bind groups. Returns itself."""
        device = self.device
        if self._handle is None:
            self._pool = [
                device.bridge.create_buffer(device.handle, size, f"{self.label} pool {i}")
                for i, size in enumerate(self.pool_sizes)
            ]
            for storage, slot in self._slots.items():
                storage.handle = self._pool[slot]
            calls = []
            for step, scratch in zip(self.steps, self._scratch_slots, strict=True):
                inputs = [
                    (i[0].bound_handle(step.name), i[2], bound_bytes(i[1])) if i else NO_RANGE for i in step.inputs
                ]
                outputs = [(self._pool[self._slots[s]], 0, bound_bytes(spec)) for s, spec in step.outputs]
                spare = [
                    (self._pool[slot], 0, bound_bytes(spec))
                    for slot, spec in zip(scratch, step.plan.scratch, strict=True)
                ]
                calls += bind(step.plan, inputs, outputs, spare)
            self._data = encode(self.label, calls, dict(device.gpu.limits))
            self._handle = await device.bridge.compile(device.handle, self._data)
        return self

    def run(self) -> None:
        """Runs once. Returns at once; an error is raised by the next `await` on the device."""
        self.device.submit([["run", self.handle]])

    async def profile(self, repeats: int = 5) -> list[tuple[str, float]]:
        """(kernel label, milliseconds) of each dispatch, the least of `repeats` runs."""
        report = await self.device.bridge.profile(self.handle, repeats)
        assert self._data is not None
        return list(zip(self._data["labels"], report["ms"], strict=True))

    def loop(
        self,
        max_tokens: int,
        *,
        ring: Tensor,
        first: int,
        ready: int = 0,
        stops: Sequence[int] = (),
        timestamps: bool = False,
        counter: Counter | None = None,
        rows: Tensor | None = None,
        wraps: bool = False,
    ) -> Loop:
        """Runs this program a token a time, several batches ahead, until `max_tokens`, a stop id or abort.

        ring (C,) int32: the program's last kernel appends each id to it; the first new one lands at element `first`.
        ready: ids that work submitted before, such as a prompt's last program, appends there itself; they come first.
        counter: for a program whose runs append a varying number of ids, where it counts them.
        rows (C, ...): what the program writes at the index of each id; `Loop.rows` has it beside the ids.
        wraps: past the ring's end ids go on at element 0; else all must fit.
        """
        options: dict[str, Any] = {
            "program": self.handle, "ring": ring.handle, "first": first, "maxTokens": max_tokens, "ready": ready,
            "stops": [int(i) for i in stops], "timestamps": timestamps, "wraps": wraps,
        }  # fmt: skip
        if counter is not None:
            words, offset = counter.words, counter.words.offset + 4 * counter.word
            options["counter"] = {
                "buffer": words.handle, "offset": offset, "start": counter.start, "most": counter.most
            }  # fmt: skip
        row: tuple[tuple[int, ...], str] | None = None
        if rows is not None:
            row = (rows.shape[1:], rows.dtype)
            options["rows"] = {"buffer": rows.handle, "bytes": rows.nbytes // rows.shape[0]}
        return Loop(self.device, self.device.bridge.open_loop(self.device.handle, options), row)

    def free(self) -> None:
        """Frees the program and its pool, also of one whose compilation failed."""
        if not self.device.closed:
            if self._handle is not None:
                self.device.bridge.free_program(self._handle)
            for buffer in self._pool:
                self.device.bridge.free_buffer(buffer)
        if self._pool:
            for storage in self._slots:
                storage.freed = True
        self._handle, self._pool = None, []


@dataclass(frozen=True)
class Counter:
    """Where a program counts the ids that it appends.

    words   (n,) uint32, of which `word` is the count
    start   the count before the first id of a loop: before those that are ready, too
    most    ids that one run appends at most; it appends at least one
    """

    words: Tensor
    word: int
    start: int
    most: int


class Loop:
    """A running token loop: `async for ids in loop`, each a list of one or more new ids.

    rows    what the ring of rows has of the ids that came last, (ids, ...); None without such a ring
    """

    def __init__(self, device: Device, handle: int, row: tuple[tuple[int, ...], str] | None = None) -> None:
        self.device = device
        self.handle = handle
        self.reason: str | None = None
        self.rows = None if row is None else np.zeros((0, *row[0]), row[1])
        self._closed = False

    async def next(self) -> list[int]:
        """Every id that is ready, at least one unless the loop is over; `reason` then says why it ended."""
        if self.reason is not None:
            if self.rows is not None:
                self.rows = self.rows[:0]
            return []
        batch = await self.device.bridge.next_ids(self.handle)
        if batch["done"]:
            self.reason = batch["reason"]
        if self.rows is not None:
            self.rows = np.frombuffer(batch["rows"], self.rows.dtype).reshape(-1, *self.rows.shape[1:])
        return list(batch["ids"])

    def abort(self) -> None:
        """Asks the loop to end; what overran is discarded."""
        if not self._closed:
            self.device.bridge.abort_loop(self.handle)

    async def close(self) -> dict[str, Any]:
        """Frees what the loop holds without waiting for what is in flight; {submitted, kept, gpuMs}, and nothing the
        second time, which may come where a task is cancelled while it waits for the first."""
        if self._closed:
            return {}
        self._closed = True
        return await self.device.bridge.close_loop(self.handle)

    def __aiter__(self) -> Loop:
        return self

    async def __anext__(self) -> list[int]:
        ids = await self.next()
        if not ids:
            raise StopAsyncIteration
        return ids


def bound_bytes(spec: Spec) -> int:
    """Exactly the tensor's bytes: kernels take row counts from arrayLength. MIN_BYTES for an empty tensor."""
    return spec.nbytes or MIN_BYTES


def tensor_range(tensor: Tensor | None) -> Range:
    """The whole of a tensor; a range that no dispatch binds for an optional argument left out."""
    return NO_RANGE if tensor is None else (tensor.handle, tensor.offset, bound_bytes(tensor.spec))


def place(steps: Sequence[Step]) -> tuple[dict[Storage, int], list[list[int]], list[int]]:
    """Slots of a buffer pool for the storages that steps make, so that storages alive at once never share a slot.

    Returns the slot of each storage, the slots of each step's scratch, and each slot's size in bytes. A storage lives
    from the step that makes it to the last step that reads it, or to the end where a tensor still refers to it.
    """
    last: dict[Storage, int] = {}
    made = {storage for step in steps for storage, _ in step.outputs}
    for i, step in enumerate(steps):
        for storage in [given[0] for given in step.inputs if given] + [s for s, _ in step.outputs]:
            if storage in made:
                last[storage] = i
    slots: dict[Storage, int] = {}
    sizes: list[int] = []
    free: set[int] = set()

    def take(nbytes: int) -> int:
        fitting = [s for s in free if sizes[s] >= nbytes]
        if fitting:
            slot = min(fitting, key=lambda s: (sizes[s], s))
        elif free:  # grow the largest free one: nothing is allocated yet
            slot = max(free, key=lambda s: (sizes[s], s))
            sizes[slot] = nbytes
        else:
            slot = len(sizes)
            sizes.append(nbytes)
        free.discard(slot)
        return slot

    scratch_slots = []
    for i, step in enumerate(steps):
        for storage, spec in step.outputs:
            slots[storage] = take(bound_bytes(spec))
        scratch = [take(bound_bytes(spec)) for spec in step.plan.scratch]
        scratch_slots.append(scratch)
        free.update(scratch)
        free.update(slots[s] for s, end in last.items() if end == i and not s.referenced())
    return slots, scratch_slots, sizes
