"""The sampler on the host: known answers of another runtime, token for token, and each of its steps."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection
from typing import Any

import numpy as np
import pytest

from webxpu import ops
from webxpu.errors import ShapeError
from webxpu.llm.constraints import ConstraintError
from webxpu.llm.dry import Dry
from webxpu.llm.host_sampler import HostSampler, Ranked, drawn, lowered, penalized, permitted, within
from webxpu.llm.sampler import Sampling
from webxpu.llm.state import State

RUN = [5, 6, 7, 8, 5, 6, 7, 9, 5, 6, 7]
CANDIDATES = Ranked(np.arange(10, 16), np.array([5, 4.5, 4, 2, 1, -1], np.float32))
DRAWS = {
    0: (0.8444218515250481, 0.7579544029403025, 0.420571580830845),
    1: (0.13436424411240122, 0.8474337369372327, 0.763774618976614),
    42: (0.6394267984578837, 0.025010755222666936, 0.27502931836911926),
    123: (0.052363598850944326, 0.08718667752263232, 0.4072417636703983),
    4294967296: (0.11299430095636409, 0.41782886486292836, 0.0166763664992291),
    1099511627783: (0.6137037779936511, 0.8149162973309487, 0.9450115087592873),
}


@pytest.mark.parametrize("seed", DRAWS)
def test_the_random_numbers_are_those_of_the_seed(seed: int) -> None:
    draw = HostSampler(Sampling(temperature=1.0), seed=seed)._draw
    assert tuple(draw() for _ in range(3)) == DRAWS[seed]


@pytest.mark.parametrize(
    ("options", "tokens"),
    [
        ({"temperature": 0.5}, "11,10,12,10,10,10,11,10,10,10,10,10"),
        ({"temperature": 2}, "12,10,14,10,10,11,12,10,10,11,11,11"),
        ({"temperature": 2, "top_p": 0.8}, "12,10,12,10,10,11,12,10,10,11,11,11"),
        ({"temperature": 2, "min_p": 0.3}, "12,10,12,10,10,11,12,10,10,11,11,11"),
        ({"temperature": 2, "top_p": 0.6, "min_p": 0.3}, "11,10,11,10,10,11,11,10,10,10,11,10"),
    ],
)
def test_tokens_are_those_of_the_other_runtime_seed_by_seed(options: dict[str, Any], tokens: str) -> None:
    logits = np.full(20, -np.inf, np.float32)
    logits[10:16] = CANDIDATES.logits
    sampling = Sampling(**options)
    picked = [HostSampler(sampling, seed=seed).pick(logits, [1]) for seed in range(12)]
    assert ",".join(map(str, picked)) == tokens
    assert [drawn(CANDIDATES, sampling, random.Random(seed).random) for seed in range(12)] == picked


def test_one_number_is_drawn_for_each_token_and_none_for_a_greedy_one() -> None:
    sampler = HostSampler(Sampling(temperature=1.0), seed=42)
    for _ in range(2):
        sampler.pick(np.zeros(4, np.float32), [0])
    assert sampler._draw() == DRAWS[42][2]
    greedy = HostSampler(Sampling(), seed=42)
    assert greedy.pick(np.array([1, 3, 3, 2], np.float32), [0]) == 1
    assert greedy._draw() == DRAWS[42][0]


def test_dry_lowers_both_repeats_and_sorts_anew() -> None:
    ranked = Ranked(np.array([8, 9, 4]), np.array([3, 2.9, 2.8], np.float32))
    after = lowered(ranked, Dry(0.8, 1.75, 2).penalties(RUN))
    assert after.ids.tolist() == [4, 8, 9]
    np.testing.assert_allclose(after.logits, [2.8, 1.6, 1.5], rtol=1e-6)


def test_equal_logits_keep_their_order_where_dry_changes_nothing_of_it() -> None:
    ranked = Ranked(np.array([8, 3, 9, 1]), np.array([2, 2, 2, 1], np.float32))
    assert lowered(ranked, {8: 1.0, 9: 0.0}).ids.tolist() == [3, 9, 8, 1]


@pytest.mark.parametrize(
    ("distance", "left"), [(0.0, 1), (0.4, 1), (0.5, 2), (1.2, 3), (10.0, 6)],
)  # fmt: skip
def test_the_cut_keeps_a_prefix(distance: float, left: int) -> None:
    assert within(CANDIDATES, distance).ids.tolist() == CANDIDATES.ids[:left].tolist()


def test_sigma_is_that_of_all_scores_and_counts_from_the_best_permitted_candidate() -> None:
    logits = np.array([9, 4, 3.5, 1, 0, 0, 0, 0], np.float32)
    sigma = float(logits.std())
    sampling = Sampling(temperature=5.0, top_n_sigma=0.6 / sigma)
    picked = {HostSampler(sampling, seed=s).pick(logits, [], allowed=range(1, 8)) for s in range(60)}
    assert picked == {1, 2}


def test_dry_comes_behind_the_cuts() -> None:
    """Sigma keeps 9 and 8 of 9, 8 and 1; what dry takes from 9 brings 1 into no one's reach."""
    logits = np.array([0, 0, 0, 0, 0, 0, 0, 1, 8, 9], np.float32)
    dry = Dry(100.0, 1.0, 2)
    for options in ({"top_n_sigma": 0.5}, {"top_k": 2}):
        sampling = Sampling(temperature=9.0, dry=dry, **options)
        picked = {HostSampler(sampling, seed=s).pick(logits, [1, 2, 9, 1, 2]) for s in range(40)}
        assert picked == {8}
    assert HostSampler(Sampling(dry=dry)).pick(logits, [1, 2, 9, 1, 2]) == 8


