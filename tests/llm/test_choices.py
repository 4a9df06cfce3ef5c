"""How ids are chosen: penalties, biases, log-probabilities, constraints, DRY and samplers on the host."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import pytest

from tests.llm import tiny
from tests.llm.numpy_device import ConversationOnNumpy, numpy_engine
from webxpu import ops
from webxpu.errors import ShapeError
from webxpu.llm.constraints import ConstraintError
from webxpu.llm.dry import Dry
from webxpu.llm.generate import Generation
from webxpu.llm.state import State

CONFIG, ARRAYS = tiny.model()[0], tiny.dense()
PROMPT = tiny.golden()["prompt"].tolist()
GREEDY = tiny.golden()["greedy"].tolist()


def new() -> ConversationOnNumpy:
    return numpy_engine(CONFIG, ARRAYS, 128)


def run(sequence: ConversationOnNumpy | None = None, ids: Sequence[int] = PROMPT, **options: Any) -> Generation:
    async def collect() -> Generation:
        generation = (sequence or new()).generate(ids, **options)
        async for _ in generation:
            pass
        return generation

    return asyncio.run(collect())


def scores_after(ids: Sequence[int]) -> np.ndarray:
    return asyncio.run(new().forward(ids))


def expected(count: int, choose: Any) -> list[int]:
    """Ids chosen one by one by a function of the ids so far and the scores after them, each time from the start."""
    ids = list(PROMPT)
    for _ in range(count):
        ids.append(int(choose(ids, scores_after(ids))))
    return ids[len(PROMPT) :]


def penalized(ids: list[int], scores: np.ndarray, biases: dict[int, float] | None = None, **options: Any) -> np.ndarray:
    state = State(position=len(ids) - 1, capacity=128, biases=len(biases or {}), **options)
    history = np.zeros(128, np.int32)
    history[: len(ids)] = ids
    table = biases or {0: 0.0}
    return ops.penalize(
        scores, history, state.to_words(), np.array(list(table), np.int32), np.array(list(table.values()), np.float32)
    )


def test_penalties_change_greedy_choices() -> None:
    done = run(max_tokens=8, repetition_penalty=1.3, presence_penalty=0.2, frequency_penalty=0.1)
    want = expected(8, lambda ids, scores: penalized(ids, scores, repetition=1.3, presence=0.2, frequency=0.1).argmax())
    assert done.ids == want != GREEDY[:8]


def test_biases_come_first_and_ban() -> None:
    biases = {GREEDY[0]: -np.inf, GREEDY[1]: -5.0, 17: 1.5}
    done = run(max_tokens=6, logit_bias=biases)
    assert done.ids == expected(6, lambda ids, scores: penalized(ids, scores, biases).argmax())
    assert GREEDY[0] not in done.ids


def test_ngrams_do_not_come_twice() -> None:
    ids = run(max_tokens=20, no_repeat_ngram_size=2).ids
    whole = [*PROMPT, *ids]
    pairs = list(itertools.pairwise(whole))
    before = set(pairs[: len(PROMPT) - 1])
    new_pairs = pairs[len(PROMPT) - 1 :]
    assert not before & set(new_pairs)
    assert len(set(new_pairs)) == len(new_pairs)


def test_options_that_are_off_use_the_programs_of_every_chat() -> None:
    sequence = new()
    run(sequence, max_tokens=4, repetition_penalty=1.0, logit_bias={}, temperature=0.7, seed=3)
    assert {label.split()[-1] for label in sequence.device.ran} <= {"64", "16", "sample"}


@pytest.mark.parametrize("options", [{}, {"temperature": 0.9, "seed": 4}, {"presence_penalty": 0.5}])
def test_logprobs_are_those_of_the_whole_vocabulary(options: dict[str, Any]) -> None:
    done = run(max_tokens=6, logprobs=3, **options)
    assert done.ids == run(max_tokens=6, **options).ids
    assert len(done.logprobs) == len(done.ids)
    for place, (token, found) in enumerate(zip(done.ids, done.logprobs, strict=True)):
        before = [*PROMPT, *done.ids[:place]]
        scores = scores_after(before).astype(np.float64)
        if "presence_penalty" in options:
            scores = penalized(before, scores.astype(np.float32), presence=0.5).astype(np.float64)
        want = scores - scores.max() - np.log(np.exp(scores - scores.max()).sum())
        assert found.logprob == pytest.approx(want[token], abs=1e-4)
        assert [i for i, _ in found.top] == np.argsort(-want)[:3].tolist()
        assert [v for _, v in found.top] == pytest.approx(np.sort(want)[:-4:-1].tolist(), abs=1e-4)


class Only:
    """Allows what a function of the reply's place says."""

    def __init__(self, allowed: Any) -> None:
        self._allowed = allowed
        self.asked: list[list[int]] = []

    def allowed(self, prefix: Sequence[int]) -> Collection[int] | None:
        self.asked.append(list(prefix))
        found: Collection[int] | None = self._allowed(len(prefix))
        return found


def test_a_constraint_that_allows_all_changes_nothing() -> None:
    for options in ({}, {"temperature": 1.0, "seed": 5}, {"temperature": 1.0, "seed": 5, "logprobs": 2}):
        plain = run(max_tokens=10, **options)  # type: ignore[arg-type]
        stepped = run(max_tokens=10, constraint=Only(lambda _: None), **options)  # type: ignore[arg-type]
        assert stepped.ids == plain.ids
        assert stepped.logprobs == plain.logprobs


