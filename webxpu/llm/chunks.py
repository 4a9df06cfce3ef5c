"""How a prompt is cut into the sizes that programs exist for."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

# What a chunk costs besides its rows (its weights are read once more), counted in rows.
CHUNK_COST_ROWS = 16


@dataclass(frozen=True)
class Chunk:
    """A run of a prefill program: `rows` tokens from `start` on in a program of `size` rows."""

    start: int
    rows: int
    size: int


def plan_chunks(start: int, count: int, sizes: Sequence[int]) -> list[Chunk]:
    """How `count` tokens from position `start` on are fed: the cheapest mix of program sizes, largest first. The last
    chunk is padded."""
    descending = tuple(sorted(sizes, reverse=True))
    largest = descending[0]
    chunks = []
    for size in (largest,) * (count // largest) + _cheapest(count % largest, descending):
        rows = min(size, count)
        chunks.append(Chunk(start, rows, size))
        start, count = start + rows, count - rows
    return chunks


@functools.cache
def _cheapest(rows: int, sizes: tuple[int, ...]) -> tuple[int, ...]:
    if rows <= 0:
        return ()
    options = [(size, *_cheapest(rows - size, sizes)) for size in sizes]
    return min(options, key=lambda mix: sum(mix) + CHUNK_COST_ROWS * len(mix))
