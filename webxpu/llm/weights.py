"""Which tensors of a file make which weight of a model, and how their bytes reach the GPU or a NumPy array."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from webxpu.errors import FormatError, Unsupported
from webxpu.formats.tensor_info import TensorInfo
from webxpu.gpu.device import Device
from webxpu.gpu.kernels import assemble
from webxpu.gpu.plan import Spec
from webxpu.gpu.tensor import Tensor
from webxpu.llm.source import Source
from webxpu.ops.split_planes import split_planes
from webxpu.quant.ggml import BLOCK_TYPES, Blocks, dequantize
from webxpu.quant.rows import ROW_TYPES, stacked

# Bytes that the browser holds at once on their way from the network to the GPU.
CHUNK_BYTES = 4 << 20
_GAINS_IN_16_BITS = ("f16", "bf16")


@dataclass(frozen=True)
class Weight:
    """One weight as kernels read it: file tensors of one type, their rows stacked in order.

    type   "float32" or a block type; "float32" too of a gain that its file keeps in 16 bits
    """

    name: str
    type: str
    shape: tuple[int, ...]
    parts: tuple[TensorInfo, ...]

    @property
    def widened(self) -> bool:
        """Whether its 16-bit numbers become float32 on their way: kernels that scale by a gain read no other type."""
        return self.type == "float32" and self.parts[0].type in _GAINS_IN_16_BITS


class Weights(dict[str, Weight]):
    """The weights of a model by its own names, filled by `models/<architecture>.py` from a file's tensor table."""

    def __init__(self, tensors: Mapping[str, TensorInfo], named: Callable[[str], str] = str) -> None:
        super().__init__()
        self._tensors = tensors
        self._named = named  # what the file calls a tensor, of the name that `take` is given

    def has(self, name: str) -> bool:
        """Whether the file has a tensor."""
        return self._named(name) in self._tensors

    def take(self, name: str, parts: Mapping[str, tuple[int, ...]]) -> None:
        """Makes weight `name` from file tensors, each with the shape it must have, stacked along the first axis.

        Raises FormatError where one is missing or has another shape, Unsupported where types cannot be stacked.
        """
        infos = [self._find(tensor, shape) for tensor, shape in parts.items()]
        types = {info.type for info in infos}
        if len(types) > 1:
            listed = ", ".join(f"{info.name} {info.type}" for info in infos)
            raise Unsupported(f"weights: tensors that one kernel reads must have one type, got {listed}")
        kind = infos[0].spec().dtype
        if len(infos[0].shape) == 1:
            if kind not in ("float32", *_GAINS_IN_16_BITS):
                rule = "f32, f16 or bf16, since it scales activations"
                raise Unsupported(f"weights: {infos[0].name} must be {rule}, got {infos[0].type}")
            kind = "float32"
        rows = sum(info.shape[0] for info in infos)
        self[name] = Weight(name, kind, (rows, *infos[0].shape[1:]), tuple(infos))

    def refuse_unused(self) -> None:
        """Raises Unsupported for a tensor that no weight takes: leaving a bias out would be silently wrong."""
        used = {part.name for weight in self.values() for part in weight.parts}
        for name in self._tensors:
            if name not in used:
                raise Unsupported(
                    f"weights: the file has a tensor {name!r} that this architecture does not compute with"
                )

    def _find(self, name: str, shape: tuple[int, ...]) -> TensorInfo:
        name = self._named(name)
        info = self._tensors.get(name)
        if info is None:
            raise FormatError(f"weights: the file has no tensor {name!r}")
        if tuple(info.shape) != shape:
            raise FormatError(f"weights: {name} must have the shape {list(shape)}, got {list(info.shape)}")
        return info


def read_arrays(
    weights: Mapping[str, Weight], read: Callable[[TensorInfo], bytes]
) -> dict[str, NDArray[np.float32] | Blocks]:
    """The weights as the reference reads them, by the same names; `read` gives a file tensor's bytes."""
    arrays: dict[str, NDArray[np.float32] | Blocks] = {}
    for name, weight in weights.items():
        parts = [np.frombuffer(b"".join(map(read, part.planes())), np.uint8) for part in weight.parts]
        data = stacked(weight.type, weight.shape[-1], parts) if weight.type in ROW_TYPES else np.concatenate(parts)
        if weight.type != "float32":
            arrays[name] = Blocks(weight.type, weight.shape, data)
        elif weight.widened:
            arrays[name] = dequantize(Blocks(weight.parts[0].type, weight.shape, data))
        else:
            arrays[name] = data.view("<f4").reshape(weight.shape)
    return arrays


def allocate(device: Device, weights: Mapping[str, Weight]) -> dict[str, Tensor]:
    """A tensor for each weight; names that share their file tensors share the tensor."""
    made: dict[tuple[TensorInfo, ...], Tensor] = {}
    for weight in weights.values():
        if weight.parts not in made:
            made[weight.parts] = device.empty(weight.shape, weight.type)
    return {name: made[weight.parts] for name, weight in weights.items()}


