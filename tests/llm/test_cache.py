"""The arrays of a cache."""

from __future__ import annotations

import numpy as np
import pytest

from webxpu.llm.cache import Cache
from webxpu.llm.config import Config

CONFIG = Config("llama", 2, 32, 48, 4, 2, 8, 100, 10000.0, 1e-5, 4096)


@pytest.mark.parametrize(("capacity", "pages"), [(1, 1), (63, 1), (64, 1), (65, 2), (200, 4)])
def test_a_cache_has_whole_pages_for_its_capacity(capacity: int, pages: int) -> None:
    cache = Cache.new(CONFIG, capacity, empty=np.zeros, put=lambda a: a)
    assert [layer.shape for layer in cache.layers] == [(pages, 2, 64, 2, 8)] * 2
    assert cache.pages.tolist() == list(range(pages))
    assert (cache.history.shape, cache.history.dtype) == ((capacity,), np.int32)
    assert (cache.state.shape, cache.state.dtype) == ((64,), np.uint32)
    assert [table.shape for table in cache.tables] == [(capacity, 4, 2)] * 2
