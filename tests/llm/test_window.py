"""A window that rolls: its ids against a decoder that keeps its keys in plain lists, and what turns do to it."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import numpy as np
import pytest

from tests.goldens import tiny_engine
from tests.llm import tiny
from tests.llm.numpy_device import ConversationOnNumpy, numpy_engine
from webxpu import ops
from webxpu.errors import ContextOverflow
from webxpu.llm.constraints import Candidates
from webxpu.llm.generate import Generation
from webxpu.llm.host_sampler import penalized
from webxpu.llm.sampler import Sampling

CONFIG, W = tiny.model()[0], tiny.dense()
PROMPT = tiny.golden()["prompt"].tolist()
CAPACITY, SINKS = 192, 64


def new(**options: Any) -> ConversationOnNumpy:
    return numpy_engine(CONFIG, W, CAPACITY, sinks=SINKS, **options)


def run(sequence: ConversationOnNumpy, ids: list[int] = PROMPT, **options: Any) -> Generation:
    async def collect() -> Generation:
        generation = sequence.generate(ids, **options)
        async for _ in generation:
            pass
        return generation

    return asyncio.run(collect())


class Lists:
    """The llama decoder one token at a time. Keys and values lie in lists, of which the oldest 64 behind the sinks go
    where the window is full; a key's position is its place in the list."""

    def __init__(self) -> None:
        self.kept: list[list[tuple[np.ndarray, np.ndarray]]] = [[] for _ in range(CONFIG.layers)]

    def __call__(self, token: int) -> np.ndarray:
        c = CONFIG
        x = W["embedding"][token].astype(np.float64)
        for i, kept in enumerate(self.kept):
            if len(kept) == CAPACITY:
                del kept[SINKS : SINKS + 64]
            qkv = (W[f"{i}.qkv"] @ self.norm(x, W[f"{i}.attention_gain"])).reshape(-1, c.head_dim)
            q, k, v = np.split(qkv, [c.heads, c.heads + c.kv_heads])
            kept.append((k, v))
            keys, values = (np.array(part) for part in zip(*kept, strict=True))  # (S,G,D)
            keys, q = self.turned(keys, np.arange(len(kept))), self.turned(q[None], np.array([len(kept) - 1]))[0]
            heads = []
            for head in range(c.heads):
                group = head // (c.heads // c.kv_heads)
                scores = keys[:, group] @ q[head] / np.sqrt(c.head_dim)
                weights = np.exp(scores - scores.max())
                heads.append(weights @ values[:, group] / weights.sum())
            x = x + W[f"{i}.attention_out"] @ np.concatenate(heads)
            gate, up = np.split(W[f"{i}.gate_up"] @ self.norm(x, W[f"{i}.ffn_gain"]), 2)
            x = x + W[f"{i}.down"] @ (gate / (1 + np.exp(-gate)) * up)
        return np.asarray(W["head"] @ self.norm(x, W["head_gain"]))

    @staticmethod
    def norm(x: np.ndarray, gain: np.ndarray) -> np.ndarray:
        return np.asarray(x / np.sqrt((x * x).mean() + CONFIG.rms_eps) * gain)

    @staticmethod
    def turned(x: np.ndarray, positions: np.ndarray) -> np.ndarray:
        table = ops.rope_table(CAPACITY, CONFIG.head_dim, base=CONFIG.rope_base)
        return np.asarray(ops.rope(x.astype(np.float32), positions.astype(np.int32), table, pairs=CONFIG.rope_pairs))


def test_600_tokens_through_a_window_of_192_are_those_of_keys_in_lists() -> None:
    one = new()
    done = run(one, max_tokens=600)
    assert done.ids == json.loads(tiny_engine.FILE.read_text("utf-8"))["window"]  # what the GPU is held to
    assert (len(done.ids), done.finish_reason) == (600, "length")
    assert one.ledger.evicted == 512  # 670 - 512 = 158 of 192
    lists, near = Lists(), 0
    for token in PROMPT[:-1]:
        lists(token)
    for token, follows in zip([PROMPT[-1], *done.ids], done.ids, strict=False):
        scores = lists(token)
        best = int(scores.argmax())
        if best != follows:  # a tie within rounding, or wrong
            near += 1
            assert scores[best] - scores[follows] < 1e-3
    assert near <= 3


def test_until_a_page_is_dropped_the_ids_are_those_of_a_plain_cache() -> None:
    plain = numpy_engine(CONFIG, W, 256)
    assert run(new(), max_tokens=120).ids == run(plain, max_tokens=120).ids


@pytest.mark.parametrize("kv", ["f16", "q8"])
def test_every_kind_of_cache_rolls(kv: str) -> None:
    one = new(kv=kv)
    done = run(one, max_tokens=200)
    assert len(done.ids) == 200
    assert one.cache.layers[0].dtype == {"f16": np.float16, "q8": np.uint32}[kv]
    assert one.ledger.evicted == 128


def test_a_conversation_goes_on_in_the_window_that_rolled() -> None:
    one = new()
    first = run(one, max_tokens=150)
    assert one.ledger.evicted == 64
    longer = [*PROMPT, *first.ids, 3]
    assert run(one, longer, max_tokens=1).reused_tokens == len(longer) - 2
    whole = new()
    run(whole, max_tokens=200)
    # The same ids in one turn: only a program of 16 rows fed the last two.
    assert one.ledger.ids == longer[: len(one.ledger.ids)]
    assert one.ledger.evicted == 64


