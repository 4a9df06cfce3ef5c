"""Arrays that live on the GPU."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from webxpu.errors import DeviceError, ShapeError
from webxpu.gpu.op import canonical
from webxpu.gpu.plan import ALIGNMENT_BYTES, Spec
from webxpu.quant.ggml import Blocks, is_block_type, to_stored

if TYPE_CHECKING:
    from webxpu.gpu.device import Device

DTYPES = ("float32", "int32", "uint32", "float16")
# What is allocated and bound for an empty tensor, so that it can still be bound as array<vec4<f32>>.
MIN_BYTES = 16


class Storage:
    """One GPU buffer. `handle` is None until a recording is compiled; an `owned` one is freed with its last tensor."""

    __slots__ = ("__weakref__", "device", "freed", "handle", "nbytes", "owned", "views")

    def __init__(self, device: Device, nbytes: int, handle: int | None, *, owned: bool) -> None:
        self.device = device
        self.nbytes = nbytes or MIN_BYTES
        self.handle = handle
        self.owned = owned
        self.freed = False
        self.views: weakref.WeakSet[Tensor] = weakref.WeakSet()

    def referenced(self) -> bool:
        """Whether somebody outside still holds a tensor of this buffer."""
        return len(self.views) > 0

    def bound_handle(self, user: str) -> int:
        """The bridge's handle. Raises DeviceError once freed, and before the program that makes it is compiled."""
        if self.freed:
            raise DeviceError(f"{user}: a tensor that it uses was freed")
        if self.handle is None:
            raise DeviceError(f"{user}: a tensor that it uses belongs to a program that is not compiled yet")
        return self.handle

    def free(self) -> None:
        if self.owned and not self.freed and self.handle is not None and not self.device.closed:
            self.device.bridge.free_buffer(self.handle)
        self.freed = True

    def __del__(self) -> None:
        self.free()


class Tensor:
    """A contiguous array on a device. Made by `device.tensor`, `device.empty` and by operations.

    shape   tuple of ints
    dtype   "float32", "int32", "uint32", "float16", or a block type such as "q4_1"
    nbytes  bytes on the GPU
    """

    __slots__ = ("__weakref__", "offset", "spec", "storage")

    def __init__(self, storage: Storage, spec: Spec, offset: int = 0) -> None:
        self.storage = storage
        self.spec = spec
        self.offset = offset
        storage.views.add(self)

    @property
    def device(self) -> Device:
        return self.storage.device

    @property
    def handle(self) -> int:
        """The bridge's handle. Raises DeviceError once freed, and before a recorded tensor's program is compiled."""
        return self.storage.bound_handle(f"tensor {self.spec}")

    @property
    def shape(self) -> tuple[int, ...]:
        return self.spec.shape

    @property
    def dtype(self) -> str:
        return self.spec.dtype

    @property
    def nbytes(self) -> int:
        return self.spec.nbytes

    def reshape(self, *shape: int | Sequence[int]) -> Tensor:
        """The same data in another shape, `reshape(2, 3)` or `reshape((2, 3))`; one entry may be -1. No copy.
        Raises ShapeError."""
        sizes: Any = shape[0] if len(shape) == 1 and isinstance(shape[0], Sequence) else shape
        known = int(np.prod([n for n in sizes if n != -1], dtype=np.int64))
        free = self.spec.size // known if known else 0
        resolved = tuple(free if n == -1 else n for n in sizes)
        if is_block_type(self.dtype) or int(np.prod(resolved, dtype=np.int64)) != self.spec.size:
            raise ShapeError(f"reshape: shape must hold {self.spec.size} elements of {self.spec}, got {list(sizes)}")
        return Tensor(self.storage, Spec(resolved, self.dtype), self.offset)

    def __getitem__(self, rows: Any) -> Tensor:
        """A slice of the first axis with step 1: a view where it starts at a multiple of 256 bytes, else a copy."""
        if not isinstance(rows, slice) or rows.step not in (None, 1) or not self.shape or is_block_type(self.dtype):
            raise ShapeError(f"tensor {self.spec}: index must be a slice of the first axis with step 1, got {rows!r}")
        start, stop, _ = rows.indices(self.shape[0])
        row = Spec(self.shape[1:], self.dtype)
        row_bytes = row.size * np.dtype(self.dtype).itemsize
        part = Spec((max(stop - start, 0), *self.shape[1:]), self.dtype)
        offset = self.offset + start * row_bytes
        if offset % ALIGNMENT_BYTES == 0:
            return Tensor(self.storage, part, offset)
        if offset % 4:
            raise ShapeError(f"tensor {self.spec}: a slice must start at a multiple of 4 bytes, got {offset}")
        return self.device.copy_range(self, part, offset)

    async def numpy(self) -> NDArray[Any]:
        """The values, read back; errors of earlier GPU work on this device are raised here, and ShapeError for block
        weights."""
        if is_block_type(self.dtype):
            raise ShapeError(f"tensor {self.spec}: block weights are not read back")
        array = np.empty(self.nbytes, np.uint8)
        if self.spec.size:
            await self.device.bridge.read_into(self.handle, self.offset, array)
        else:
            await self.device.sync()
        itemsize = np.dtype(self.dtype).itemsize
        return array[: self.spec.size * itemsize].view(self.dtype).reshape(self.shape)

    def write(self, array: NDArray[Any]) -> None:
        """Replaces the values. Raises ShapeError unless shape and dtype agree."""
        data = gpu_array(array)
        if Spec(tuple(data.shape), str(data.dtype)) != self.spec:
            raise ShapeError(f"tensor.write: array must be {self.spec}, got {data.dtype}{list(data.shape)}")
        self.device.submit([["write", self.handle, self.offset, padded_bytes(data)]])

    def free(self) -> None:
        """Gives the memory back now; every later use raises DeviceError."""
        self.storage.free()

    def __repr__(self) -> str:
        return f"<Tensor {self.spec}>"


def gpu_array(value: Any) -> NDArray[Any]:
    """The array as it goes to the GPU: contiguous and canonical. Raises ShapeError for a dtype that has no GPU form."""
    array = np.asarray(canonical(value), order="C")
    if str(array.dtype) not in DTYPES:
        raise ShapeError(f"tensor: dtype must be one of {', '.join(DTYPES)}, got {array.dtype}")
    return array


def padded_bytes(array: NDArray[Any]) -> NDArray[np.uint8]:
    """The array's bytes, padded with zeros to the multiple of 4 that WebGPU copies."""
    data = array.reshape(-1).view(np.uint8)
    return data if len(data) % 4 == 0 else np.concatenate([data, np.zeros(-len(data) % 4, np.uint8)])


def stored_bytes(value: Any) -> tuple[Spec, NDArray[np.uint8]]:
    """The Spec and the GPU bytes of an array or a Blocks weight."""
    if isinstance(value, Blocks):
        return Spec(value.shape, value.type), to_stored(value)
    array = gpu_array(value)
    return Spec(tuple(array.shape), str(array.dtype)), padded_bytes(array)
