"""What choosing a token reads besides scores and state, on the GPU: made when a program first needs it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from webxpu.llm.sampler import MAX_BIASES
from webxpu.ops.mask import WORD_BITS


class Tables:
    """Tables of one engine, each made once.

    bias_ids, bias_values   (MAX_BIASES,) int32 and float32, see `webxpu.ops.penalize`
    dry_ids, dry_values     (C,) int32 and float32
    mask                    (ceil(V / 32),) uint32, see `webxpu.ops.mask`
    """

    def __init__(self, vocab: int, capacity: int, empty: Callable[[tuple[int, ...], str], Any]) -> None:
        self.vocab = vocab
        self.capacity = capacity
        self._empty = empty
        self._made: dict[Any, Any] = {}

    @property
    def bias_ids(self) -> Any:
        return self._table("bias_ids", (MAX_BIASES,), "int32")

    @property
    def bias_values(self) -> Any:
        return self._table("bias_values", (MAX_BIASES,), "float32")

    @property
    def dry_ids(self) -> Any:
        return self._table("dry_ids", (self.capacity,), "int32")

    @property
    def dry_values(self) -> Any:
        return self._table("dry_values", (self.capacity,), "float32")

    @property
    def mask(self) -> Any:
        return self._table("mask", (-(-self.vocab // WORD_BITS),), "uint32")

    def logprobs(self, most: int) -> Any:
        """(C, 1 + 2 * most) float32, the ring of `webxpu.ops.logprobs`."""
        return self._table(most, (self.capacity, 1 + 2 * most), "float32")

    def all(self) -> list[Any]:
        return list(self._made.values())

    def _table(self, name: Any, shape: tuple[int, ...], dtype: str) -> Any:
        if name not in self._made:
            self._made[name] = self._empty(shape, dtype)
        return self._made[name]
