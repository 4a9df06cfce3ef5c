"""Several conversations in one engine, and what else can be asked of one: scores, feeding without a reply, endings."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Coroutine
from typing import Any

import numpy as np
import pytest

from tests.llm import tiny
from tests.llm.numpy_device import ConversationOnNumpy, numpy_engine
from webxpu.errors import ContextOverflow, DeviceError, ShapeError
from webxpu.llm.generate import Generation

CONFIG, ARRAYS = tiny.model()[0], tiny.dense()
PROMPT = tiny.golden()["prompt"].tolist()
GREEDY = tiny.golden()["greedy"].tolist()
OTHER = PROMPT[10:50]


def new(capacity: int = 256, **options: Any) -> ConversationOnNumpy:
    return numpy_engine(CONFIG, ARRAYS, capacity, **options)


def do(work: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(work)


async def drained(generation: Generation) -> list[int]:
    async for _ in generation:
        await asyncio.sleep(0)  # others get their turn
    return generation.ids


def run(sequence: ConversationOnNumpy, ids: list[int] = PROMPT, **options: Any) -> Generation:
    generation = sequence.generate(ids, **options)
    do(drained(generation))
    return generation


def test_two_conversations_take_turns_and_each_gets_its_own_ids() -> None:
    options: dict[str, Any] = {"max_tokens": 20, "temperature": 0.8, "seed": 7}
    alone = run(new(), **options).ids, run(new(), OTHER, max_tokens=20).ids

    async def both() -> tuple[list[int], list[int], ConversationOnNumpy]:
        one = new(sequences=2)
        ids = await asyncio.gather(
            drained(one.generate(PROMPT, **options)), drained(one.another().generate(OTHER, max_tokens=20))
        )
        return *ids, one

    first, second, one = do(both())
    assert (first, second) == alone
    assert one.engine.active is None
    assert one.device.calls.count("loop") > 2  # they were interrupted
    assert one.device.calls.count("close") == one.device.calls.count("loop")


def test_a_generation_that_was_left_halfway_goes_on_after_another_conversation_ran() -> None:
    async def halfway() -> tuple[list[int], str | None]:
        one = new(sequences=2)
        left = one.generate(PROMPT, max_tokens=24)
        await anext(left)
        await drained(one.another().generate(OTHER, max_tokens=9))
        return await drained(left), left.finish_reason

    assert do(halfway()) == (GREEDY, "length")


def test_steps_that_python_takes_part_in_can_be_interrupted_too() -> None:
    class All:
        def allowed(self, prefix: Any) -> None:
            return None

    async def both() -> list[list[int]]:
        one = new(sequences=2)
        return await asyncio.gather(
            drained(one.generate(PROMPT, max_tokens=12, constraint=All())),
            drained(one.another().generate(OTHER, max_tokens=12)),
        )

    assert do(both()) == [GREEDY[:12], run(new(), OTHER, max_tokens=12).ids]


def test_conversations_share_the_pages_of_a_common_beginning() -> None:
    one = new(sequences=2)
    run(one, max_tokens=2)
    two = one.another()
    asked = [*PROMPT[:68], 3, 4]
    done = run(two, asked, max_tokens=8)
    assert done.reused_tokens == 64
    assert done.ids == run(new(), asked, max_tokens=8).ids
    assert two.ledger.table[0] == one.ledger.table[0]
    assert run(one, max_tokens=24).ids == GREEDY


def test_a_shared_page_that_one_of_them_changes_stays_what_it_was_for_the_other() -> None:
    one = new(sequences=2)
    run(one, max_tokens=2)
    two = one.another()
    run(two, [*PROMPT[:68], 3], max_tokens=2)
    changed = [*PROMPT[:40], 9, 9]
    done = run(two, changed, max_tokens=6)
    assert done.reused_tokens == 40
    assert done.ids == run(new(), changed, max_tokens=6).ids
    assert run(one, max_tokens=24).ids == GREEDY


def test_a_conversation_that_lost_its_pages_is_fed_anew() -> None:
    one = new(capacity=128)
    assert run(one, max_tokens=4).ids == GREEDY[:4]
    two = one.another()
    run(two, [*range(100)], max_tokens=4)
    assert one.ledger.ids == []
    done = run(one, max_tokens=8)
    assert (done.ids, done.reused_tokens) == (GREEDY[:8], 0)


def test_a_second_generation_of_a_conversation_aborts_one_that_waits_for_its_turn() -> None:
    async def start() -> tuple[Generation, Generation]:
        one = new(sequences=2)
        left = one.generate(PROMPT, max_tokens=24)
        await anext(left)
        await drained(one.another().generate(OTHER, max_tokens=3))
        later = one.generate(PROMPT, max_tokens=3)
        await drained(later)
        return left, later

    left, later = do(start())
    assert (left.finish_reason, later.ids) == ("abort", GREEDY[:3])


def test_scores_of_the_last_token_are_those_that_a_reply_begins_with() -> None:
    one = new()
    scores = do(one.forward(PROMPT))
    assert scores.shape == (320,)
    np.testing.assert_allclose(scores, tiny.golden()["logits"][0], atol=2e-4)
    assert one.ledger.ids == PROMPT
    one.device.ran.clear()
    np.testing.assert_array_equal(do(one.forward([*PROMPT, 5])), do(new().forward([*PROMPT, 5])))
    assert one.device.ran == ["prefill of 16", "logits after 16"]
    assert run(one, max_tokens=24).ids == GREEDY


def test_scores_of_every_token_are_those_after_each_beginning() -> None:
    one = new()
    scores = do(one.forward(PROMPT[:37], rows="all"))
    assert scores.shape == (37, 320)
    for count in (1, 16, 17, 37):
        np.testing.assert_allclose(scores[count - 1], do(new().forward(PROMPT[:count])), atol=1e-4)
    assert one.ledger.ids == PROMPT[:37]
    assert [a.freed for a in one.device.arrays if a.shape == (16, 320)] == [True]
    assert run(one, max_tokens=24).ids == GREEDY


def test_a_prompt_can_be_fed_before_it_is_asked_for() -> None:
    one = new()
    assert do(one.prefill(PROMPT[:50])) == 50
    assert do(one.prefill(PROMPT[:55])) == 5
    assert not any("greedy" in label for label in one.device.ran)
    done = run(one, max_tokens=24)
    assert (done.reused_tokens, done.ids) == (55, GREEDY)


def test_scores_interrupt_a_generation_of_another_conversation_and_end_one_of_their_own() -> None:
    async def interrupt() -> tuple[list[int], str | None]:
        one = new(sequences=2)
        left, own = one.generate(PROMPT, max_tokens=24), one.another()
        await anext(left)
        await own.forward(OTHER)
        ids = await drained(left)
        cut = own.generate(OTHER, max_tokens=50)
        await anext(cut)
        await own.forward(OTHER)
        return ids, cut.finish_reason

    assert do(interrupt()) == (GREEDY, "abort")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda one: one.forward([]), "forward: ids must hold at least one token, got none"),
        (lambda one: one.forward([1, 320]), "forward: ids must be from 0 to 319, got 320 at index 1"),
        (lambda one: one.forward([1], rows="first"), "forward: rows must be 'last' or 'all', got 'first'"),
        (lambda one: one.prefill([-1]), "prefill: ids must be from 0 to 319, got -1 at index 0"),
        (
            lambda one: one.forward([1] * 256),
            r"generate: ids must leave room in the context of 256 tokens, got 256\..*",
        ),
    ],
)
def test_a_wrong_request_is_refused_and_changes_nothing(call: Any, message: str) -> None:
    one = new()
    run(one, max_tokens=2)
    before = list(one.ledger.ids)
    with pytest.raises(ShapeError, match=f"^{message}$"):
        do(call(one))
    assert one.ledger.ids == before


def test_an_error_while_scores_are_computed_clears_the_ledger() -> None:
    one = new()
    run(one, max_tokens=2)

    def refuse(_: Any) -> None:
        raise DeviceError("lost")

    one.device.submit = refuse  # type: ignore[method-assign]
    with pytest.raises(DeviceError, match=r"^lost$"):
        do(one.forward(PROMPT))
    assert one.ledger.ids == []


def test_a_conversation_aborts_what_runs_in_it() -> None:
    async def aborted() -> tuple[list[int], Generation]:
        one = new()
        one.abort()  # nothing runs
        generation = one.generate(PROMPT, max_tokens=100)
        first = await anext(generation)
        one.abort()
        await drained(generation)
        return first, generation

    first, generation = do(aborted())
    assert (generation.ids, generation.finish_reason) == (first, "abort")


def test_breaking_out_of_a_reply_aborts_it() -> None:
    async def leave() -> tuple[ConversationOnNumpy, Generation]:
        one = new()
        generation = one.generate(PROMPT, max_tokens=100)
        async for _ in generation:
            break
        gc.collect()
        for _ in range(5):
            await asyncio.sleep(0)
        return one, generation

    one, generation = do(leave())
    assert generation.finish_reason == "abort"
    assert one.device.calls[-1] == "close"
    assert one.engine.active is None


def test_closing_a_reply_aborts_it() -> None:
    async def leave() -> str | None:
        generation = new().generate(PROMPT, max_tokens=100)
        await anext(generation)
        await generation.aclose()
        return generation.finish_reason

    assert do(leave()) == "abort"


def test_cancelling_the_task_that_reads_a_reply_aborts_it_and_keeps_the_cache() -> None:
    async def cancel() -> tuple[ConversationOnNumpy, Generation]:
        one = new()
        generation = one.generate(PROMPT, max_tokens=100)
        await anext(generation)
        run_now: Any = generation._run
        never = asyncio.Event()

        async def wait() -> list[int]:
            await never.wait()
            return []

        run_now.next = wait
        task = asyncio.ensure_future(anext(generation))  # type: ignore[arg-type]
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return one, generation

    one, generation = do(cancel())
    assert generation.finish_reason == "abort"
    assert one.ledger.ids == PROMPT
    assert run(one, max_tokens=24).ids == GREEDY


def test_cancelling_while_a_reply_ends_ends_it_all_the_same() -> None:
    async def cancel() -> Generation:
        one = new()
        generation = one.generate(PROMPT, max_tokens=3)
        await anext(generation)
        loop: Any = generation._run
        close, never = loop.close, asyncio.Event()

        async def wait() -> dict[str, Any]:
            loop.close = close
            await close()
            await never.wait()
            return {}

        loop.close = wait
        task = asyncio.ensure_future(drained(generation))
        for _ in range(4):
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert one.engine.active is None
        assert one.ledger.ids == [*PROMPT, *GREEDY[:2]]
        return generation

    done = do(cancel())
    assert (done.ids, done.finish_reason) == (GREEDY[:3], "length")


def test_forgetting_a_conversation_waits_for_what_is_fed_to_it() -> None:
    async def both() -> ConversationOnNumpy:
        one = new()

        async def sync() -> None:
            await asyncio.sleep(0)

        one.device.sync = sync  # type: ignore[method-assign]
        await asyncio.gather(one.prefill(PROMPT), one.reset())
        return one

    one = do(both())
    assert (one.ledger.ids, one.ledger.table) == ([], [])
    assert run(one, max_tokens=8).ids == GREEDY[:8]


def test_a_reply_cut_by_the_context_does_not_say_that_it_stopped() -> None:
    done = run(new(capacity=80), max_tokens=50, stop_ids=[2])
    assert (len(done.ids), done.finish_reason) == (10, "context")
    assert run(new(capacity=80), max_tokens=10).finish_reason == "length"


def test_a_reply_that_stopped_is_not_fed_twice() -> None:
    one = new()
    first = run(one, max_tokens=20, stop_ids=[GREEDY[6]])
    assert (first.ids, first.finish_reason) == (GREEDY[:6], "stop")
    longer = [*PROMPT, *first.ids, 8]
    again = run(one, longer, max_tokens=8)
    assert again.reused_tokens == len(longer) - 1
    assert again.ids == run(new(), longer, max_tokens=8).ids


def test_a_temperature_of_one_draws() -> None:
    ids = run(new(), max_tokens=12, temperature=1.0, seed=5).ids
    assert ids != GREEDY[:12]
    assert ids != run(new(), max_tokens=12, temperature=1.0, seed=0).ids


def test_a_prompt_that_does_not_fit_says_so_at_once() -> None:
    with pytest.raises(ContextOverflow) as found:
        new(capacity=80).generate([1] * 80)
    assert (found.value.tokens, found.value.capacity) == (80, 80)
