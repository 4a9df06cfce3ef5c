"""Sampling options are checked before anything runs."""

from __future__ import annotations

from typing import Any

import pytest

from webxpu.errors import ShapeError
from webxpu.llm.sampler import MAX_BIASES, Sampling
from webxpu.llm.state import State
from webxpu.ops.penalize import BANNED


def test_the_default_is_greedy_and_any_temperature_above_zero_is_not() -> None:
    assert Sampling().greedy
    assert not Sampling(temperature=0.01).greedy


def test_a_given_seed_is_kept_and_a_missing_one_is_drawn_afresh() -> None:
    assert Sampling(seed=0).resolved_seed() == 0
    assert Sampling(seed=2**64 - 1).resolved_seed() == 2**64 - 1
    drawn = {Sampling().resolved_seed() for _ in range(8)}
    assert len(drawn) == 8
    assert all(0 <= seed < 2**64 for seed in drawn)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"temperature": -0.1}, r"temperature must be a number from 0 to 1e30, got -0\.1"),
        ({"temperature": float("nan")}, "temperature must be a number from 0 to 1e30, got nan"),
        ({"temperature": float("inf")}, "temperature must be a number from 0 to 1e30, got inf"),
        ({"temperature": True}, "temperature must be a number from 0 to 1e30, got True"),
        ({"temperature": "hot"}, "temperature must be a number from 0 to 1e30, got 'hot'"),
        ({"temperature": 10**400}, r"temperature must be a number from 0 to 1e30, got 10{400}"),
        ({"temperature": 1.1e30}, r"temperature must be a number from 0 to 1e30, got 1\.1e\+30"),
        ({"top_p": 0}, "top_p must be a number above 0 and at most 1, got 0"),
        ({"top_p": 1.01}, r"top_p must be a number above 0 and at most 1, got 1\.01"),
        ({"min_p": -0.5}, r"min_p must be a number from 0 to 1, got -0\.5"),
        ({"min_p": 1.5}, r"min_p must be a number from 0 to 1, got 1\.5"),
        ({"top_k": -1}, "top_k must be a whole number from 0 to 4294967295, got -1"),
        ({"top_k": 2**32}, "top_k must be a whole number from 0 to 4294967295, got 4294967296"),
        ({"top_k": 1.0}, r"top_k must be a whole number from 0 to 4294967295, got 1\.0"),
        ({"top_k": True}, "top_k must be a whole number from 0 to 4294967295, got True"),
        ({"top_n_sigma": -1}, "top_n_sigma must be a number from 0 to 1e6, got -1"),
        ({"top_n_sigma": float("inf")}, "top_n_sigma must be a number from 0 to 1e6, got inf"),
        ({"repetition_penalty": 0}, "repetition_penalty must be a number from 1e-6 to 1e6, got 0"),
        ({"repetition_penalty": "1"}, "repetition_penalty must be a number from 1e-6 to 1e6, got '1'"),
        ({"repetition_penalty": 9e-7}, "repetition_penalty must be a number from 1e-6 to 1e6, got 9e-07"),
        ({"repetition_penalty": 1.1e6}, r"repetition_penalty must be a number from 1e-6 to 1e6, got 1100000\.0"),
        ({"presence_penalty": -1.1e6}, r"presence_penalty must be a number from -1e6 to 1e6, got -1100000\.0"),
        ({"frequency_penalty": 1.1e6}, r"frequency_penalty must be a number from -1e6 to 1e6, got 1100000\.0"),
        ({"presence_penalty": float("nan")}, "presence_penalty must be a number from -1e6 to 1e6, got nan"),
        ({"frequency_penalty": float("inf")}, "frequency_penalty must be a number from -1e6 to 1e6, got inf"),
        ({"no_repeat_ngram_size": -2}, "no_repeat_ngram_size must be a whole number from 0 to 4294967295, got -2"),
        ({"no_repeat_ngram_size": 2.0}, r"no_repeat_ngram_size must be a whole number from 0 to 4294967295, got 2\.0"),
        ({"logit_bias": [1]}, r"logit_bias must be a mapping of ids to numbers, got \[1\]"),
        ({"logit_bias": {-1: 2.0}}, "logit_bias must be of ids of at least 0, got -1"),
        ({"logit_bias": {"a": 2.0}}, "logit_bias must be of ids of at least 0, got 'a'"),
        ({"logit_bias": {1: float("inf")}}, "logit_bias must be -inf or a number from -1e6 to 1e6, got inf"),
        ({"logit_bias": {1: float("nan")}}, "logit_bias must be -inf or a number from -1e6 to 1e6, got nan"),
        ({"logit_bias": {1: True}}, "logit_bias must be -inf or a number from -1e6 to 1e6, got True"),
        ({"logit_bias": {1: 1.1e6}}, r"logit_bias must be -inf or a number from -1e6 to 1e6, got 1100000\.0"),
        (
            {"logit_bias": dict.fromkeys(range(MAX_BIASES + 1), 1.0)},
            f"logit_bias must be of at most {MAX_BIASES} ids, got {MAX_BIASES + 1}",
        ),
        ({"dry": 0.8}, r"dry must be a Dry or None, got 0\.8"),
        ({"seed": False}, "seed must be a whole number from 0 to 18446744073709551615, got False"),
        ({"seed": -1}, "seed must be a whole number from 0 to 18446744073709551615, got -1"),
        ({"seed": 2**64}, "seed must be a whole number from 0 to 18446744073709551615, got 18446744073709551616"),
    ],
)
def test_an_option_out_of_range_is_named_with_its_value(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ShapeError, match=f"^generate: {message}$"):
        Sampling(**options)