@pytest.mark.parametrize(
    ("allowed", "count", "wanted"),
    [
        (None, 3, [4, 0, 2]),
        (None, 9, [4, 0, 2, 1]),
        ({0, 1, 2}, 3, [0, 2]),
        ({1, 3}, 2, [1]),
        ({1, 3, 5}, 9, [1]),
        ({3, 5}, 9, [3]),
    ],
)
def test_candidates_are_the_highest_then_those_allowed_then_one_that_is_banned(
    allowed: Collection[int] | None, count: int, wanted: list[int]
) -> None:
    banned = -(2.0**127)
    scores = np.array([5, 1, 5, banned, 6, banned], np.float32)
    assert permitted(scores, count, allowed).ids.tolist() == wanted


def test_nothing_allowed_is_an_error() -> None:
    with pytest.raises(ConstraintError, match=r"^constraint allows no token to follow this prefix$"):
        HostSampler(Sampling()).pick(np.zeros(3, np.float32), [], allowed=())


def test_penalties_are_those_of_the_gpu() -> None:
    logits = np.linspace(-3, 3, 12, dtype=np.float32)
    sampling = Sampling(
        repetition_penalty=1.3, presence_penalty=0.2, frequency_penalty=0.1, no_repeat_ngram_size=3,
        logit_bias={1: -np.inf, 11: 2.0},
    )  # fmt: skip
    state = State(rows=len(RUN), capacity=40)
    sampling.fill(state)
    wanted = ops.penalize(logits, np.array(RUN, np.int32), state.to_words(), *sampling.bias_table(12))
    np.testing.assert_array_equal(penalized(logits, RUN, sampling), wanted)


def test_a_seed_may_have_more_than_64_bits_and_comes_before_that_of_the_options() -> None:
    def first(make: Callable[[], HostSampler]) -> float:
        return make()._draw()

    assert first(lambda: HostSampler(Sampling(seed=1), seed=2**90)) == random.Random(2**90).random()
    assert first(lambda: HostSampler(Sampling(seed=42))) == DRAWS[42][0]
    assert len({first(lambda: HostSampler(Sampling())) for _ in range(5)}) == 5
    with pytest.raises(ShapeError, match=r"^HostSampler: seed must be a whole number of at least 0, got -1$"):
        HostSampler(Sampling(), seed=-1)


def test_the_draw_falls_back_to_the_last_token_kept() -> None:
    assert drawn(CANDIDATES, Sampling(temperature=1.0, top_p=0.8), lambda: 1.0 + 1e-9) == 12
