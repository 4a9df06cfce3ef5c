"""Prompt lookup: the verified step beside plain steps, what is counted of it, and when "auto" gives it up."""

from __future__ import annotations

import asyncio
from typing import Any

import numpy as np
import pytest

from tests.llm import tiny
from webxpu.errors import ShapeError
from webxpu.llm import head, models
from webxpu.llm.cache import Cache
from webxpu.llm.lookup import (
    DRAFTS,
    NGRAM,
    PROBATION_TOKENS,
    LookupRun,
    Speculation,
    check_lookup,
    holds,
    speculative_step,
)
from webxpu.llm.state import State

CONFIG = tiny.model()[0]
# Without attention the next token is a function of the last one, so that every reply comes to repeat itself.
FORGETFUL = {name: a * 0 if name.endswith("attention_out") else a for name, a in tiny.dense().items()}
PROMPT = tiny.golden()["prompt"].tolist()


def reply(weights: dict[str, Any], prompt: list[int], count: int, *, drafting: bool) -> tuple[list[int], State]:
    """`count` ids after a prompt by plain or by verified steps, and the state at their end."""
    model, capacity = models.find(CONFIG.architecture), 128
    cache = Cache.new(CONFIG, capacity, empty=np.zeros, put=np.array)
    cache.history[: len(prompt)] = prompt
    cache.state[:] = State(rows=len(prompt), capacity=capacity, ngram=NGRAM, drafts=DRAFTS).to_words()
    x = model.forward(CONFIG, weights, cache, rows=len(prompt), parts=1)
    head.choose(CONFIG, weights, cache, x, greedy=True)
    while State.from_words(cache.state).step < count:
        if drafting:
            speculative_step(model, CONFIG, weights, cache, 4)
        else:
            x = model.forward(CONFIG, weights, cache, rows=1, parts=4)
            head.choose(CONFIG, weights, cache, x, greedy=True)
    return cache.history[len(prompt) :][:count].tolist(), State.from_words(cache.state)


@pytest.mark.parametrize(
    ("weights", "prompt"),
    [(tiny.dense(), [5, 6, 7, 8] * 10), (FORGETFUL, PROMPT[:20])],
    ids=["drafts fail", "drafts hold"],
)
def test_verified_steps_give_the_ids_of_plain_ones(weights, prompt):
    plain, _ = reply(weights, prompt, 40, drafting=False)
    ids, state = reply(weights, prompt, 40, drafting=True)
    assert ids == plain
    seen = Speculation()
    seen.count([*prompt, *ids[:1]], ids[1:], 128)
    assert seen.steps == state.runs - 1  # the first id is the prompt's own
    assert seen.drafted > seen.accepted > 0
    assert (seen.steps < 25) is (weights is FORGETFUL)


def test_runs_are_counted_from_the_ids_alone():
    known, ids = [1, 2, 3, 4, 5, 1, 2], [3, 4, 9, 1, 2, 3, 4, 9, 1]
    seen = Speculation()
    seen.count(known, ids, 99)
    # Of the drafts 3 4 5 1 2 two held, before 1 and before 2 was nothing to draft, of 3 4 9 1 2 four were taken.
    assert seen == Speculation(steps=4, drafted=10, accepted=6)
    seen.count([7, 8, 7, 8], [], 99)
    assert seen.steps == 4


def test_drafts_end_at_the_capacity():
    seen = Speculation()
    seen.count([1, 2, 3, 4, 1, 2], [3], 7)
    assert seen == Speculation(steps=1, drafted=1, accepted=1)


@pytest.mark.parametrize(("tokens", "runs", "kept"), [(24, 12, True), (24, 13, False), (0, 0, False), (3, 1, True)])
def test_lookup_stays_where_a_run_gives_two_tokens(tokens, runs, kept):
    assert holds(tokens, runs) is kept


def test_what_rules_lookup_out_is_named():
    assert [check_lookup(wanted, None) for wanted in (False, True, "auto")] == [False, True, True]
    assert [check_lookup(wanted, "a temperature") for wanted in (False, "auto")] == [False, False]
    with pytest.raises(
        ShapeError, match=r"^generate: prompt_lookup must be False or 'auto' with a temperature, got True"
    ):
        check_lookup(True, "a temperature")
    for wrong in ("on", 1.5, None, 1):
        with pytest.raises(ShapeError, match=rf"^generate: prompt_lookup must be False, True or 'auto', got {wrong!r}"):
            check_lookup(wrong, None)


