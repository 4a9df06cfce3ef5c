"""The llama forward on NumPy arrays against transformers (tests/goldens/tiny_llama.py)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.llm import tiny
from webxpu.llm import head
from webxpu.llm.cache import Cache
from webxpu.llm.models import llama
from webxpu.llm.state import State

CONFIG, ARRAYS = tiny.model()
GOLDEN = tiny.golden()
PROMPT, GREEDY = GOLDEN["prompt"], GOLDEN["greedy"]
# Activations are float32 between ops: transformers' own float32 run is 1.0e-5 from the float64 golden, this one 0.94e-5
# on logits up to 13; the least margin between the two best tokens is 1.1e-2.
LOGIT_ABS = 5e-5


def new_cache(capacity: int = 128, ids: Any = PROMPT) -> Cache:
    cache = Cache.new(CONFIG, capacity, empty=np.zeros, put=lambda a: a)
    cache.history[: len(ids)] = ids
    return cache


def feed(cache: Cache, position: int, rows: int, size: int, *, parts: int = 1, weights: Any = ARRAYS) -> np.ndarray:
    cache.state[:] = State(position=position, rows=rows, capacity=cache.capacity).to_words()
    return np.asarray(llama.forward(CONFIG, weights, cache, rows=size, parts=parts))


def scores(cache: Cache, x: np.ndarray) -> np.ndarray:
    return np.asarray(head.logits(CONFIG, ARRAYS, cache, x))


@pytest.mark.parametrize("chunks", [[(70, 256)], [(64, 64), (6, 16)], [(16, 16)] * 4 + [(6, 16)], [(69, 256), (1, 1)]])
def test_the_logits_after_a_prompt_are_transformers_however_it_is_cut(chunks: list[tuple[int, int]]) -> None:
    cache, position = new_cache(), 0
    for rows, size in chunks:
        x = feed(cache, position, rows, size)
        position += rows
    np.testing.assert_allclose(scores(cache, x), GOLDEN["logits"][0], rtol=0, atol=LOGIT_ABS)


@pytest.mark.parametrize("parts", [1, 4, 16])
def test_greedy_decoding_gives_transformers_ids_and_logits(parts: int) -> None:
    cache = new_cache()
    x = feed(cache, 0, 70, 256)
    for step, golden in enumerate(GOLDEN["logits"]):
        np.testing.assert_allclose(scores(cache, x), golden, rtol=0, atol=LOGIT_ABS)
        head.choose(CONFIG, ARRAYS, cache, x, greedy=True)
        assert cache.history[70 + step] == GREEDY[step]
        x = llama.forward(CONFIG, ARRAYS, cache, rows=1, parts=parts)
    assert State.from_words(cache.state).position == 69 + len(GREEDY)


def test_a_stop_id_freezes_the_sequence() -> None:
    cache = new_cache()
    x = feed(cache, 0, 70, 256)
    cache.state[:] = State(position=0, rows=70, capacity=128, stops=[int(GREEDY[1])]).to_words()
    for _ in range(2):
        head.choose(CONFIG, ARRAYS, cache, x, greedy=True)
        x = llama.forward(CONFIG, ARRAYS, cache, rows=1, parts=1)
    kept = cache.history.copy(), cache.state.copy(), [layer.copy() for layer in cache.layers]
    for _ in range(3):
        x = llama.forward(CONFIG, ARRAYS, cache, rows=1, parts=1)
        head.choose(CONFIG, ARRAYS, cache, x, greedy=True)
    state = State.from_words(cache.state)
    assert (state.done, state.position, state.step) == (True, 71, 2)
    np.testing.assert_array_equal(cache.history, kept[0])
    np.testing.assert_array_equal(cache.state, kept[1])
    for layer, before in zip(cache.layers, kept[2], strict=True):
        np.testing.assert_array_equal(layer, before)


def test_keys_and_values_past_the_sequence_are_never_read() -> None:
    cache = new_cache()
    for layer in cache.layers:
        layer[:] = np.nan
    np.testing.assert_allclose(scores(cache, feed(cache, 0, 70, 256)), GOLDEN["logits"][0], rtol=0, atol=LOGIT_ABS)
    cache.layers[1][0, 0, 3] = np.nan  # the check above would see it: a key inside the sequence does reach the logits
    assert np.isnan(scores(cache, feed(cache, 69, 1, 1))).all()


def test_pages_may_lie_anywhere() -> None:
    cache = new_cache()
    cache.pages[:] = [1, 0]
    feed(cache, 0, 64, 64)
    x = feed(cache, 64, 6, 16, parts=1)
    np.testing.assert_allclose(scores(cache, x), GOLDEN["logits"][0], rtol=0, atol=LOGIT_ABS)


def test_the_last_token_decides_which_row_the_head_reads() -> None:
    cache = new_cache()
    one_less = feed(cache, 0, 69, 256)
    last = scores(cache, one_less)
    assert np.abs(last - GOLDEN["logits"][0]).max() > 0.1


def test_sampling_draws_the_same_ids_for_the_same_seed_and_others_for_another() -> None:
    def draw(seed: int) -> list[int]:
        cache = new_cache()
        x = feed(cache, 0, 70, 256)
        cache.state[:] = State(position=0, rows=70, capacity=128, temperature=1.0, seed=seed).to_words()
        for _ in range(8):
            head.choose(CONFIG, ARRAYS, cache, x, greedy=False)
            x = llama.forward(CONFIG, ARRAYS, cache, rows=1, parts=1)
        return cache.history[70:78].tolist()

    assert draw(7) == draw(7)
    assert draw(7) != draw(8)
    assert draw(7) != GREEDY[:8].tolist()
