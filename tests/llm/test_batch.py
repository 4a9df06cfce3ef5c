"""Sequences decoded together: each gets the ids that it gets alone, whatever the others do."""

from __future__ import annotations

import asyncio
import math
from typing import Any

import pytest

from tests.llm import tiny
from tests.llm.numpy_device import ConversationOnNumpy, numpy_engine
from webxpu.errors import ContextOverflow, DeviceError, ShapeError
from webxpu.llm.batch import Together, free_lanes, lanes_of
from webxpu.llm.generate import Generation
from webxpu.llm.request import Request
from webxpu.llm.sampler import Sampling
from webxpu.ops.cache import PAGE_TOKENS

CONFIG, ARRAYS = tiny.model()[0], tiny.dense()
PROMPT = tiny.golden()["prompt"].tolist()
GREEDY = tiny.golden()["greedy"].tolist()
PROMPTS = [PROMPT, PROMPT[:20], [5, 6, 7]]


def new(sequences: int = 3) -> ConversationOnNumpy:
    return numpy_engine(CONFIG, ARRAYS, 128, sequences=sequences)


def start(
    one: ConversationOnNumpy, prompts: Any = PROMPTS, max_tokens: int | None = 12, stop_ids: Any = (), **options: Any
) -> Together:
    asked = Request(one.engine, sampling=Sampling(**options), stop_ids=stop_ids, call="generate_together")
    return Together(one.engine, prompts, asked=asked, max_tokens=max_tokens)


def run(one: ConversationOnNumpy, prompts: Any = PROMPTS, **options: Any) -> Together:
    async def collect() -> Together:
        made = start(one, prompts, **options)
        seen: list[list[int]] = [[] for _ in prompts]
        async for index, ids in made:
            assert ids
            seen[index] += ids
        assert seen == made.ids
        return made

    return asyncio.run(collect())


KNOWN: dict[str, list[int]] = {}


def alone(prompt: list[int], **options: Any) -> list[int]:
    async def collect() -> list[int]:
        generation = new().generate(prompt, **options)
        async for _ in generation:
            pass
        return generation.ids

    key = repr((prompt, options))
    if key not in KNOWN:
        KNOWN[key] = asyncio.run(collect())
    return KNOWN[key]


def test_each_sequence_has_the_ids_that_it_has_alone() -> None:
    one = new()
    done = run(one)
    assert done.ids[0] == GREEDY[:12]
    assert done.ids[1:] == [alone(prompt, max_tokens=12) for prompt in PROMPTS[1:]]
    assert done.finish_reasons == ["length"] * 3
    assert one.device.ran.count("greedy of 3 together") == 11
    assert not any("decode greedy" in label for label in one.device.ran)
    again = run(one, PROMPTS[:2], max_tokens=3)
    assert again.ids == [ids[:3] for ids in done.ids[:2]]


def test_other_caches_and_norms_of_heads_take_the_way_of_two_kernels() -> None:
    one = numpy_engine(CONFIG, ARRAYS, 128, sequences=3, kv="q8")
    done = run(one, max_tokens=8)

    async def alone_in_q8(prompt: list[int]) -> list[int]:
        generation = numpy_engine(CONFIG, ARRAYS, 128, kv="q8").generate(prompt, max_tokens=8)
        async for _ in generation:
            pass
        return generation.ids

    assert done.ids == [asyncio.run(alone_in_q8(prompt)) for prompt in PROMPTS]


def test_a_sequence_that_stops_lets_the_others_go_on() -> None:
    stop = GREEDY[4]
    whole = [alone(prompt, max_tokens=12) for prompt in PROMPTS]
    plain = [ids[: ids.index(stop)] if stop in ids else ids for ids in whole]
    assert [len(ids) for ids in plain] == [4, 12, 12], "only one of them stops"
    done = run(new(), stop_ids=[stop])
    assert done.ids == plain
    assert done.finish_reasons == ["stop", "length", "length"]


def test_a_sequence_that_is_full_keeps_off_the_pages_of_others() -> None:
    one = new(2)
    prompts = [[*PROMPT, *PROMPT[:53]], PROMPT[:20]]
    done = run(one, prompts, max_tokens=30)
    assert done.ids == [alone(prompts[0]), alone(prompts[1], max_tokens=30)]
    assert [len(ids) for ids in done.ids] == [5, 30]
    assert done.finish_reasons == ["context", "length"]
    assert one.engine.pool.held == 0


def test_seeded_draws_are_those_of_each_alone() -> None:
    options = {"temperature": 1.0, "top_k": 40, "seed": 7}
    done = run(new(), PROMPTS[1:], **options)
    assert done.ids == [alone(prompt, max_tokens=12, **options) for prompt in PROMPTS[1:]]


@pytest.mark.parametrize(
    "options",
    [
        {"repetition_penalty": 1.8}, {"presence_penalty": 3.0}, {"frequency_penalty": 2.0}, {"no_repeat_ngram_size": 1},
        {"logit_bias": {GREEDY[0]: -math.inf}}, {"temperature": 1.0, "seed": 3, "top_n_sigma": 0.5},
        {"temperature": 2.0, "seed": 3, "repetition_penalty": 1.8, "logit_bias": {GREEDY[0]: 5.0}},
    ],
)  # fmt: skip
def test_penalties_biases_and_filters_are_those_of_each_alone(options: dict[str, Any]) -> None:
    plain = {key: options[key] for key in ("temperature", "seed") if key in options}
    expected = [alone(prompt, max_tokens=12, **options) for prompt in PROMPTS[:2]]
    assert expected != [alone(prompt, max_tokens=12, **plain) for prompt in PROMPTS[:2]]
    assert run(new(), PROMPTS[:2], **options).ids == expected


