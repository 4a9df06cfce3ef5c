"""DRY penalties: known answers, and the definition read out word by word."""

from __future__ import annotations

import random
from typing import Any

import pytest

from webxpu.errors import ShapeError
from webxpu.llm.dry import FOLLOWED_TOKENS, Dry

# Twice "5 6 7" came before, once followed by 8 and once by 9.
RUN = [5, 6, 7, 8, 5, 6, 7, 9, 5, 6, 7]


def test_both_followers_of_a_repetition_lose_what_three_tokens_cost() -> None:
    assert Dry(0.8, 1.75, 2).penalties(RUN) == pytest.approx({8: 0.8 * 1.75, 9: 0.8 * 1.75})


@pytest.mark.parametrize("options", [{"breakers": {6}}, {"range": 5}, {"allowed_length": 4}])
def test_a_breaker_a_short_range_or_a_longer_allowance_change_nothing(options: dict[str, Any]) -> None:
    assert Dry(0.8, 1.75, **{"allowed_length": 2, **options}).penalties(RUN) == {}


def test_a_breaker_is_never_penalised() -> None:
    assert Dry(0.8, breakers=frozenset({8})).penalties(RUN).keys() == {9}


def test_a_long_repetition_costs_no_more_than_one_of_so_many_tokens() -> None:
    dry = Dry(1.0, 1.1, 2)
    assert dry.penalties([4] * 500) == {4: dry.penalty(2 + FOLLOWED_TOKENS)}


@pytest.mark.parametrize("history", [[], [3]])
def test_a_history_too_short_to_repeat_costs_nothing(history: list[int]) -> None:
    assert Dry(1.0, allowed_length=1).penalties(history) == {}


def spelled_out(history: list[int], dry: Dry, candidate: int) -> float:
    """The penalty of one candidate, as its formula is written."""
    n = len(history)
    low = max(0, n - dry.range) if dry.range else 0
    best = 0
    if candidate in dry.breakers:
        return 0.0
    for i in range(low, n):
        if history[i] != candidate:
            continue
        length = 0
        while (
            i - 1 - length >= low
            and history[i - 1 - length] == history[n - 1 - length]
            and history[i - 1 - length] not in dry.breakers
            and length < dry.allowed_length + 32
        ):
            length += 1
        best = max(best, length)
    return dry.multiplier * dry.base ** (best - dry.allowed_length) if best >= dry.allowed_length else 0.0


def test_all_penalties_are_those_of_the_formula() -> None:
    draw = random.Random(5)
    seen = 0
    for _ in range(300):
        history = [draw.randrange(4) for _ in range(draw.randrange(60))]
        breakers = frozenset(draw.sample(range(4), draw.randrange(2)))
        dry = Dry(0.7, 1.3, draw.randrange(1, 5), draw.choice([0, 7, 30]), breakers)
        got = dry.penalties(history)
        seen += len(got)
        assert got == {c: p for c in range(4) if (p := spelled_out(history, dry, c))}
    assert seen > 200


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"multiplier": 0}, "multiplier must be a number above 0, got 0"),
        ({"multiplier": float("nan")}, "multiplier must be a number above 0, got nan"),
        ({"base": 0.9}, r"base must be a number of at least 1, got 0\.9"),
        ({"base": 1e12}, r"base must be a number whose power of 32 is finite, got 1000000000000\.0"),
        ({"allowed_length": 0}, "allowed_length must be a whole number of at least 1, got 0"),
        ({"allowed_length": 2.0}, r"allowed_length must be a whole number of at least 1, got 2\.0"),
        ({"range": -1}, "range must be a whole number of at least 0, got -1"),
        ({"breakers": {-1}}, r"breakers must be ids of at least 0, got \{-1\}"),
        ({"breakers": "ab"}, "breakers must be ids of at least 0, got 'ab'"),
        ({"breakers": 5}, "breakers must be ids of at least 0, got 5"),
    ],
)
def test_an_option_out_of_range_is_named_with_its_value(options: dict[str, Any], text: str) -> None:
    with pytest.raises(ShapeError, match=f"^dry: {text}$"):
        Dry(**{"multiplier": 0.8, **options})


def test_breakers_may_be_any_collection() -> None:
    assert Dry(1.0, breakers=[3, 4]).breakers == {3, 4}  # type: ignore[arg-type]
