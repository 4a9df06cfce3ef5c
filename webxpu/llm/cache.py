"""What the GPU remembers of a conversation, and the host's record of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from webxpu.llm.config import Config
from webxpu.llm.state import WORDS
from webxpu.ops.cache import PAGE_TOKENS
from webxpu.ops.rope import rope_table


@dataclass(frozen=True)
class Cache:
    """Arrays of one sequence, as ops take them: NumPy arrays for the reference, tensors on a device.

    layers   one (P, 2, 64, G, D) float32 a layer: page, key or value, slot, kv head, width
    pages    (P,) int32: page of position p is pages[p / 64]
    history  (C,) int32: the id at every position
    state    (64,) uint32: what changes each step
    tables   one (C, D/2, 2) float32 a layer: cos and sin of every position; layers of one rope share theirs
    """

    capacity: int
    layers: Sequence[Any]
    pages: Any
    history: Any
    state: Any
    tables: Sequence[Any]

    @classmethod
    def new(
        cls, config: Config, capacity: int, *, empty: Callable[[tuple[int, ...], str], Any], put: Callable[[Any], Any]
    ) -> Cache:
        """An empty cache for `capacity` tokens; `empty` makes zeros and `put` keeps an array where the ops run."""
        pages = -(-capacity // PAGE_TOKENS)
        shape = (pages, 2, PAGE_TOKENS, config.kv_heads, config.head_dim)
        return cls(
            capacity=capacity,
            layers=[empty(shape, "float32") for _ in range(config.layers)],
            pages=put(np.arange(pages, dtype=np.int32)),
            history=empty((capacity,), "int32"),
            state=empty((WORDS,), "uint32"),
            tables=[put(rope_table(capacity, config.head_dim, base=config.rope_base))] * config.layers,
        )

    def tensors(self) -> list[Any]:
        return [
            *self.layers,
            self.pages,
            self.history,
            self.state,
            *{id(table): table for table in self.tables}.values(),
        ]


@dataclass
class Ledger:
    """The ids whose keys and values the cache holds for certain, from position 0 on."""

    ids: list[int] = field(default_factory=list)

    def reusable(self, ids: Sequence[int]) -> int:
        """How many leading tokens of a prompt need no work: the common prefix, but never the whole prompt, since its
        last token has to run to give the next one."""
        most = min(len(self.ids), len(ids) - 1)
        return next((i for i in range(most) if self.ids[i] != ids[i]), most)

    def begin(self, ids: Sequence[int], kept: int) -> None:
        """A prompt is being written behind its first `kept` ids: until it is done only those are certain."""
        assert list(ids[:kept]) == self.ids[:kept]
        self.ids = list(ids[:kept])

    def commit(self, ids: Sequence[int]) -> None:
        """These ids, from position 0 on, are in the cache."""
        self.ids = list(ids)

    def clear(self) -> None:
        self.ids = []
