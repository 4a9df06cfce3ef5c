"""Where a tensor lies in a model file, whatever the file's format."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from webxpu.errors import Unsupported
from webxpu.gpu.plan import Spec
from webxpu.quant.ggml import is_block_type
from webxpu.quant.rows import ROW_TYPES


@dataclass(frozen=True)
class TensorInfo:
    """One row of a tensor table. `start` counts from the beginning of `file`; `nbytes` is 0 for an unknown type.

    scales   for types of `webxpu.quant.rows`: the file and the place in it of the scales, where they do not follow the
             codes
    """

    name: str
    type: str  # the format's own name in lower case: `f32`, `bf16`, `q4_1`, `i64`, or `type 99`
    shape: tuple[int, ...]  # row-major: a weight is (N, K)
    start: int
    nbytes: int
    file: str
    scales: tuple[str, int] | None = None

    def spec(self) -> Spec:
        """The shape and dtype to compute with. Raises Unsupported for a type that webxpu has no kernels for."""
        if self.type == "f32":
            return Spec(self.shape, "float32")
        if is_block_type(self.type):
            return Spec(self.shape, self.type)
        raise Unsupported(f"{self.file}: tensor {self.name!r} has type {self.type}, which webxpu cannot compute with")

    def planes(self) -> tuple[TensorInfo, ...]:
        """The runs of bytes that it is of, as tensors: its codes and its scales, or itself."""
        kind = ROW_TYPES.get(self.type)
        if kind is None:
            return (self,)
        codes = math.prod(self.shape[:-1]) * kind.code_bytes(self.shape[-1])
        file, start = self.scales or (self.file, self.start + codes)
        return replace(self, nbytes=codes), replace(self, file=file, start=start, nbytes=self.nbytes - codes)
