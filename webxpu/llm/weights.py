"""Which tensors of a file make which weight of a model, and how their bytes reach the GPU or a NumPy array."""

from __future__ import annotations

import asyncio
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from webxpu.errors import FormatError, Unsupported
from webxpu.formats.converted import ChunkHashes, verified
from webxpu.formats.tensor_info import TensorInfo
from webxpu.formats.window import ReadRange
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
# Divisors of rope's frequencies in a GGUF file. No weight, but a part of the configuration.
ROPE_FACTORS = "rope_freqs.weight"
_MAX_FACTORS = 4096
_GAINS_IN_16_BITS = ("f16", "bf16")


@dataclass(frozen=True)
class Weight:
    """One weight as kernels read it: file tensors, their rows stacked in order.

    type    "float32" or a block type, that of all parts but of gains and biases: those are float32 in any case
    offset  what is added to every number: norms' gains of some families come without their 1
    """

    name: str
    type: str
    shape: tuple[int, ...]
    parts: tuple[TensorInfo, ...]
    offset: float = 0.0

    @property
    def widened(self) -> bool:
        """Whether its numbers are computed on their way, not copied: 16-bit gains and biases become float32, since
        kernels read no other type, and an offset is added."""
        stored = {part.type for part in self.parts}
        return self.type == "float32" and (self.offset != 0 or bool(stored & {*_GAINS_IN_16_BITS}))

    def widen(self, data: Sequence[bytes]) -> NDArray[np.float32]:
        """The numbers from the bytes of each part."""
        found = np.concatenate([_numbers(part, raw) for part, raw in zip(self.parts, data, strict=True)])
        if self.offset:  # -0 + 0 is another number
            found += np.float32(self.offset)
        return found.reshape(self.shape)


def _numbers(part: TensorInfo, data: bytes) -> NDArray[np.float32]:
    raw = np.frombuffer(data, np.uint8)
    return raw.view("<f4") if part.type == "f32" else dequantize(Blocks(part.type, part.shape, raw)).reshape(-1)


class Weights(dict[str, Weight]):
    """The weights of a model by its own names, filled by `models/<architecture>.py` from a file's tensor table."""

    def __init__(self, tensors: Mapping[str, TensorInfo], named: Callable[[str], str] = str) -> None:
        super().__init__()
        self._tensors = tensors
        self._named = named  # what the file calls a tensor, of the name that `take` is given
        self._left_out: set[str] = set()

    def has(self, name: str) -> bool:
        """Whether the file has a tensor."""
        return self._named(name) in self._tensors

    def take(
        self, name: str, parts: Mapping[str, tuple[int, ...]], *, offset: float = 0.0, one_type: bool = False
    ) -> None:
        """Makes weight `name` from file tensors, each with the shape it must have, their rows stacked: matrices (N, K)
        or (E, N, K), or vectors of gains or biases, to whose numbers `offset` is added.

        Matrices of different types make the weights `name.0`, `name.1`, ...: neighbours of one type together, see
        `runs`. Raises FormatError where a tensor is missing or has another shape, Unsupported for a type that no
        kernel reads, and for different types where `one_type` says that a kernel reads all at once.
        """
        infos = [self._find(tensor, shape) for tensor, shape in parts.items()]
        if len(infos[0].shape) == 1:
            self._take_vectors(name, infos, offset)
            return
        runs = [list(run) for _, run in itertools.groupby(infos, key=lambda info: info.type)]
        if one_type and len(runs) > 1:
            listed = ", ".join(f"{run[0].name} {run[0].type}" for run in runs)
            raise Unsupported(f"weights: tensors that one kernel reads must have one type, got {listed}")
        for i, run in enumerate(runs):
            k = run[0].shape[-1]
            rows = sum(math.prod(info.shape[:-1]) for info in run)
            own = name if len(runs) == 1 else f"{name}.{i}"
            self[own] = Weight(own, run[0].spec().dtype, (rows, k), tuple(run))

    def _take_vectors(self, name: str, infos: Sequence[TensorInfo], offset: float) -> None:
        for info in infos:
            if info.spec().dtype not in ("float32", *_GAINS_IN_16_BITS):
                rule = "f32, f16 or bf16, since it is no matrix"
                raise Unsupported(f"weights: {info.name} must be {rule}, got {info.type}")
        self[name] = Weight(name, "float32", (sum(info.shape[0] for info in infos),), tuple(infos), offset)

    def leave_out(self, name: str) -> None:
        """A tensor that something else than a weight is made of."""
        self._left_out.add(self._named(name))

    def refuse_unused(self) -> None:
        """Raises Unsupported for a tensor that no weight takes: leaving a bias out would be silently wrong."""
        used = {part.name for weight in self.values() for part in weight.parts} | self._left_out
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