@pytest.mark.parametrize(
    "options",
    [
        {"top_p": 1}, {"min_p": 1}, {"min_p": 0}, {"top_k": 2**32 - 1}, {"temperature": 2}, {"temperature": 1e30},
        {"top_n_sigma": 0}, {"top_n_sigma": 1e6}, {"repetition_penalty": 1e-6}, {"repetition_penalty": 1e6},
        {"presence_penalty": -1e6}, {"frequency_penalty": 1e6},
        {"logit_bias": {0: -float("inf"), 1: 1e6, 2: -1e6}},
        {"logit_bias": dict.fromkeys(range(MAX_BIASES), 1.0)},
    ],
)  # fmt: skip
def test_the_ends_of_every_range_are_allowed(options: dict[str, Any]) -> None:
    Sampling(**options)


def test_a_temperature_of_exactly_one_draws() -> None:
    assert not Sampling(temperature=1).greedy
    assert not Sampling(temperature=1.0).greedy


@pytest.mark.parametrize(
    "options",
    [
        {"repetition_penalty": 1.1}, {"presence_penalty": 0.1}, {"frequency_penalty": -0.1},
        {"no_repeat_ngram_size": 3}, {"logit_bias": {1: 1.0}},
    ],
)  # fmt: skip
def test_each_penalty_alone_asks_for_penalised_logits(options: dict[str, Any]) -> None:
    assert Sampling(**options).penalized


def test_without_penalties_logits_stay_as_they_are() -> None:
    plain = Sampling(temperature=1.0, top_k=3, top_p=0.5, min_p=0.1, top_n_sigma=1.0, seed=3)
    assert not plain.penalized


def test_all_options_reach_the_state() -> None:
    state = State(position=5, capacity=9, stops=(1,))
    Sampling(
        temperature=0.5, top_k=3, top_p=0.75, min_p=0.25, seed=2**40, top_n_sigma=1.5, repetition_penalty=1.25,
        presence_penalty=0.125, frequency_penalty=-0.5, no_repeat_ngram_size=4, logit_bias={7: 1.0, 3: -2.0},
    ).fill(state)  # fmt: skip
    assert state == State(
        position=5, capacity=9, stops=(1,), temperature=0.5, top_k=3, top_p=0.75, min_p=0.25, seed=2**40,
        top_n_sigma=1.5, repetition=1.25, presence=0.125, frequency=-0.5, no_repeat=4, biases=2,
    )  # fmt: skip


def test_a_greedy_choice_draws_no_seed() -> None:
    state = State(seed=9)
    Sampling().fill(state)
    assert state.seed == 0


def test_the_table_of_biases_has_rising_ids_and_no_infinities() -> None:
    ids, values = Sampling(logit_bias={7: 1.0, 3: -2.0, 9: -float("inf")}).bias_table(10)
    assert (ids.dtype, values.dtype) == ("int32", "float32")
    assert ids.tolist() == [3, 7, 9]
    assert values.tolist() == [-2, 1, BANNED]


def test_a_bias_of_an_id_that_the_vocabulary_lacks_is_named() -> None:
    with pytest.raises(ShapeError, match=r"^generate: logit_bias must be of ids from 0 to 9, got 10$"):
        Sampling(logit_bias={7: 1.0, 10: 1.0}).bias_table(10)
