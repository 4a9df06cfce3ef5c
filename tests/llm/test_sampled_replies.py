"""Options of sampling that meet in one reply: what each of them looks at, and in which order."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.llm import tiny
from tests.llm.numpy_device import ConversationOnNumpy, numpy_engine
from webxpu import ops
from webxpu.errors import ShapeError
from webxpu.llm.constraints import allowed_mask
from webxpu.llm.constraints.line_format import Choice, FreeText, LineFormatConstraint, Literal
from webxpu.llm.dry import Dry
from webxpu.llm.generate import Generation
from webxpu.llm.host_sampler import HostSampler
from webxpu.llm.sampler import Sampling
from webxpu.llm.state import State
from webxpu.ops.sample import scores

CONFIG, ARRAYS = tiny.model()[0], tiny.dense()
PROMPT = tiny.golden()["prompt"].tolist()
VOCAB, EOS = CONFIG.vocab, 2
# Ends as it began, where the model's favourite came next: that one dry takes.
REPEATING = [4, 5, 6, 7] * 4
REPEATING += [110, *REPEATING]


def new() -> ConversationOnNumpy:
    return numpy_engine(CONFIG, ARRAYS, 128)


JUDGE = new()


def run(ids: Sequence[int] = PROMPT, **options: Any) -> Generation:
    async def collect() -> Generation:
        generation = new().generate(ids, **options)
        async for _ in generation:
            pass
        return generation

    return asyncio.run(collect())


def scores_after(ids: Sequence[int]) -> np.ndarray:
    return np.array(asyncio.run(JUDGE.forward(ids)))


def log_softmax(values: np.ndarray) -> np.ndarray:
    exact = values.astype(np.float64) - values.max()
    return np.asarray(exact - np.log(np.exp(exact).sum()))


class Codec:
    """An id from 32 on is the character of that number."""

    vocab_size = VOCAB

    def encode(self, text: str) -> list[int]:
        return list(map(ord, text))

    def id_to_token(self, token: int) -> str | None:
        return chr(token) if 32 <= token < 256 else None


LINE = LineFormatConstraint(
    Codec(), [Literal("a: "), Choice(("yes", "no")), Literal("."), FreeText("\n%", 4)], eos_token_id=EOS
)


class Among:
    def __init__(self, ids: Sequence[int]) -> None:
        self.ids = ids

    def allowed(self, prefix: Sequence[int]) -> Sequence[int]:
        return self.ids


@pytest.mark.parametrize("options", [{}, {"temperature": 1.0, "seed": 6}, {"temperature": 2.5, "top_k": 30, "seed": 7}])
def test_penalties_logprobs_and_a_form_in_one_reply(options: dict[str, Any]) -> None:
    done = run(repetition_penalty=1.1, logprobs=5, constraint=LINE, stop_ids=[EOS], max_tokens=40, **options)
    assert re.fullmatch(r"a: (yes|no)\.[^\n%]{0,4}", "".join(map(chr, done.ids)))
    assert done.finish_reason == "stop"
    assert len(done.logprobs) == len(done.ids)
    for place, (token, found) in enumerate(zip(done.ids, done.logprobs, strict=True)):
        want = log_softmax(_penalized([*PROMPT, *done.ids[:place]], repetition=1.1))
        assert found.logprob == pytest.approx(want[token], abs=1e-4)  # the mask is no part of it
        assert [i for i, _ in found.top] == np.argsort(-want, kind="stable")[:5].tolist()


def _penalized(ids: list[int], dry: Dry | None = None, **options: Any) -> np.ndarray:
    history = np.zeros(128, np.int32)
    history[: len(ids)] = ids
    state = State(rows=len(ids), capacity=128, **options)
    arrays = [np.zeros(1, np.int32), np.zeros(1, np.float32)]
    if dry is not None:
        found = dry.penalties(ids) or {-1: 0.0}
        arrays += [np.array(list(found), np.int32), np.array(list(found.values()), np.float32)]
    return np.asarray(ops.penalize(scores_after(ids), history, state.to_words(), *arrays))


@pytest.mark.parametrize("options", [{}, {"presence_penalty": 0.5}])
def test_log_probabilities_know_nothing_of_dry(options: dict[str, Any]) -> None:
    dry = Dry(30.0)
    done = run(REPEATING, dry=dry, logprobs=2, max_tokens=3, **options)
    behind = log_softmax(_penalized(REPEATING, dry, presence=options.get("presence_penalty", 0.0)))
    assert abs(behind[done.ids[0]] - done.logprobs[0].logprob) > 1e-3  # it would show
    for place, (token, found) in enumerate(zip(done.ids, done.logprobs, strict=True)):
        want = log_softmax(_penalized([*REPEATING, *done.ids[:place]], presence=options.get("presence_penalty", 0.0)))
        assert found.logprob == pytest.approx(want[token], abs=1e-4)


def test_on_the_device_sigma_measures_what_mask_and_dry_left() -> None:
    """Where a sampler on the host measures first: the difference that `Sampling` speaks of."""
    dry, allowed = Dry(4.0), range(0, VOCAB, 2)
    sampling = Sampling(temperature=3.0, top_n_sigma=1.5, dry=dry, seed=11)
    done = run(
        REPEATING, dry=dry, temperature=3.0, top_n_sigma=1.5, seed=11, max_tokens=6, constraint=Among(allowed)
    )  # fmt: skip
    state = State()
    sampling.fill(state)
    ids = list(REPEATING)
    for step in range(6):
        left = ops.mask(_penalized(ids, dry), allowed_mask(allowed, VOCAB))
        ids.append(int(np.argmax(scores(left, replace(state, step=step)))))
    assert done.ids == ids[len(REPEATING) :]


@pytest.mark.parametrize("allowed", [None, range(100, 200)])
def test_a_sampler_on_the_host_draws_with_its_own_numbers(allowed: Sequence[int] | None) -> None:
    sampling = Sampling(temperature=1.2, top_k=40, top_p=0.95, repetition_penalty=1.2, dry=Dry(1.0), top_n_sigma=2.0)
    constraint = None if allowed is None else Among(allowed)
    done = run(sampler=HostSampler(sampling, seed=2**70), max_tokens=6, constraint=constraint)
    twin, ids = HostSampler(sampling, seed=2**70), list(PROMPT)
    for _ in range(6):
        ids.append(twin.pick(scores_after(ids), ids, allowed))
    assert done.ids == ids[len(PROMPT) :]


def test_a_temperature_of_exactly_one_draws_and_a_negative_seed_is_refused() -> None:
    assert len({tuple(run(temperature=1.0, seed=seed, max_tokens=4).ids) for seed in range(4)}) > 1
    with pytest.raises(ShapeError, match=r"^generate: seed must be a whole number from 0 to .*, got -1$"):
        run(temperature=1.0, seed=-1)