async def rope_factors(
    tensors: Mapping[str, TensorInfo], reader: Callable[[str], ReadRange]
) -> NDArray[np.float32] | None:
    """The divisors of rope's frequencies that a GGUF file carries, for `Config.with_rope_factors`, or None.

    reader   reads the file of a name

    Raises FormatError where they are no float32 or are cut off.
    """
    info = tensors.get(ROPE_FACTORS)
    if info is None:
        return None
    if info.type != "f32":
        raise FormatError(f"weights: {info.name} must be f32, got {info.type}")
    if math.prod(info.shape) > _MAX_FACTORS:  # before all of it is read
        raise FormatError(f"weights: {info.name} must be at most {_MAX_FACTORS} numbers, got {list(info.shape)}")
    return np.frombuffer(await read_tensor(reader(info.file), info), "<f4")


def runs(weights: Mapping[str, Any], name: str) -> list[Any]:
    """What `Weights.take` made under a name: one weight, or one for each run of a type."""
    if name in weights:
        return [weights[name]]
    return [weights[f"{name}.{i}"] for i in itertools.takewhile(lambda i: f"{name}.{i}" in weights, itertools.count())]


def read_arrays(
    weights: Mapping[str, Weight], read: Callable[[TensorInfo], bytes]
) -> dict[str, NDArray[np.float32] | Blocks]:
    """The weights as the reference reads them, by the same names; `read` gives a file tensor's bytes."""
    arrays: dict[str, NDArray[np.float32] | Blocks] = {}
    for name, weight in weights.items():
        if weight.type == "float32":
            arrays[name] = weight.widen(list(map(read, weight.parts)))
            continue
        parts = [np.frombuffer(b"".join(map(read, part.planes())), np.uint8) for part in weight.parts]
        data = stacked(weight.type, weight.shape[-1], parts) if weight.type in ROW_TYPES else np.concatenate(parts)
        arrays[name] = Blocks(weight.type, weight.shape, data)
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
            row += math.prod(part.shape) // weight.shape[-1] if len(weight.shape) == 2 else part.shape[0]
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
        offset = row * (part.nbytes * weight.shape[-1] // math.prod(part.shape)) if len(weight.shape) == 2 else 4 * row
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
    hashes: Mapping[str, ChunkHashes] | None = None,
) -> None:
    """Streams the weights from their files into the tensors. No byte of them passes through Python, but of the gains
    that are widened: a few kilobytes a layer.

    hashes   by file, what it must hold

    Raises FormatError where a file holds something else or ends before a weight, FetchError.
    """
    known = hashes or {}
    files = {plane.file for weight in weights.values() for part in weight.parts for plane in part.planes()}
    alone = len(files) == 1

    def place_of(file: str) -> Source:
        return source if alone else source.sibling(file)

    def reader(file: str) -> ReadRange:
        read_range = place_of(file).reader(device.bridge)
        return verified(read_range, file, known[file]) if file in known else read_range

    await _widen(device, reader, weights, tensors)
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
                "hashes": _bridged(known[file]) if file in known else None,
                "onProgress": report,
            },
        )
        done += sum(piece["bytes"] for piece in wanted)


def _bridged(hashes: ChunkHashes) -> dict[str, Any]:
    return {"bytes": hashes.nbytes, "chunkBytes": hashes.chunk_bytes, "sha256": list(hashes.sha256)}


async def read_tensor(read_range: ReadRange, part: TensorInfo) -> bytes:
    """The bytes of a small tensor in its file. Raises FormatError where the file ends before them."""
    data, _ = await read_range(part.start, part.nbytes)
    if len(data) != part.nbytes:
        where = f"{part.file}: the data of {part.name!r} at byte {part.start}"
        raise FormatError(f"{where} must be {part.nbytes} bytes, got {len(data)} (bytes {data[:16].hex(' ')})")
    return bytes(data)


async def _widen(
    device: Device, reader: Callable[[str], ReadRange], weights: Mapping[str, Weight], tensors: Mapping[str, Tensor]
) -> None:
    """Reads the gains and biases that are computed on their way and writes them as float32."""

    async def read(weight: Weight) -> NDArray[np.uint8]:
        data = [await read_tensor(reader(part.file), part) for part in weight.parts]
        return weight.widen(data).view(np.uint8)

    gains = {name: weight for name, weight in weights.items() if weight.widened}
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
