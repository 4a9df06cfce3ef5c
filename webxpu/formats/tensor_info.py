"""Where a tensor lies in a model file, whatever the file's format."""

from __future__ import annotations

from dataclasses import dataclass

from webxpu.errors import Unsupported
from webxpu.gpu.plan import Spec
from webxpu.quant.ggml import is_block_type


@dataclass(frozen=True)
class TensorInfo:
    """One row of a tensor table. `start` counts from the beginning of `file`; `nbytes` is 0 for an unknown type."""

    name: str
    type: str  # the format's own name in lower case: `f32`, `bf16`, `q4_1`, `i64`, or `type 99`
    shape: tuple[int, ...]  # row-major: a weight is (N, K)
    start: int
    nbytes: int
    file: str

    def spec(self) -> Spec:
        """The shape and dtype to compute with. Raises Unsupported for a type that webxpu has no kernels for."""
        if self.type == "f32":
            return Spec(self.shape, "float32")
        if is_block_type(self.type):
            return Spec(self.shape, self.type)
        raise Unsupported(f"{self.file}: tensor {self.name!r} has type {self.type}, which webxpu cannot compute with")
