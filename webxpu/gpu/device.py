"""An open GPU: makes tensors, runs operations, records programs."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from webxpu.errors import DeviceError
from webxpu.gpu.description import description
from webxpu.gpu.op import Op, check
from webxpu.gpu.op import spec as spec_of
from webxpu.gpu.plan import Plan, Spec
from webxpu.gpu.program import Program, Range, Step, bind, bound_bytes, encode, tensor_range
from webxpu.gpu.seam import Bridge
from webxpu.gpu.target import Gpu, describe
from webxpu.gpu.tensor import DTYPES, Storage, Tensor, stored_bytes
from webxpu.quant.ggml import is_block_type


class Device:
    """A GPU device behind the bridge. Open one with `await webxpu.open_device()`.

    gpu     what plans know of it: limits, features, subgroup sizes, target and why
    """

    def __init__(self, bridge: Bridge, handle: int, gpu: Gpu) -> None:
        self.bridge = bridge
        self.handle = handle
        self.gpu = gpu
        self.closed = False
        self._recording: Program | None = None

    def tensor(self, value: Any) -> Tensor:
        """A copy of an array (float64 becomes float32, int64 int32) or of a `Blocks` weight on the GPU."""
        spec, data = stored_bytes(value)
        tensor = self._allocate(spec, "tensor")
        if len(data):
            self.submit([["write", tensor.handle, 0, data]])
        return tensor

    def empty(self, shape: int | Sequence[int], dtype: str = "float32") -> Tensor:
        """A tensor of zeros: WebGPU clears what it allocates. Raises ShapeError for a dtype that has no GPU form."""
        known = dtype in DTYPES or is_block_type(dtype)
        check(known, "empty", "dtype", f"one of {', '.join(DTYPES)}", repr(dtype))
        return self._allocate(Spec((shape,) if isinstance(shape, int) else tuple(shape), dtype), "tensor")

    def copy_range(self, tensor: Tensor, spec: Spec, offset: int) -> Tensor:
        """A new tensor from the bytes of another, starting at `offset` of its buffer (a multiple of 4). Raises
        DeviceError while recording."""
        if self._recording is not None:
            raise DeviceError(
                f"slice of {tensor.spec}: a recorded slice must start at a multiple of 256 bytes, got {offset}"
            )
        copy = self._allocate(spec, "slice")
        if spec.size:
            self.submit([["copy", tensor.handle, offset, copy.handle, 0, spec.nbytes]])
        return copy

    def dispatch(self, op: Op, args: Sequence[Tensor | None], kwargs: dict[str, Any]) -> Any:
        """Runs an op on tensors, or records it. Called by the op itself."""
        self._check_arguments(op, args)
        specs, plan = op.plan_of(self.gpu, *map(spec_of, args), **kwargs)
        if all(spec.size == 0 for spec in specs) and not op.writes:
            outputs = [self._allocate(spec, op.name) for spec in specs]
        elif self._recording is not None:
            made = [(Storage(self, bound_bytes(spec), None, owned=False), spec) for spec in specs]
            inputs = [(t.storage, t.spec, t.offset) if t is not None else None for t in args]
            self._recording.steps.append(Step(op.name, plan, inputs, made))
            outputs = [Tensor(storage, spec) for storage, spec in made]
        else:
            outputs = [self._allocate(spec, op.name) for spec in specs]
            self._run_now(op.name, plan, args, outputs)
        return outputs[0] if len(outputs) == 1 else tuple(outputs) or None

    @contextmanager
    def record(self, label: str = "program") -> Iterator[Program]:
        """Captures op calls into a Program instead of running them: `with device.record() as program: ...`.
        Raises DeviceError inside another recording."""
        if self._recording is not None:
            raise DeviceError(f"record: {self._recording.label!r} is still being recorded; recordings do not nest")
        self._recording = program = Program(self, label)
        try:
            yield program
        finally:
            self._recording = None
        program.place()

    def submit(self, steps: Sequence[Sequence[Any]]) -> None:
        """Sends ["write", handle, offset, bytes], ["copy", from, offset, to, offset, bytes] and ["run", program] steps
        in order in one bridge call."""
        self._check_open()
        self.bridge.submit(self.handle, steps)

    async def sync(self) -> None:
        """Waits for all submitted work and raises its first error."""
        self._check_open()
        await self.bridge.sync(self.handle)

    def stats(self) -> dict[str, Any]:
        """Counters of the bridge: buffers, bytes, pipelines, programs and their groups, submits, bytesRead."""
        return self.bridge.stats(self.handle)

    def describe(self) -> str:
        """Adapter, target and why, features, and which kernel each op's entry gets here: print it."""
        return description(self.gpu)

    def close(self) -> None:
        """Destroys the device and all its memory."""
        if not self.closed:
            self.bridge.close_device(self.handle)
        self.closed = True

    def _allocate(self, spec: Spec, label: str) -> Tensor:
        self._check_open()
        nbytes = bound_bytes(spec)
        handle = self.bridge.create_buffer(self.handle, nbytes, f"{label} {spec}")
        return Tensor(Storage(self, nbytes, handle, owned=True), spec)

    def _run_now(self, name: str, plan: Plan, args: Sequence[Tensor | None], outputs: Sequence[Tensor]) -> None:
        spare = [self._allocate(spec, f"{name} scratch") for spec in plan.scratch]
        ranges: list[list[Range]] = [[tensor_range(t) for t in group] for group in (args, outputs, spare)]
        self.bridge.run_now(self.handle, encode(name, bind(plan, *ranges), dict(self.gpu.limits)))

    def _check_arguments(self, op: Op, args: Sequence[Tensor | None]) -> None:
        self._check_open()
        for name, tensor in zip(op.arrays, args, strict=True):
            if tensor is None:
                continue
            if tensor.device is not self:
                raise DeviceError(f"{op.name}: {name}, {tensor.spec}, belongs to another device")
            if tensor.storage.freed:
                raise DeviceError(f"{op.name}: {name}, {tensor.spec}, was freed")

    def _check_open(self) -> None:
        if self.closed:
            raise DeviceError("this device was closed; open a new one")


async def open_device(
    adapter: str | None = None,
    limits: str = "adapter",
    features: str | Sequence[str] = "all",
    *,
    bridge: Bridge | None = None,
) -> Device:
    """Opens the user's GPU.

    adapter   None, "low-power" or "high-performance": WebGPU's power preference
    limits    "adapter" takes all that the adapter offers, "default" holds WebGPU's floor
    features  "all" the adapter has that kernels can use, or a list of WebGPU feature names

    Raises Unsupported where the browser has no WebGPU or no adapter.
    """
    if bridge is None:
        bridge = importlib.import_module("webxpu.bridge")
    options = {"adapter": adapter, "limits": limits, "features": features if features == "all" else list(features)}
    report = await bridge.open_device(options)
    return Device(bridge, report["device"], describe(report))