class Script:
    """A loop that gives fixed batches."""

    def __init__(self, *batches: list[int], gpu_ms: float | None = None) -> None:
        self.batches, self.reason, self.closed, self.gpu_ms = list(batches), None, False, gpu_ms

    async def next(self) -> list[int]:
        assert not self.closed
        ids = self.batches.pop(0)
        if not self.batches:
            self.reason = "length"
        return ids

    def abort(self) -> None:
        self.reason = "abort"

    async def close(self) -> dict[str, Any]:
        self.closed = True
        return {"gpuMs": self.gpu_ms}


def run(verifying: Script, plain: Script | None = None, *, auto: bool = True, known=(1, 2), **options):
    """All ids of a run, the run, and after how many ids the plain loop began."""
    began: list[int] = []

    def start(count: int) -> Script:
        assert plain is not None, "it does not switch off"
        assert verifying.closed
        began.append(count)
        return plain

    made = LookupRun(
        options.pop("speculation", Speculation()), list(known), 999, ready=1, auto=auto, verifying=lambda: verifying,
        plain=start,
    )  # fmt: skip

    async def drain() -> tuple[list[int], dict[str, Any]]:
        ids: list[int] = []
        while made.reason is None:
            ids += await made.next()
        return ids, await made.close()

    ids, report = asyncio.run(drain())
    return ids, made, began, report


NOVEL = [list(range(100 + 8 * i, 108 + 8 * i)) for i in range(6)]
ROUNDS = [[3, 1, 2, 3, 1, 2, 3, 1], [2, 3, 1, 2, 3, 1, 2, 3]] * 3


def test_auto_goes_over_to_plain_steps_where_no_draft_holds():
    verifying, plain = Script(*NOVEL, gpu_ms=2.0), Script([900, 901], [902], gpu_ms=1.0)
    ids, made, began, report = run(verifying, plain)
    assert began == [PROBATION_TOKENS]
    assert ids == [*range(100, 124), 900, 901, 902]
    assert (made.reason, plain.closed, report) == ("length", True, {"gpuMs": 3.0})
    # The first id is the prompt's own, and what plain steps made is not counted.
    assert made.speculation == Speculation(steps=PROBATION_TOKENS - 1, switched_off=True)


def test_auto_stays_where_drafts_hold_and_true_whatever_comes():
    ids, made, began, report = run(Script(*ROUNDS))
    assert (len(ids), began, report) == (48, [], {"gpuMs": None})
    assert not made.speculation.switched_off
    assert made.speculation.accepted > made.speculation.steps
    ids, made, began, _ = run(Script(*NOVEL), auto=False)
    assert (len(ids), began) == (48, [])
    assert made.speculation == Speculation(steps=47)


def test_the_trial_is_over_after_its_first_loop():
    ids, made, began, _ = run(Script(*NOVEL), speculation=Speculation(steps=30, drafted=60, accepted=50))
    assert (len(ids), began) == (48, [])
    assert made.speculation.steps == 77


def test_a_reply_that_ends_within_the_trial_is_left_alone():
    _, made, began, _ = run(Script(*NOVEL[:3]))
    assert began == []
    assert not made.speculation.switched_off


def test_an_abort_reaches_the_loop():
    verifying = Script(*NOVEL)
    made = LookupRun(
        Speculation(), [1], 99, ready=0, auto=True, verifying=lambda: verifying, plain=lambda _: Script([1])
    )
    made.abort()
    assert made.reason == verifying.reason == "abort"


def test_an_abort_while_it_goes_over_to_plain_steps_ends_it():
    verifying, began = Script(*NOVEL), []

    async def slow() -> dict[str, Any]:
        made.abort()
        return {}

    verifying.close, verifying.abort = slow, lambda: None
    made = LookupRun(Speculation(), [1], 99, ready=0, auto=True, verifying=lambda: verifying, plain=began.append)

    async def some() -> None:
        while made.reason is None:
            await made.next()

    asyncio.run(some())
    assert (made.reason, began) == ("abort", [])


def test_runs_are_counted_once_however_often_it_is_closed():
    _, made, _, _ = run(Script(*NOVEL[:3]))
    steps = made.speculation.steps
    asyncio.run(made.close())
    assert made.speculation.steps == steps > 0
