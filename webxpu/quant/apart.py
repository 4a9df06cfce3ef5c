"""Weights whose codes and scales are two arrays: our own formats, as the ops named after them take them."""

from __future__ import annotations

from dataclasses import dataclass

from webxpu.gpu.op import check
from webxpu.gpu.plan import Spec
from webxpu.quant.q4g128 import GROUP


@dataclass(frozen=True)
class Apart:
    """A format. `codes` are in a word, `load` in a load of 16 bytes; a scale is for `group` columns, or a whole row."""

    name: str
    codes: int
    group: int | None = None

    @property
    def load(self) -> int:
        return 4 * self.codes

    def words(self, k: int) -> int:
        """Words of a row of `k` codes."""
        return -(-k // self.codes)

    def scale_shape(self, n: int, k: int) -> tuple[int, ...]:
        """The shape of the scales of `n` rows."""
        return (n,) if self.group is None else (n, -(-k // self.group))

    def row_bytes(self, k: int) -> tuple[int, int]:
        """Bytes of a row of codes, and of its scales."""
        return 4 * self.words(k), 4 * self.scale_shape(1, k)[-1]

    def part(self, k: int) -> str:
        """The part in `kernels/_with/weights/` that reads it: `_ragged` where a row is no whole number of loads."""
        return f"apart/{self.name}" + ("_ragged" if k % self.load else "")

    def check(self, op_name: str, weight: Spec, scale: Spec, k: int, suffix: str = "") -> int:
        """The number of rows. Raises ShapeError unless codes and scales are those of rows of `k` columns."""
        words = self.words(k)
        fits = weight.dtype == "uint32" and len(weight.shape) == 2 and weight.shape[1] == words
        check(fits, op_name, f"weight{suffix}", f"uint32[N, {words}] for K = {k}", weight)
        wanted = Spec(self.scale_shape(weight.shape[0], k), "float32")
        check(scale == wanted, op_name, f"scale{suffix}", str(wanted), scale)
        return weight.shape[0]


Q8 = Apart("q8", 4)
Q4G128 = Apart("q4g128", 8, GROUP)
