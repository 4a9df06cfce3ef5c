"""What the GPU remembers of conversations: keys and values in pages, and of the one that runs its ids and state."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from webxpu.llm.config import Config
from webxpu.llm.state import WORDS
from webxpu.ops.cache import PAGE_TOKENS


@dataclass(frozen=True)
class Cache:
    """Arrays of the sequence that runs, as ops take them: NumPy arrays for the reference, tensors on a device.

    capacity  C, tokens that a sequence may have in the cache
    layers   one (P, 2, 64, G, D) float32 a layer: page, key or value, slot, kv head, width; pages of all sequences
    pages    (ceil(C / 64),) int32: page of position p is pages[p / 64]
    history  (C,) int32: history[(evicted + p) % C] is the id at position p
    state    (64,) uint32: what changes each step
    sinks    tokens that a rolling window never drops; 0 where it does not roll
    tables   one (C, D/2, 2) float32 a layer: cos and sin of every position; layers of one rope share theirs
    """

    capacity: int
    layers: Sequence[Any]
    pages: Any
    history: Any
    state: Any
    tables: Sequence[Any]
    sinks: int = 0

    @property
    def keys(self) -> str:
        """Whether keys lie "roped" by their position, or "unroped", so that pages can move to others."""
        return "unroped" if self.sinks else "roped"

    @property
    def rolled(self) -> list[Any]:
        """What the ops that end a step take besides, where the window rolls: the page table."""
        return [self.pages] if self.sinks else []

    @classmethod
    def new(
        cls,
        config: Config,
        capacity: int,
        *,
        empty: Callable[[tuple[int, ...], str], Any],
        put: Callable[[Any], Any],
        sinks: int = 0,
        sequences: int = 1,
    ) -> Cache:
        """An empty cache for `capacity` tokens a sequence, and pages for as many sequences; `empty` makes zeros and
        `put` keeps an array where the ops run."""
        pages = -(-capacity // PAGE_TOKENS)
        shape = (pages * sequences, 2, PAGE_TOKENS, config.kv_heads, config.head_dim)
        return cls(
            capacity=capacity,
            layers=[empty(shape, "float32") for _ in range(config.layers)],
            pages=put(np.arange(pages, dtype=np.int32)),
            history=empty((capacity,), "int32"),
            state=empty((WORDS,), "uint32"),
            tables=_tables(config, capacity, put),
            sinks=sinks,
        )

    def tensors(self) -> list[Any]:
        return [
            *self.layers,
            self.pages,
            self.history,
            self.state,
            *{id(table): table for table in self.tables}.values(),
        ]


def _tables(config: Config, capacity: int, put: Callable[[Any], Any]) -> list[Any]:
    made: dict[bool, Any] = {}
    for layer in range(config.layers):
        if config.rope_is_local(layer) not in made:
            made[config.rope_is_local(layer)] = put(config.rope_table(layer, capacity))
    return [made[config.rope_is_local(layer)] for layer in range(config.layers)]