def test_only_allowed_ids_come_and_the_best_of_them() -> None:
    even = [i for i in range(320) if i % 2 == 0]
    only = Only(lambda place: even if place % 2 else {5, 6, 7})
    done = run(max_tokens=7, constraint=only)
    assert only.asked == [done.ids[:place] for place in range(7)]

    def choose(ids: list[int], scores: np.ndarray) -> int:
        allowed = sorted(even if (len(ids) - len(PROMPT)) % 2 else {5, 6, 7})
        return allowed[int(np.argmax(scores[allowed]))]

    assert done.ids == expected(7, choose)


def test_ids_that_are_forced_are_fed_without_being_chosen() -> None:
    sequence = new()
    forced = Only(lambda place: [(9, 8, 7, 6)[place]] if place < 4 else None)
    done = run(sequence, max_tokens=6, constraint=forced)
    assert done.ids[:4] == [9, 8, 7, 6]
    assert done.ids == [9, 8, 7, 6, *run(ids=[*PROMPT, 9, 8, 7, 6], max_tokens=2).ids]
    assert sequence.device.calls.count("read") == 2
    assert sequence.ledger.ids == [*PROMPT, *done.ids[:5]]


def test_ids_that_were_forced_at_the_end_are_fed_by_the_next_turn() -> None:
    sequence = new()
    done = run(sequence, max_tokens=6, constraint=Only(lambda place: [place] if place > 1 else None))
    assert done.ids == [*GREEDY[:2], 2, 3, 4, 5]
    assert sequence.ledger.ids == [*PROMPT, GREEDY[0]]
    longer = [*PROMPT, *done.ids]
    assert run(sequence, longer, max_tokens=4).ids == run(ids=longer, max_tokens=4).ids


def test_an_id_costs_a_read_of_four_bytes() -> None:
    sequence = new()
    run(sequence, max_tokens=5, constraint=Only(lambda _: range(300)))
    assert sequence.device.calls == ["submit", *["submit", "read"] * 5]


def test_a_forced_stop_id_ends_the_reply() -> None:
    sequence = new()
    done = run(sequence, max_tokens=6, stop_ids=[9], constraint=Only(lambda place: [9] if place == 2 else None))
    assert (done.ids, done.finish_reason) == (GREEDY[:2], "stop")
    assert sequence.ledger.ids == [*PROMPT, GREEDY[0]]  # the second id was chosen and not fed yet
    assert run(sequence, ids=[*PROMPT, *GREEDY[:2]], max_tokens=5).ids == GREEDY[2:7]


def test_a_constraint_that_allows_nothing_or_what_is_no_id_is_an_error() -> None:
    with pytest.raises(ConstraintError, match=r"^constraint allows no token to follow this prefix$"):
        run(max_tokens=3, constraint=Only(lambda _: []))
    with pytest.raises(ShapeError, match=r"^constraint: allowed must be ids from 0 to 319, got 320$"):
        run(max_tokens=3, constraint=Only(lambda _: [3, 320]))


def test_dry_makes_repetitions_dearer() -> None:
    prompt = [4, 5, 6, 7] * 8
    dry = Dry(multiplier=30.0, allowed_length=2)

    def run_it(**options: Any) -> list[int]:
        return run(ids=prompt, max_tokens=6, **options).ids

    ids, want = list(prompt), []
    for _ in range(6):
        scores = scores_after(ids).copy()
        for token, cost in dry.penalties(ids).items():
            scores[token] -= cost
        want.append(int(scores.argmax()))
        ids.append(want[-1])
    assert run_it(dry=dry) == want
    assert run_it(dry=dry, temperature=1.0, top_k=1, seed=1) == want


class Second:
    """Takes the second best."""

    def pick(self, logits: np.ndarray, ids: Sequence[int], allowed: Collection[int] | None = None) -> int:
        assert allowed is None
        self.seen = list(ids)
        return int(np.argsort(-logits)[1])


def test_a_sampler_on_the_host_sees_all_scores() -> None:
    sequence, second = new(), Second()
    done = run(sequence, max_tokens=5, sampler=second)
    assert done.ids == expected(5, lambda _, scores: np.argsort(-scores)[1])
    assert second.seen == [*PROMPT, *done.ids[:4]]
    assert sequence.ledger.ids == [*PROMPT, *done.ids[:4]]
    with pytest.raises(ShapeError, match=r"^generate: logprobs must be 0 with a sampler"):
        run(sampler=second, logprobs=1)


@pytest.mark.parametrize("most", [-1, 33, 1.0, True])
def test_a_number_of_logprobs_that_can_not_be_is_refused(most: Any) -> None:
    with pytest.raises(ShapeError, match=r"^generate: logprobs must be a whole number from 0 to 32, got"):
        new().generate(PROMPT, logprobs=most)


@pytest.mark.parametrize("picked", [CONFIG.vocab, -1, 2.5, "a", None])
def test_what_a_sampler_picks_must_be_an_id(picked: Any) -> None:
    class Picks:
        def pick(self, logits: np.ndarray, ids: Any, allowed: Any = None) -> Any:
            return picked

    one = new()
    with pytest.raises(ShapeError, match=f"^generate: sampler must pick an id from 0 to 319, got {picked!r}$"):
        run(one, sampler=Picks(), max_tokens=2)
    assert run(one, max_tokens=3).ids == GREEDY[:3]
