"""Sequences decoded together: each gets the ids that it gets alone, whatever the others do."""

from __future__ import annotations

import asyncio
import functools
from typing import Any

import pytest

from tests.llm import tiny
from tests.llm.numpy_device import ConversationOnNumpy, numpy_engine
from webxpu.errors import ContextOverflow, DeviceError, ShapeError
from webxpu.llm.batch import Together, free_lanes, lanes_of
from webxpu.llm.generate import Generation
from webxpu.llm.sampler import Sampling

CONFIG, ARRAYS = tiny.model()[0], tiny.dense()
PROMPT = tiny.golden()["prompt"].tolist()
GREEDY = tiny.golden()["greedy"].tolist()
PROMPTS = [PROMPT, PROMPT[:20], [5, 6, 7]]


def new(sequences: int = 3) -> ConversationOnNumpy:
    return numpy_engine(CONFIG, ARRAYS, 128, sequences=sequences)


def start(one: ConversationOnNumpy, prompts: Any = PROMPTS, **options: Any) -> Together:
    return Together(one.engine, prompts, **{"sampling": Sampling(), "max_tokens": 12, "stop_ids": (), **options})


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


def alone(prompt: list[int], **options: Any) -> list[int]:
    return _alone(tuple(prompt), tuple(sorted(options.items())))


@functools.cache
def _alone(prompt: tuple[int, ...], options: tuple[tuple[str, Any], ...]) -> list[int]:
    async def collect() -> Generation:
        generation = new().generate(prompt, **dict(options))
        async for _ in generation:
            pass
        return generation

    return asyncio.run(collect()).ids


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
    sampling = Sampling(temperature=1.0, top_k=40, seed=7)
    done = run(new(), PROMPTS[1:], sampling=sampling)
    assert done.ids == [alone(prompt, max_tokens=12, temperature=1.0, top_k=40, seed=7) for prompt in PROMPTS[1:]]


def test_others_wait_for_the_gpu_and_get_it_where_the_iterator_is_closed() -> None:
    async def scene() -> tuple[Together, Generation]:
        one = new()
        made = start(one, max_tokens=40)
        await anext(made)
        other = one.another().generate(PROMPT, max_tokens=6)
        waiting = asyncio.ensure_future(anext(other))
        await asyncio.sleep(0.01)
        assert not waiting.done()
        await made.aclose()
        await waiting
        async for _ in other:
            pass
        return made, other

    made, other = asyncio.run(scene())
    assert other.ids == GREEDY[:6]
    assert made.finish_reasons == ["abort"] * 3


def test_leaving_the_ids_early_gives_the_gpu_to_others() -> None:
    async def scene() -> tuple[Together, Generation]:
        one = new()
        made = start(one, max_tokens=40)
        async for _ in made:
            break
        other = one.another().generate(PROMPT, max_tokens=6)
        async with asyncio.timeout(20):
            async for _ in other:
                pass
        return made, other

    made, other = asyncio.run(scene())
    assert other.ids == GREEDY[:6]
    assert made.finish_reasons == ["abort"] * 3


def test_it_can_be_aborted_while_it_is_read_and_before() -> None:
    async def scene() -> tuple[Together, Together]:
        one = new()
        made, never = start(one, max_tokens=40), start(one)
        async for _ in made:
            made.abort()
        await never.stop()
        assert [found async for found in never] == []
        assert not one.engine.turn.locked()
        return made, never

    for ended in asyncio.run(scene()):
        assert ended.finish_reasons == ["abort"] * 3
        assert ended.finish_reason == "abort"


def test_an_error_is_named_as_the_reason() -> None:
    one = new()
    made = start(one)

    def broken(steps: Any) -> None:
        raise DeviceError("the GPU is gone")

    async def collect() -> None:
        one.device.submit = broken  # type: ignore[method-assign]
        async for _ in made:
            pass

    with pytest.raises(DeviceError, match="the GPU is gone"):
        asyncio.run(collect())
    assert made.finish_reasons == ["error"] * 3
    assert not one.engine.turn.locked()


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