def pieces(
    weights: Mapping[str, Weight], tensors: Mapping[str, Tensor], transforms: Sequence[str]
) -> dict[str, list[dict[str, Any]]]:
    """What the bridge copies: by file, byte ranges in the file's order and where each lands; of no widened gain.

    transforms   the block types whose bytes are split into planes on their way; a piece of one names its index
    """
    found: dict[tuple[str, int], dict[str, Any]] = {}
    for name, weight in weights.items():
        row = 0
        for part in () if weight.widened else weight.parts:
            for plane, piece in zip(part.planes(), _pieces(weight, part, tensors[name], row, transforms), strict=True):
                found[plane.file, plane.start] = piece
            row += part.shape[0]
    files: dict[str, list[dict[str, Any]]] = {}
    for file, start in sorted(found):
        files.setdefault(file, []).append(found[file, start])
    return files


def _pieces(
    weight: Weight, part: TensorInfo, tensor: Tensor, row: int, transforms: Sequence[str]
) -> list[dict[str, Any]]:
    """Where the runs of bytes of a file tensor land."""
    if weight.type not in ROW_TYPES:
        return [_piece(weight, part, tensor, row, transforms)]
    kind, k = ROW_TYPES[weight.type], weight.shape[-1]
    rows = math.prod(weight.shape[:-1])
    above = row * math.prod(weight.shape[1:-1])
    offsets = above * kind.code_bytes(k), rows * kind.code_bytes(k) + above * kind.scale_bytes(k)
    return [
        {"start": plane.start, "bytes": plane.nbytes, "buffer": tensor.handle, "offset": tensor.offset + offset,
         "transform": None}
        for plane, offset in zip(part.planes(), offsets, strict=True)
    ]  # fmt: skip


def _piece(weight: Weight, part: TensorInfo, tensor: Tensor, row: int, transforms: Sequence[str]) -> dict[str, Any]:
    piece = {"start": part.start, "bytes": part.nbytes, "buffer": tensor.handle, "offset": tensor.offset}
    if weight.type not in transforms:
        offset = row * (part.nbytes // part.shape[0])
        if offset % 4 or part.nbytes % 4:
            raise Unsupported(f"weights: {part.name} must be a multiple of 4 bytes long, got {part.nbytes} bytes")
        return {**piece, "offset": tensor.offset + offset, "transform": None}
    blocks_a_row = weight.shape[1] // BLOCK_TYPES[weight.type].elements
    return {
        **piece,
        "transform": transforms.index(weight.type),
        "targetBlock": row * blocks_a_row,
        "totalBlocks": weight.shape[0] * blocks_a_row,
        "targetBytes": tensor.nbytes,
    }


async def upload(
    device: Device,
    source: Source,
    weights: Mapping[str, Weight],
    tensors: Mapping[str, Tensor],
    progress: Callable[[int, int], object] | None = None,
) -> None:
    """Streams the weights from their files into the tensors. No byte of them passes through Python, but of the gains
    that are widened: a few kilobytes a layer."""
    files = {plane.file for weight in weights.values() for part in weight.parts for plane in part.planes()}
    alone = len(files) == 1

    def place_of(file: str) -> Source:
        return source if alone else source.sibling(file)

    await _widen(device, place_of, weights, tensors)
    types = {weight.type for weight in weights.values()}
    split = [name for name, block in BLOCK_TYPES.items() if block.planes and name in types]
    sent = pieces(weights, tensors, split)
    total, done = sum(piece["bytes"] for wanted in sent.values() for piece in wanted), 0
    for file, wanted in sent.items():

        def report(loaded: int, _: int, before: int = done) -> None:
            if progress is not None:
                progress(before + loaded, total)

        await device.bridge.upload(
            device.handle,
            {
                "source": place_of(file).bridged(),
                "chunkBytes": CHUNK_BYTES,
                "pieces": wanted,
                "transforms": [_transform(device, name) for name in split],
                "onProgress": report,
            },
        )
        done += sum(piece["bytes"] for piece in wanted)


async def _widen(
    device: Device, place_of: Callable[[str], Source], weights: Mapping[str, Weight], tensors: Mapping[str, Tensor]
) -> None:
    """Reads the gains that a file keeps in 16 bits and writes them as float32."""

    async def read(part: TensorInfo) -> NDArray[np.uint8]:
        data, _ = await place_of(part.file).reader(device.bridge)(part.start, part.nbytes)
        if len(data) != part.nbytes:
            where = f"{part.file}: the data of {part.name!r} at byte {part.start}"
            raise FormatError(f"{where} must be {part.nbytes} bytes, got {len(data)} (bytes {data[:16].hex(' ')})")
        return dequantize(Blocks(part.type, part.shape, np.frombuffer(data, np.uint8))).view(np.uint8)

    gains = {name: weight.parts[0] for name, weight in weights.items() if weight.widened}
    wide = await asyncio.gather(*map(read, gains.values()))
    if gains:
        device.submit([["write", tensors[name].handle, tensors[name].offset, data] for name, data in zip(gains, wide)])


def _transform(device: Device, block_type: str) -> dict[str, Any]:
    """The pass over each chunk that splits blocks into planes, as the bridge runs it."""
    words, span = Spec((1,), "uint32"), Spec((4,), "uint32")
    _, plan = split_planes.plan_of(device.gpu, words, words, span, type=block_type)
    [dispatch] = plan.dispatches
    module = assemble(dispatch.kernel)
    return {
        "module": {"label": module.label, "code": module.code, "segments": [list(s) for s in module.segments]},
        "constants": dict(dispatch.constants),
        "block": BLOCK_TYPES[block_type].nbytes,
    }
