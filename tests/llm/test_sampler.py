"""Sampling options are checked before anything runs."""

from __future__ import annotations

from typing import Any

import pytest

from webxpu.errors import ShapeError
from webxpu.llm.sampler import Sampling


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
        ({"temperature": -0.1}, r"temperature must be a number of at least 0, got -0\.1"),
        ({"temperature": float("nan")}, "temperature must be a number of at least 0, got nan"),
        ({"temperature": float("inf")}, "temperature must be a number of at least 0, got inf"),
        ({"temperature": True}, "temperature must be a number of at least 0, got True"),
        ({"temperature": "hot"}, "temperature must be a number of at least 0, got 'hot'"),
        ({"top_p": 0}, "top_p must be a number above 0 and at most 1, got 0"),
        ({"top_p": 1.01}, r"top_p must be a number above 0 and at most 1, got 1\.01"),
        ({"min_p": -0.5}, r"min_p must be a number from 0 to 1, got -0\.5"),
        ({"min_p": 1.5}, r"min_p must be a number from 0 to 1, got 1\.5"),
        ({"top_k": -1}, "top_k must be a whole number from 0 to 4294967295, got -1"),
        ({"top_k": 2**32}, "top_k must be a whole number from 0 to 4294967295, got 4294967296"),
        ({"top_k": 1.0}, r"top_k must be a whole number from 0 to 4294967295, got 1\.0"),
        ({"top_k": True}, "top_k must be a whole number from 0 to 4294967295, got True"),
        ({"seed": False}, "seed must be a whole number from 0 to 18446744073709551615, got False"),
        ({"seed": -1}, "seed must be a whole number from 0 to 18446744073709551615, got -1"),
        ({"seed": 2**64}, "seed must be a whole number from 0 to 18446744073709551615, got 18446744073709551616"),
    ],
)
def test_an_option_out_of_range_is_named_with_its_value(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ShapeError, match=f"^generate: {message}$"):
        Sampling(**options)


@pytest.mark.parametrize(
    "options", [{"top_p": 1}, {"min_p": 1}, {"min_p": 0}, {"top_k": 2**32 - 1}, {"temperature": 2}]
)
def test_the_ends_of_every_range_are_allowed(options: dict[str, Any]) -> None:
    Sampling(**options)
