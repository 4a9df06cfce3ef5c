"""Conversations of one engine, in an order and with options that a seed chooses: whatever went before, a reply has the
ids that it has in a fresh engine, and what the ledger says lies in the cache does."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from tests.llm import tiny
from tests.llm.numpy_device import ConversationOnNumpy, numpy_engine
from webxpu.llm.dry import Dry
from webxpu.llm.generate import Generation
from webxpu.llm.host_sampler import HostSampler
from webxpu.llm.ledger import Ledger
from webxpu.llm.sampler import Sampling
from webxpu.ops.cache import PAGE_TOKENS
from webxpu.quant import kv as kv_types

CONFIG, W = tiny.model()[0], tiny.dense()
PROMPT = tiny.golden()["prompt"].tolist()
# The largest error of a key or value that was fed in another chunk, as a part of the largest one: a code for q8.
TOLERANCE = {"f32": 1e-4, "f16": 2e-3, "q8": 2e-2}
ENDINGS = ("left alone", "stop id", "break", "cancel", "abort", "close")


class Odd:
    """Allows all, some or one id, by the prefix."""

    def allowed(self, prefix: Sequence[int]) -> Sequence[int] | None:
        turn = len(prefix) % 7
        if turn in (4, 5):
            return [(sum(prefix) * 7 + turn) % CONFIG.vocab]
        return None if turn == 3 else range(turn, CONFIG.vocab, 3)


class Script:
    """One seed's conversations: each has its text so far, and snapshots are shared."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        self.kv, self.capacity = self.draw.choice(["f32", "f16", "q8"]), self.draw.choice([128, 130])
        first = self.new(sequences=self.draw.choice([1, 2, 2]))
        self.conversations = [first, first.another(), first.another()]
        self.texts = [list(PROMPT) for _ in self.conversations]
        self.saved = [asyncio.run(first.save())]

    def new(self, **options: Any) -> ConversationOnNumpy:
        return numpy_engine(CONFIG, W, self.capacity, kv=self.kv, identity="tiny", **options)

    def prompt(self, index: int) -> list[int]:
        """Goes on with a text, or leaves one somewhere."""
        draw, text = self.draw, self.draw.choice([self.texts[index], *self.texts])
        if draw.random() < 0.3:
            text = text[: draw.randrange(len(text) + 1)]
        return [*text, *draw.choices(range(CONFIG.vocab), k=draw.choice([1, 2, 5, 20]))][-self.capacity + 10 :]

    def options(self) -> dict[str, Any]:
        choices = {
            "temperature": [0.0, 1.0, 2.0], "top_k": [0, 5, 400], "top_p": [1.0, 0.7],
            "min_p": [0.0, 0.05], "top_n_sigma": [0.0, 1.5], "repetition_penalty": [1.0, 1.3],
            "presence_penalty": [0.0, 0.5], "frequency_penalty": [0.0, 0.3], "no_repeat_ngram_size": [0, 0, 1, 2],
            "logit_bias": [{}, {7: -np.inf, self.draw.randrange(CONFIG.vocab): 9.0}], "logprobs": [0, 0, 3],
            "dry": [None, None, Dry(1.0, allowed_length=1)], "constraint": [None, None, None, Odd()],
            "prompt_lookup": [False, "auto"],
        }  # fmt: skip
        given: dict[str, Any] = {}
        for name, values in choices.items():
            if self.draw.random() < 0.4:
                given[name] = self.draw.choice(values)
        return given | {"seed": 2**64 - 1, "max_tokens": self.draw.choice([1, 3, 7, 7, 20, None])}

    async def act(self, index: int) -> None:
        one, prompt, what = self.conversations[index], self.prompt(index), self.draw.random()
        if what < 0.1:
            await one.prefill(prompt)
        elif what < 0.2:
            self.saved.append(await one.save())
        elif what < 0.3:
            await one.restore(self.draw.choice(self.saved))
        else:
            done = await self.replied(one, prompt)
            self.texts[index] = [*prompt, *done.ids]

    async def replied(self, one: ConversationOnNumpy, prompt: list[int]) -> Generation:
        options, on_host = self.options(), self.draw.random() < 0.1
        ending, steps = self.draw.choice(ENDINGS), self.draw.randrange(1, 5)
        if on_host:
            options["logprobs"] = 0

        def begun(where: ConversationOnNumpy) -> Generation:
            sampler = HostSampler(Sampling(temperature=0.7), seed=3) if on_host else None
            return where.generate(prompt, sampler=sampler, **options)

        want = await drained(begun(self.new()))
        if ending == "stop id":
            options["stop_ids"] = want.ids[-1:]
            want = await drained(begun(self.new()))
        done = begun(one)
        await ended(done, ending, steps)
        assert done.ids == want.ids[: len(done.ids)]
        if done.finish_reason not in ("abort", None):
            assert (done.ids, done.finish_reason) == (want.ids, want.finish_reason)
        assert len(done.logprobs) == (len(done.ids) if options.get("logprobs") else 0)
        return done

    def check(self) -> None:
        pool = self.conversations[0].engine.pool
        held = [0] * pool.pages
        for one in self.conversations:
            for page in one.ledger.table:
                held[page] += 1
            if one.running is None:
                self.compare(one.ledger, one.cache.layers)
        assert held == [pool.holds(page) for page in range(pool.pages)]

    def compare(self, ledger: Ledger, layers: Sequence[Any]) -> None:
        """What the cache holds of a conversation against a fresh one that is fed the same ids."""
        count, fresh = len(ledger.ids), self.new()
        assert len(ledger.table) == -(-count // PAGE_TOKENS)
        if not count:
            return
        asyncio.run(fresh.prefill(ledger.ids))
        for mine, other in zip(layers, fresh.cache.layers, strict=True):
            found, want = in_order(mine, ledger.table)[:count], in_order(other, fresh.ledger.table)[:count]
            assert np.abs(found - want).max() <= TOLERANCE[self.kv] * np.abs(want).max()


def in_order(layer: Any, table: Sequence[int]) -> np.ndarray:
    """The (S, 2, G, D) keys and values of the positions in some pages."""
    pages = np.asarray(layer)[table].swapaxes(1, 2)
    return kv_types.restored(pages.reshape(-1, *pages.shape[2:]))


async def drained(generation: Generation) -> Generation:
    async for _ in generation:
        await asyncio.sleep(0)  # others get their turn
    return generation


async def ended(generation: Generation, ending: str, steps: int) -> None:
    """Ends a generation after some steps, in one of the ways in which that can be done."""
    if ending in ("left alone", "stop id"):
        await drained(generation)
    elif ending == "break":
        async for _ in generation:
            await asyncio.sleep(0)
            steps -= 1
            if not steps:
                break
    elif ending == "close":
        await anext(generation, None)
        await generation.aclose()
    else:
        task = asyncio.ensure_future(drained(generation))
        for _ in range(steps):
            await asyncio.sleep(0)
        if ending == "abort":
            generation.abort()
        else:
            task.cancel()
        await asyncio.gather(task, return_exceptions=True)


@pytest.mark.parametrize("seed", range(3))
def test_replies_are_those_of_a_fresh_engine_whatever_went_before(seed: int) -> None:
    script = Script(seed)

    async def turn() -> None:
        await asyncio.gather(*map(script.act, script.draw.sample(range(3), 2)))

    for _ in range(7):
        asyncio.run(turn())
        script.check()