def test_others_wait_for_the_gpu_and_get_it_where_the_iterator_is_closed() -> None:
    async def scene() -> tuple[Together, Generation]:
        one = new()
        made = start(one, max_tokens=40)
        iterator = aiter(made)
        await anext(iterator)
        other = one.another().generate(PROMPT, max_tokens=6)
        waiting = asyncio.ensure_future(anext(other))
        await asyncio.sleep(0.01)
        assert not waiting.done()
        await made.stop()
        await waiting
        async for _ in other:
            pass
        return made, other

    made, other = asyncio.run(scene())
    assert other.ids == GREEDY[:6]
    assert made.finish_reasons == ["abort"] * 3


def test_breaking_out_of_the_iterator_aborts_and_lets_others_go_on() -> None:
    async def scene() -> tuple[Together, Generation]:
        one = new()
        made = start(one, max_tokens=40)
        async for _ in made:
            break
        other = one.another().generate(PROMPT, max_tokens=6)
        async for _ in other:
            pass
        assert one.engine.pool.held == len(PROMPT) // PAGE_TOKENS + 1
        return made, other

    made, other = asyncio.run(asyncio.wait_for(scene(), 60))
    assert other.ids == GREEDY[:6]
    assert made.finish_reasons == ["abort"] * 3
    assert made.finish_reason == "abort"


def test_abort_ends_all_of_them_before_the_first_step_or_between_two() -> None:
    async def scene(steps: int) -> Together:
        one = new()
        made = start(one, max_tokens=40)
        assert made.finish_reason is None
        iterator, seen = aiter(made), [list[int]() for _ in PROMPTS]
        for _ in range(steps):
            index, ids = await anext(iterator)
            seen[index] += ids
        made.abort()
        async for index, ids in iterator:  # what came with the last of them
            seen[index] += ids
        assert seen == made.ids
        assert one.engine.pool.held == 0
        await made.stop()  # a second time changes nothing
        return made

    whole = [alone(prompt, max_tokens=12) for prompt in PROMPTS]
    for steps, count in ((0, 0), (4, 2)):
        made = asyncio.run(scene(steps))
        assert made.finish_reasons == ["abort"] * 3
        assert made.ids == [ids[:count] for ids in whole]


def test_one_that_is_stopped_before_it_began_runs_nothing() -> None:
    async def scene() -> tuple[ConversationOnNumpy, Together]:
        one = new()
        made = start(one)
        await made.stop()
        assert [found async for found in made] == []
        return one, made

    one, made = asyncio.run(scene())
    assert made.finish_reasons == ["abort"] * 3
    assert one.device.calls == []


def test_an_error_is_the_reason_and_leaves_the_engine_as_it_was() -> None:
    async def scene() -> tuple[Together, ConversationOnNumpy]:
        one = new()
        made = start(one, max_tokens=40)
        iterator = aiter(made)
        await anext(iterator)
        submit, one.device.submit = one.device.submit, broken  # type: ignore[method-assign]
        with pytest.raises(DeviceError, match=r"^broken$"):
            async for _ in iterator:
                pass
        one.device.submit = submit  # type: ignore[method-assign]
        return made, one

    def broken(_: Any) -> None:
        raise DeviceError("broken")

    made, one = asyncio.run(scene())
    assert made.finish_reasons == ["error"] * 3
    assert one.engine.pool.held == 0
    assert run(one).ids[0] == GREEDY[:12]


def test_pages_that_other_conversations_left_are_not_fed_again() -> None:
    one = new()
    long = [*PROMPT, *PROMPT[:53]]
    assert len(long) > PAGE_TOKENS

    async def before() -> None:
        await one.prefill(long)

    asyncio.run(before())
    fed = len(one.device.ran)
    done = run(one, [long, [*long[:70], 9]], max_tokens=3)
    assert not [label for label in one.device.ran[fed:] if "prefill of 256" in label]
    assert done.ids == [alone(long, max_tokens=3), alone([*long[:70], 9], max_tokens=3)]


def test_lanes_are_made_once_for_each_number_and_can_be_freed() -> None:
    engine = new().engine
    two, three = lanes_of(engine, 2), lanes_of(engine, 3)
    assert lanes_of(engine, 2) is two
    free_lanes(engine)
    assert not engine.lanes
    for lane in [*two, *three]:
        assert all(array.freed for array in (lane.cache.pages, lane.cache.history, lane.cache.state, lane.row))
    assert not any(array.freed for array in engine.cache.tensors())


def test_a_wrong_request_is_refused_before_anything_runs() -> None:
    one = new(1)
    with pytest.raises(ShapeError, match=r"^generate_together: prompts must be 2 to 8 prompts, got 1$"):
        start(one, [PROMPT])
    with pytest.raises(ShapeError, match=r"^generate_together: prompts must be 2 to 8 prompts, got 9$"):
        start(one, [PROMPT] * 9)
    with pytest.raises(ShapeError, match=r"^generate_together: prompts must fit the cache of 2 pages .*, got 4\. Ask"):
        start(one, [PROMPT, PROMPT])
    with pytest.raises(ContextOverflow, match=r"room in the context of 128 tokens, got 128"):
        start(one, [PROMPT, [1] * 128])
    with pytest.raises(ShapeError, match=r"^generate_together: stop_ids must be at most 16, got 17$"):
        start(one, stop_ids=range(17))
    rolling = numpy_engine(CONFIG, ARRAYS, 192, sinks=64)
    with pytest.raises(ShapeError, match=r"^generate_together: the model must be loaded with sink_tokens 0"):
        start(rolling)
    assert one.device.calls == []
