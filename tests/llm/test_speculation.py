"""Prompt lookup in the engine: the same ids, what is counted, and what rules it out."""

from __future__ import annotations

import asyncio
from typing import Any

import numpy as np
import pytest

from tests.llm import tiny
from tests.llm.numpy_device import ConversationOnNumpy, numpy_engine
from webxpu.errors import ShapeError
from webxpu.llm.constraints import Candidates
from webxpu.llm.dry import Dry
from webxpu.llm.generate import Generation
from webxpu.llm.host_sampler import HostSampler
from webxpu.llm.sampler import Sampling

CONFIG = tiny.model()[0]
# Without attention the next token is a function of the last one, so that every reply comes to repeat itself.
FORGETFUL = {name: a * 0 if name.endswith("attention_out") else a for name, a in tiny.dense().items()}
PROMPT = tiny.golden()["prompt"].tolist()
GREEDY = tiny.golden()["greedy"].tolist()


def new(weights: dict[str, Any] | None = None, **options: Any) -> ConversationOnNumpy:
    return numpy_engine(CONFIG, tiny.dense() if weights is None else weights, 256, **options)


async def drained(generation: Generation) -> Generation:
    async for _ in generation:
        await asyncio.sleep(0)
    return generation


def run(sequence: ConversationOnNumpy, ids: list[int] = PROMPT, **options: Any) -> Generation:
    return asyncio.run(drained(sequence.generate(ids, **options)))


@pytest.mark.parametrize("wanted", [True, "auto"])
@pytest.mark.parametrize("weights", [tiny.dense(), FORGETFUL], ids=["drafts fail", "drafts hold"])
def test_ids_are_those_of_plain_decoding(weights: dict[str, Any], wanted: Any) -> None:
    one = new(weights)
    done, plain = run(one, max_tokens=90, prompt_lookup=wanted), run(new(weights), max_tokens=90)
    assert (done.ids, done.finish_reason) == (plain.ids, "length")
    assert one.ledger.ids == [*PROMPT, *plain.ids[:89]]
    assert (
        run(one, [*PROMPT, *plain.ids, 4], max_tokens=5).ids
        == run(new(weights), [*PROMPT, *plain.ids, 4], max_tokens=5).ids
    )
    seen = done.speculation
    assert seen is not None
    assert seen.switched_off == (wanted == "auto" and weights is not FORGETFUL)
    if weights is FORGETFUL:
        assert one.device.ran.count("verify") < 45 < seen.steps + seen.accepted
    assert plain.speculation is None


def test_auto_goes_on_with_plain_steps_where_drafts_fail() -> None:
    one = new()
    run(one, max_tokens=60, prompt_lookup="auto")
    verified = one.device.ran.count("verify")
    assert 24 <= verified < 45
    assert one.device.ran.count("decode greedy") >= 15
    assert one.device.calls.count("loop") == one.device.calls.count("close") == 2


def test_a_stop_id_ends_a_run_of_drafts() -> None:
    plain = run(new(FORGETFUL), max_tokens=60).ids
    stop = plain[20]
    one = new(FORGETFUL)
    done = run(one, max_tokens=60, stop_ids=[stop], prompt_lookup=True)
    assert (done.ids, done.finish_reason) == (plain[: plain.index(stop)], "stop")
    assert one.ledger.ids == [*PROMPT, *done.ids]


def test_conversations_take_turns_with_it_too() -> None:
    async def both() -> list[Generation]:
        one = new(FORGETFUL, sequences=2)
        return await asyncio.gather(
            drained(one.generate(PROMPT, max_tokens=60, prompt_lookup=True)),
            drained(one.another().generate(PROMPT[:40], max_tokens=60, prompt_lookup="auto")),
        )

    first, second = asyncio.run(both())
    assert first.ids == run(new(FORGETFUL), max_tokens=60).ids
    assert second.ids == run(new(FORGETFUL), PROMPT[:40], max_tokens=60).ids


def test_what_overran_lies_in_no_page_that_holds_something() -> None:
    # 128 tokens fill two pages; runs of drafts would go on into a third, which the sequence does not have.
    one, plain = new(FORGETFUL), new(FORGETFUL)
    ids = run(one, max_tokens=58, prompt_lookup=True).ids
    assert ids == run(plain, max_tokens=58).ids
    assert len(one.ledger.ids) == 127
    for layer, other in zip(one.cache.layers, plain.cache.layers, strict=True):
        kept, want = (
            np.concatenate([np.asarray(a)[page] for page in held.ledger.table], axis=1)[:, :127]
            for a, held in ((layer, one), (other, plain))
        )
        np.testing.assert_allclose(kept, want, atol=1e-4)


def test_where_it_can_not_be_auto_does_without() -> None:
    done = run(new(), max_tokens=6, prompt_lookup="auto", temperature=1.0, seed=5)
    assert done.ids == run(new(), max_tokens=6, temperature=1.0, seed=5).ids
    assert done.speculation is None


def test_on_a_cpu_auto_does_without_and_true_does_not() -> None:
    one = new()
    one.engine.tries_lookup = False
    assert run(one, max_tokens=6, prompt_lookup="auto").speculation is None
    assert "verify" not in one.device.ran
    assert run(one, max_tokens=6, prompt_lookup=True).speculation is not None


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"temperature": 1.0}, "a temperature"),
        ({"repetition_penalty": 1.1}, "penalties"),
        ({"dry": Dry(multiplier=1.0)}, "penalties"),
        ({"logprobs": 1}, "logprobs"),
        ({"constraint": Candidates(3, lambda prefix, token: True)}, "a constraint"),
        ({"sampler": HostSampler(Sampling())}, "a sampler"),
    ],
)
def test_what_rules_it_out_is_named(options: dict[str, Any], reason: str) -> None:
    with pytest.raises(ShapeError, match=rf"^generate: prompt_lookup must be False or 'auto' with {reason}, got True$"):
        new().generate(PROMPT, prompt_lookup=True, **options)


def test_a_window_that_rolls_rules_it_out() -> None:
    with pytest.raises(ShapeError, match=r"^generate: .* with a window that rolls, got True$"):
        new(sinks=64).generate(PROMPT, prompt_lookup=True)
