"""Block weights whose blocks are no whole number of words, split into planes by one pass over each chunk of a file."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from webxpu.gpu.kernels import resolve
from webxpu.gpu.op import check, op
from webxpu.gpu.plan import Dispatch, Plan, Spec, arg, fold
from webxpu.gpu.target import Gpu
from webxpu.quant.ggml import BLOCK_TYPES, planes_nbytes, split_blocks

# Blocks that a workgroup moves: two a thread.
_GROUP_BLOCKS = 128


@op(writes=("stored",))
def split_planes(raw: NDArray[np.uint32], stored: NDArray[np.uint32], span: NDArray[np.uint32], *, type: str) -> None:
    """Moves a chunk of blocks into its place in the planes: all codes first, then all float16 scales.

    raw     (words,) uint32: the chunk's blocks as they lie in the file, padded to whole words
    stored  (words,) uint32, written: both planes of the whole tensor, see `to_stored`; the rest stays as it is
    span    (4,) uint32: first block of the chunk within its piece of the file, blocks in the chunk, blocks of the whole
            tensor, first block of the piece within the tensor
    type    a block type with planes

    Raises ShapeError.
    """
    block = BLOCK_TYPES[type]
    first, count, total, target = (int(v) for v in span)
    blocks = raw.view(np.uint8)[: count * block.nbytes].reshape(count, block.nbytes)
    moved = split_blocks(type, blocks)
    codes, scales = np.split(stored.view(np.uint8), [planes_nbytes(type, total)[0]])
    place = slice(target + first, target + first + count)
    codes[: total * (block.nbytes - 2)].reshape(total, -1)[place] = moved[0]
    scales[: total * 2].reshape(total, 2)[place] = moved[1]


@split_planes.spec
def _(raw: Spec, stored: Spec, span: Spec, *, type: str) -> tuple[Spec, ...]:
    planes = sorted(name for name, block in BLOCK_TYPES.items() if block.planes)
    check(type in planes, "split_planes", "type", f"one of {', '.join(planes)}", repr(type))
    for name, spec in (("raw", raw), ("stored", stored)):
        check(spec.dtype == "uint32" and len(spec.shape) == 1, "split_planes", name, "uint32 of shape (words,)", spec)
    check(span == Spec((4,), "uint32"), "split_planes", "span", "uint32[4]", span)
    return ()


@split_planes.plan
def _(gpu: Gpu, outputs: Sequence[Spec], raw: Spec, stored: Spec, span: Spec, *, type: str) -> Plan:
    block = BLOCK_TYPES[type]
    # A pair of blocks shares a word of the scales, so a chunk that starts at an odd block needs one thread more.
    groups = fold(-(-(raw.nbytes // block.nbytes + 1) // _GROUP_BLOCKS))
    constants = {"CODE_WORDS": (block.nbytes - 2) // 4, "SCALE_AT": block.halves[0] // 2}
    kernel = resolve(gpu, "split_planes")
    return Plan([Dispatch(kernel, constants, [arg(0), arg(1, "read_write"), arg(2, "uniform")], groups)])
