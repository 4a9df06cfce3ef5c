"""Arrays too large to send: both sides make them from the index by one integer hash, and only parts are compared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from webxpu.cases.case import mix
from webxpu.gpu.kernels import Kernel, Variant
from webxpu.gpu.plan import Binding, Dispatch, Plan, Spec, flat_grid, in_chunks
from webxpu.gpu.target import Gpu


@dataclass(frozen=True)
class Fill:
    """A float32 array of values in [-amp, amp), amp a power of two, or a uint32 array of any words;
    kernels/_fill/kernel.wgsl makes the same on the GPU."""

    shape: tuple[int, ...]
    seed: int = 0
    amp: float = 1.0
    dtype: str = "float32"

    @property
    def size(self) -> int:
        return Spec(self.shape, self.dtype).size

    def at(self, indices: NDArray[np.int64]) -> NDArray[Any]:
        """The values at flat indices."""
        words = mix(indices.astype(np.uint32), self.seed)
        if self.dtype == "uint32":
            return words
        return ((words >> np.uint32(8)).astype(np.float32) / np.float32(2**23) - 1) * np.float32(self.amp)

    def rows(self, first: int, stop: int) -> NDArray[Any]:
        """Some rows: a part of the first axis."""
        width = self.size // self.shape[0]
        return self.at(np.arange(first * width, stop * width)).reshape(stop - first, *self.shape[1:])

    def plan(self, gpu: Gpu, target: Binding) -> Plan:
        """What makes the array on the GPU."""
        kernel = Kernel("_fill", Variant("kernel", "kernel"))
        whole = Dispatch(
            kernel,
            {"SEED": self.seed, "AMP": self.amp, "WORDS": int(self.dtype == "uint32")},
            [target],
            flat_grid(self.size),
        )
        return Plan(in_chunks(gpu, whole, self.size, [4], flat_grid, told=lambda first, _: {"FIRST": first}))
