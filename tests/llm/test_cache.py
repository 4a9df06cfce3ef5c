"""The ledger of what the cache holds, and the arrays of a cache."""

from __future__ import annotations

import numpy as np
import pytest

from webxpu.llm.cache import Cache, Ledger
from webxpu.llm.config import Config

CONFIG = Config("llama", 2, 32, 48, 4, 2, 8, 100, 10000.0, 1e-5, 4096)


@pytest.mark.parametrize(
    ("held", "prompt", "expected"),
    [
        ([], [1, 2, 3], 0),
        ([1, 2, 3], [1, 2, 3, 4, 5], 3),
        ([1, 2, 3], [1, 2, 9, 4], 2),
        ([1, 2, 3], [9, 2, 3], 0),
        ([1, 2, 3, 4], [1, 2], 1),
        ([1, 2, 3], [1, 2, 3], 2),
        ([7], [7], 0),
    ],
)
def test_the_common_prefix_is_reused_but_the_last_token_always_runs(
    held: list[int], prompt: list[int], expected: int
) -> None:
    assert Ledger(held).reusable(prompt) == expected


def test_while_a_prompt_is_written_only_its_reused_part_counts() -> None:
    ledger = Ledger([1, 2, 3, 4])
    ledger.begin([1, 2, 9, 9], 2)
    assert ledger.ids == [1, 2]
    ledger.commit([1, 2, 9, 9, 5])
    assert ledger.ids == [1, 2, 9, 9, 5]
    ledger.clear()
    assert ledger.ids == []


def test_a_ledger_does_not_change_with_the_callers_list() -> None:
    prompt = [1, 2, 3]
    ledger = Ledger()
    ledger.commit(prompt)
    prompt.append(4)
    assert ledger.ids == [1, 2, 3]


@pytest.mark.parametrize(("capacity", "pages"), [(1, 1), (63, 1), (64, 1), (65, 2), (200, 4)])
def test_a_cache_has_whole_pages_for_its_capacity(capacity: int, pages: int) -> None:
    cache = Cache.new(CONFIG, capacity, empty=np.zeros, put=lambda a: a)
    assert [layer.shape for layer in cache.layers] == [(pages, 2, 64, 2, 8)] * 2
    assert cache.pages.tolist() == list(range(pages))
    assert (cache.history.shape, cache.history.dtype) == ((capacity,), np.int32)
    assert (cache.state.shape, cache.state.dtype) == ((64,), np.uint32)
    assert [table.shape for table in cache.tables] == [(capacity, 4, 2)] * 2
