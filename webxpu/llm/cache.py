"""What the GPU remembers of conversations: keys and values in pages, and of the one that runs its ids and state."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from webxpu.llm.config import Config
from webxpu.llm.state import WORDS
from webxpu.ops.cache import PAGE_TOKENS
from webxpu.quant.kv import kv_spec


@dataclass(frozen=True)
class Cache:
    """Arrays of the sequence that runs, as ops take them: NumPy arrays for the reference, tensors on a device.

    capacity  C, tokens that a sequence may have in the cache
    layers   one (P, 2, 64, G, ...) a layer: page, key or value, slot, kv head, and its numbers as `kv` holds them;
             pages of all sequences
    pages    (ceil(C / 64),) int32: page of position p is pages[p / 64]
    history  (C,) int32, a ring: history[(evicted + p) % C] is the id at position p, but see `webxpu.llm.state.State`
    state    (64,) uint32: what changes each step
    sinks    tokens that a rolling window never drops; 0 where it does not roll
    kv       "f32", "f16" or "q8", see `webxpu.quant.kv`
    tables   one (C, D/2, 2) float32 a layer: cos and sin of every position; layers of one rope share theirs
    """

    capacity: int
    layers: Sequence[Any]
    pages: Any
    history: Any
    state: Any
    tables: Sequence[Any]
    sinks: int = 0
    kv: str = "f32"

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
        kv: str = "f32",
        sinks: int = 0,
        sequences: int = 1,
    ) -> Cache:
        """An empty cache for `capacity` tokens a sequence, and pages for as many sequences; `empty` makes zeros and
        `put` keeps an array where the ops run. Raises Unsupported for a head that `kv` can't hold."""
        pages = -(-capacity // PAGE_TOKENS)
        layer = kv_spec(kv, pages * sequences, config.kv_heads, config.head_dim)
        return cls(
            capacity=capacity,
            layers=[empty(layer.shape, layer.dtype) for _ in range(config.layers)],
            pages=put(np.arange(pages, dtype=np.int32)),
            history=empty((capacity,), "int32"),
            state=empty((WORDS,), "uint32"),
            tables=_tables(config, capacity, put),
            sinks=sinks,
            kv=kv,
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
