"""The engine from prompt to ids, run on NumPy programs: what it sends, keeps, reuses and reports."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import numpy as np
import pytest

from tests.llm import tiny
from tests.llm.numpy_device import ConversationOnNumpy as Engine
from tests.llm.numpy_device import NumpyDevice, numpy_engine
from webxpu.errors import DeviceError, ShapeError
from webxpu.llm.generate import Generation
from webxpu.llm.sampler import Sampling
from webxpu.llm.state import State

CONFIG, ARRAYS = tiny.model()[0], tiny.dense()
PROMPT = tiny.golden()["prompt"].tolist()
GREEDY = tiny.golden()["greedy"].tolist()
GREEDY_SAMPLING = Sampling()


def new_engine(capacity: int = 128) -> Engine:
    return numpy_engine(CONFIG, ARRAYS, capacity)


def calls(engine: Engine) -> NumpyDevice:
    return engine.device


def start(engine: Engine, ids: list[int] = PROMPT, **options: Any) -> Generation:
    return Generation(engine, ids, **{"sampling": GREEDY_SAMPLING, **options})


def run(engine: Engine, ids: list[int] = PROMPT, **options: Any) -> Generation:
    async def collect() -> Generation:
        generation = start(engine, ids, **options)
        batches = [batch async for batch in generation]
        assert all(batches)
        assert [i for batch in batches for i in batch] == generation.ids
        return generation

    return asyncio.run(collect())


def do(work: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(work)


def test_greedy_ids_are_transformers() -> None:
    done = run(new_engine(), max_tokens=len(GREEDY))
    assert done.ids == GREEDY
    assert done.prompt_ids == PROMPT
    assert done.finish_reason == "length"


def test_a_prompt_is_sent_in_one_call_and_ids_come_in_growing_batches() -> None:
    engine = new_engine()
    run(engine, max_tokens=24)
    assert calls(engine).ran[:3] == ["prefill of 64", "prefill of 16", "greedy after 16"]
    assert calls(engine).ran.count("decode greedy") == 23
    assert calls(engine).calls == ["submit", "loop", *["next"] * 6, "close"]  # 1, 1, 2, 4, 8, 8


def test_64_tokens_cost_at_most_64_by_8_and_10_calls() -> None:
    engine = new_engine(256)
    assert len(run(engine, max_tokens=64).ids) == 64
    assert len(calls(engine).calls) <= 64 / 8 + 10


def test_a_stop_id_ends_it_and_is_not_among_the_ids() -> None:
    stop = GREEDY[5]
    done = run(new_engine(), max_tokens=24, stop_ids=[stop, 2])
    assert done.ids == GREEDY[:5]
    assert done.finish_reason == "stop"


def test_the_gpu_is_told_what_it_has_to_know_of_a_turn() -> None:
    engine = new_engine(capacity=100)
    run(engine, max_tokens=24, stop_ids=[GREEDY[5], 2], sampling=Sampling(temperature=1.5, top_k=1, seed=2**40 + 3))
    state = State.from_words(engine.cache.state)
    assert state == State(
        position=len(PROMPT) + 5, rows=1, step=6, done=True, seed=2**40 + 3, top_k=1, temperature=1.5, top_p=1.0,
        min_p=0.0, capacity=100, stops=(2, GREEDY[5]), runs=6,
    )  # fmt: skip


def test_a_first_token_that_stops_gives_no_ids() -> None:
    engine = new_engine()
    done = run(engine, max_tokens=24, stop_ids=[GREEDY[0]])
    assert (done.ids, done.finish_reason) == ([], "stop")
    assert engine.ledger.ids == PROMPT
    assert done.timings is not None
    assert done.timings.decode_tokens_per_s == 0


def test_the_context_ends_it_where_no_room_is_left() -> None:
    for max_tokens in (None, 50):
        done = run(new_engine(capacity=80), max_tokens=max_tokens)
        assert (done.ids, done.finish_reason) == (GREEDY[:10], "context")
    done = run(new_engine(capacity=80), max_tokens=10)
    assert (done.ids, done.finish_reason) == (GREEDY[:10], "length")
    done = run(new_engine(capacity=71))
    assert (done.ids, done.finish_reason) == (GREEDY[:1], "context")


@pytest.mark.parametrize(
    ("options", "known"),
    [
        # A cut reply's last id may not have been fed; before a stop id every id was.
        ({"max_tokens": 6}, PROMPT + GREEDY[:5]),
        ({"max_tokens": 24, "stop_ids": [GREEDY[6]]}, PROMPT + GREEDY[:6]),
    ],
)
def test_the_ledger_holds_what_was_fed_for_certain(options: dict[str, Any], known: list[int]) -> None:
    engine = new_engine()
    run(engine, **options)
    assert engine.ledger.ids == known


def test_a_conversation_goes_on_from_the_cache_with_the_ids_of_a_fresh_run() -> None:
    engine = new_engine()
    first = run(engine, max_tokens=6)
    longer = [*PROMPT, *first.ids, 9, 8, 7]
    again = run(engine, longer, max_tokens=8)
    assert again.reused_tokens == len(PROMPT) + 5
    assert again.timings is not None
    assert again.timings.prefill_tokens == len(longer) - again.reused_tokens
    fresh = run(new_engine(), longer, max_tokens=8)
    assert fresh.reused_tokens == 0
    assert again.ids == fresh.ids


def test_a_prompt_that_differs_early_reuses_only_what_is_equal() -> None:
    engine = new_engine()
    run(engine, max_tokens=4)
    other = [*PROMPT[:20], 5, *PROMPT[21:40]]
    again = run(engine, other, max_tokens=6)
    assert again.reused_tokens == 20
    assert again.ids == run(new_engine(), other, max_tokens=6).ids


def test_the_same_prompt_again_feeds_only_its_last_token() -> None:
    engine = new_engine()
    first = run(engine, max_tokens=6)
    again = run(engine, max_tokens=6)
    assert again.reused_tokens == len(PROMPT) - 1
    assert again.ids == first.ids


def test_abort_keeps_the_ids_so_far_and_the_next_prompt_is_right() -> None:
    async def interrupt() -> tuple[Engine, Generation]:
        engine = new_engine()
        generation = start(engine, max_tokens=24)
        async for _ in generation:
            if len(generation.ids) >= 2:
                generation.abort()
        return engine, generation

    engine, generation = do(interrupt())
    assert generation.finish_reason == "abort"
    assert generation.ids == GREEDY[: len(generation.ids)]
    assert engine.ledger.ids == PROMPT + generation.ids[:-1]
    assert run(engine, max_tokens=24).ids == GREEDY


def test_abort_before_the_first_step_touches_nothing() -> None:
    async def never_started() -> tuple[Engine, Generation]:
        engine = new_engine()
        generation = start(engine)
        generation.abort()
        assert [batch async for batch in generation] == []
        return engine, generation

    engine, generation = do(never_started())
    assert generation.finish_reason == "abort"
    assert calls(engine).calls == []


def test_another_generation_ends_one_that_was_left_halfway() -> None:
    async def leave_halfway() -> tuple[Engine, Generation, Generation]:
        engine = new_engine()
        left = start(engine, max_tokens=24)
        await anext(left)
        other = start(engine, PROMPT[:30], max_tokens=3)
        async for _ in other:
            pass
        assert [batch async for batch in left] == []
        return engine, left, other

    engine, left, other = do(leave_halfway())
    assert (left.finish_reason, other.finish_reason) == ("abort", "length")
    assert calls(engine).calls.count("close") == 2
    assert other.ids == run(new_engine(), PROMPT[:30], max_tokens=3).ids
    assert engine.engine.active is None
    assert engine.running is None


def test_an_error_clears_the_ledger_and_comes_out() -> None:
    async def failing() -> tuple[Engine, Generation]:
        engine = new_engine()
        async for _ in start(engine, PROMPT[:30], max_tokens=2):
            pass
        generation = start(engine, max_tokens=24)
        await anext(generation)
        assert engine.ledger.ids == PROMPT[:30]
        loop: Any = generation._run
        loop.fail = DeviceError("the GPU went away")
        with pytest.raises(DeviceError, match=r"^the GPU went away$"):
            await anext(generation)
        assert loop.closed
        with pytest.raises(StopAsyncIteration):
            await anext(generation)
        return engine, generation

    engine, generation = do(failing())
    assert generation.finish_reason == "error"
    assert engine.ledger.ids == []
    assert engine.engine.active is None
    assert engine.running is None
    assert run(engine, max_tokens=4).ids == GREEDY[:4]


def test_a_failing_start_clears_the_ledger_too() -> None:
    engine = new_engine()
    run(engine, max_tokens=4)

    def refuse(_: Any) -> None:
        raise DeviceError("lost")

    engine.device.submit = refuse  # type: ignore[method-assign]
    with pytest.raises(DeviceError, match=r"^lost$"):
        run(engine, max_tokens=4)
    assert engine.ledger.ids == []


def test_sampled_ids_follow_the_seed() -> None:
    warm = {"sampling": Sampling(temperature=1.0, seed=5), "max_tokens": 12}
    engine = new_engine()
    one = run(engine, **warm).ids
    assert "decode sample" in calls(engine).ran
    assert "sample after 16" in calls(engine).ran
    assert run(engine, **warm).ids == one  # from the cache: only the seed and the step number count
    assert run(new_engine(), **{**warm, "sampling": Sampling(temperature=1.0, seed=6)}).ids != one
    assert run(new_engine(), **{**warm, "sampling": Sampling(temperature=1.0, top_k=1, seed=5)}).ids == GREEDY[:12]
    cold = Sampling(temperature=1.0, top_p=1e-6, seed=5)
    assert run(new_engine(), **{**warm, "sampling": cold}).ids == GREEDY[:12]
    assert run(new_engine(), **{**warm, "sampling": Sampling(temperature=1.0, min_p=1.0, seed=5)}).ids == GREEDY[:12]


def test_a_missing_seed_gives_other_ids_each_time() -> None:
    hot = {"sampling": Sampling(temperature=2.0), "max_tokens": 16}
    assert run(new_engine(), **hot).ids != run(new_engine(), **hot).ids


def test_timings_add_up() -> None:
    done = run(new_engine(), max_tokens=12, load_ms=123.0, timestamps=True)
    timings = done.timings
    assert timings is not None
    assert (timings.load_ms, timings.gpu_ms, timings.dispatches_per_token) == (123.0, 1.5, 12)
    assert timings.prefill_tokens == len(PROMPT)
    assert timings.prefill_tokens_per_s == pytest.approx(len(PROMPT) / timings.prefill_ms * 1e3)
    assert timings.decode_tokens == 11
    assert timings.decode_tokens_per_s == pytest.approx(11 / timings.decode_ms * 1e3)


@pytest.mark.parametrize(
    ("ids", "options", "message"),
    [
        ([], {}, "ids must hold at least one token, got none"),
        ([1, 320], {}, "ids must be from 0 to 319, got 320 at index 1"),
        ([-1], {}, "ids must be from 0 to 319, got -1 at index 0"),
        (PROMPT, {"capacity": 70}, r"ids must leave room in the context of 70 tokens, got 70\. Load the model with .*"),
        (PROMPT, {"max_tokens": 0}, "max_tokens must be a whole number of at least 1, got 0"),
        (PROMPT, {"max_tokens": 2.0}, r"max_tokens must be a whole number of at least 1, got 2\.0"),
        (PROMPT, {"max_tokens": True}, "max_tokens must be a whole number of at least 1, got True"),
        (PROMPT, {"stop_ids": range(17)}, "stop_ids must be at most 16, got 17"),
        (PROMPT, {"stop_ids": [3, -1]}, r"stop_ids must be from 0 to 2147483647, got \[-1, 3\]"),
        (PROMPT, {"stop_ids": [2**31]}, r"stop_ids must be from 0 to 2147483647, got \[2147483648\]"),
        (PROMPT, {"stop_ids": [1.5]}, "stop_ids must be integers: 'float' object cannot be interpreted as an integer"),
        ([1.5], {}, "ids must be integers: 'float' object cannot be interpreted as an integer"),
        (5, {}, "ids must be integers: 'int' object is not iterable"),
        (PROMPT, {"constraint": 5}, "constraint must have a method 'allowed', got 5"),
        (PROMPT, {"sampler": 5}, "sampler must have a method 'pick', got 5"),
    ],
)
def test_a_wrong_request_is_refused_before_anything_runs(ids: Any, options: dict[str, Any], message: str) -> None:
    engine = new_engine(options.pop("capacity", 128))
    with pytest.raises(ShapeError, match=f"^generate: {message}$"):
        start(engine, ids, **options)
    assert calls(engine).calls == []


def test_numpy_integers_are_ids() -> None:
    assert run(new_engine(), np.array(PROMPT, np.int32), max_tokens=3).ids == GREEDY[:3]  # type: ignore[arg-type]
