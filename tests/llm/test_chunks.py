"""A prompt is cut into prefill programs."""

from __future__ import annotations

import pytest

from webxpu.llm.chunks import CHUNK_COST_ROWS, Chunk, plan_chunks
from webxpu.llm.model import CHUNK_ROWS


@pytest.mark.parametrize(
    ("count", "sizes"),
    [
        (1, [16]),
        (16, [16]),
        (17, [16, 16]),
        (37, [64]),
        (64, [64]),
        (65, [64, 16]),
        (100, [64, 64]),
        (192, [64, 64, 64]),
        (193, [256]),
        (256, [256]),
        (257, [256, 16]),
        (300, [256, 64]),
        (1000, [256, 256, 256, 256]),
    ],
)
def test_the_cheapest_mix_of_programs_is_taken_largest_first(count: int, sizes: list[int]) -> None:
    assert [chunk.size for chunk in plan_chunks(0, count, CHUNK_ROWS)] == sizes


@pytest.mark.parametrize("start", [0, 7, 64, 1000])
def test_chunks_cover_every_token_once_and_only_the_last_is_padded(start: int) -> None:
    for count in range(1, 600):
        chunks = plan_chunks(start, count, CHUNK_ROWS)
        position = start
        for chunk in chunks:
            assert chunk.start == position
            position += chunk.rows
        assert position == start + count
        assert all(chunk.rows == chunk.size for chunk in chunks[:-1])
        assert 1 <= chunks[-1].rows <= chunks[-1].size


def test_no_other_mix_is_cheaper() -> None:
    costs = {0: 0}
    for count in range(1, 600):
        costs[count] = min(size + CHUNK_COST_ROWS + costs[max(0, count - size)] for size in CHUNK_ROWS)
        assert sum(c.size + CHUNK_COST_ROWS for c in plan_chunks(0, count, CHUNK_ROWS)) == costs[count], count


def test_one_size_alone_and_sizes_in_any_order_will_do() -> None:
    assert [(c.start, c.rows, c.size) for c in plan_chunks(5, 37, [16])] == [(5, 16, 16), (21, 16, 16), (37, 5, 16)]
    assert plan_chunks(0, 80, [16, 64]) == plan_chunks(0, 80, [64, 16]) == [Chunk(0, 64, 64), Chunk(64, 16, 16)]


def test_a_very_long_prompt_is_planned_at_once() -> None:
    chunks = plan_chunks(0, 131_072 + 5, CHUNK_ROWS)
    assert len(chunks) == 513
    assert chunks[-1] == Chunk(131_072, 5, 16)