def test_a_reply_without_a_limit_goes_on_past_the_capacity() -> None:
    async def some() -> ConversationOnNumpy:
        one = new()
        generation = one.generate(PROMPT)
        async for _ in generation:
            if len(generation.ids) > 300:
                generation.abort()
        assert generation.finish_reason == "abort"
        return one

    one = asyncio.run(some())
    assert len(one.ledger.ids) - one.ledger.evicted <= CAPACITY
    assert one.ledger.evicted > 128
    again = run(one, [*one.ledger.ids, 5], max_tokens=4)
    assert again.reused_tokens == len(one.ledger.ids) - 4


def test_a_long_prompt_drops_what_is_old_and_is_fed_behind_it() -> None:
    one = new()
    first = run(one, max_tokens=100)
    longer = [*PROMPT, *first.ids, *range(60)]
    done = run(one, longer, max_tokens=4)
    assert done.reused_tokens == 169
    assert one.ledger.evicted == 64
    lists = Lists()
    for token in longer[:169]:
        lists(token)
    for kept in lists.kept:
        del kept[SINKS : SINKS + 64]
    for token in longer[169:]:
        scores = lists(token)
    assert done.ids[0] == int(scores.argmax())


def test_a_prompt_that_does_not_fit_behind_the_sinks_is_refused() -> None:
    one = new()
    run(one, max_tokens=100)
    with pytest.raises(ContextOverflow):
        one.generate([*one.ledger.ids, *range(130)])
    with pytest.raises(ContextOverflow):
        new().generate([1] * 192)


def test_a_prompt_that_went_on_elsewhere_begins_behind_the_sinks() -> None:
    one = new()
    run(one, max_tokens=150)
    other = [*PROMPT[:66], 1, 2, 3]
    done = run(one, other, max_tokens=8)
    assert (done.reused_tokens, one.ledger.evicted) == (64, 0)
    assert done.ids == run(new(), other, max_tokens=8).ids


def test_two_conversations_roll_without_touching_each_other() -> None:
    async def both() -> tuple[list[int], list[int]]:
        one = new(sequences=2)
        two = one.another()
        run_one, run_two = one.generate(PROMPT, max_tokens=200), two.generate(PROMPT[:66], max_tokens=200)
        for generation in (run_one, run_two):
            await anext(generation)
        async for _ in run_one:
            pass
        async for _ in run_two:
            pass
        return run_one.ids, run_two.ids

    assert asyncio.run(both()) == (run(new(), max_tokens=200).ids, run(new(), PROMPT[:66], max_tokens=200).ids)


def test_a_window_rolls_in_steps_as_in_the_loop() -> None:
    class All:
        def allowed(self, prefix: Any) -> None:
            return None

    class Best:
        def pick(self, logits: np.ndarray, ids: Any, allowed: Any = None) -> int:
            return int(logits.argmax())

    loop = run(new(), max_tokens=200)
    for options in ({"constraint": All()}, {"sampler": Best()}):
        one = new()
        assert run(one, max_tokens=200, **options).ids == loop.ids
        assert one.ledger.evicted == 128
        assert run(one, [*PROMPT, *loop.ids], max_tokens=1).reused_tokens == len(PROMPT) + 199


def test_ids_that_are_forced_roll_the_window_too() -> None:
    class Count:
        def allowed(self, prefix: Any) -> list[int]:
            return [len(prefix) % 300]

    one = new()
    done = run(one, max_tokens=150, constraint=Count())
    assert done.ids == list(range(150))
    assert one.ledger.evicted == 64


def test_penalties_look_back_as_far_as_the_window_is_long_also_once_it_rolled() -> None:
    sampling = Sampling(repetition_penalty=1.3, frequency_penalty=0.2, no_repeat_ngram_size=2, logit_bias={9: 2.0})
    options = {name: getattr(sampling, name) for name in vars(sampling) if getattr(sampling, name) is not None}

    class Newest:
        def pick(self, logits: np.ndarray, ids: Any, allowed: Any = None) -> int:
            return int(penalized(logits, ids[-CAPACITY:], sampling).argmax())

    done, want = run(new(), max_tokens=260, **options), run(new(), max_tokens=260, sampler=Newest())
    assert done.ids == want.ids
    pairs = list(zip(done.ids, done.ids[1:], strict=False))
    assert all(pair not in pairs[max(0, i - CAPACITY + 2) : i] for i, pair in enumerate(pairs))
    assert any(pair in pairs[:i] for i, pair in enumerate(pairs))  # further back they came already


def test_a_generation_that_is_interrupted_before_its_first_step_leaves_the_window_as_it_was() -> None:
    async def interrupted() -> tuple[ConversationOnNumpy, list[int]]:
        one = new(sequences=2)
        first = one.generate(PROMPT, max_tokens=200)
        async for _ in first:
            pass
        longer = [*PROMPT, *first.ids, 3]
        async for _ in one.another().generate(PROMPT, max_tokens=1):
            pass  # its window did not roll
        left = one.generate(longer, max_tokens=4, constraint=Candidates(CONFIG.vocab, lambda prefix, token: True))
        await left._take_turn()
        await left.stop()
        return one, longer

    one, longer = asyncio.run(interrupted())
    assert (one.ledger.ids, one.ledger.evicted) == (longer[:-2], 128)
    plain = new()
    run(plain, max_tokens=200)
    assert run(one, longer, max_tokens=8).ids == run(plain, longer, max_tokens=8).ids
