"""Constraints: masks, the adaptor for functions, and replies of a fixed form, made at random and read back."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from webxpu import ops
from webxpu.errors import ShapeError
from webxpu.llm.constraints import Candidates, ConstraintError, allowed_ids, allowed_mask
from webxpu.llm.constraints.line_format import Choice, FreeText, LineFormatConstraint, Literal
from webxpu.llm.host_sampler import drawn, permitted
from webxpu.llm.sampler import Sampling

CHARACTERS = "abcdefghijklmnopqrstuvwxyz: \nÄ日🙂"
EOS = 0
# Pieces: none, the characters, some longer ones, one that stands for nothing, and a control token.
PIECES = [None, *CHARACTERS, "pol", "icy", "allow", "de", "ny", "rev", "\n\n", "日🙂", "", None]


class Letters:
    """Encodes with the longest piece that fits."""

    vocab_size = len(PIECES)

    def encode(self, text: str) -> list[int]:
        ids = []
        while text:
            best = max((p for p in PIECES if p and text.startswith(p)), key=len)
            ids.append(PIECES.index(best))
            text = text[len(best) :]
        return ids

    def id_to_token(self, token: int) -> str | None:
        return PIECES[token]


def text_of(ids: Sequence[int]) -> str:
    return "".join(PIECES[i] or "" for i in ids)


LINE = (Literal("policy: "), Choice(("allow", "deny", "review")), Literal("\ntopic: "), FreeText("\n", 6))


def line(*segments: Any, eos_token_id: int = EOS) -> LineFormatConstraint:
    return LineFormatConstraint(Letters(), segments, eos_token_id=eos_token_id)


def mulberry32(seed: int) -> Callable[[], float]:
    """The generator of the test that this one follows."""
    state = seed

    def draw() -> float:
        nonlocal state
        state = (state + 0x6D2B79F5) & 0xFFFFFFFF
        t = ((state ^ state >> 15) * (state | 1)) & 0xFFFFFFFF
        t ^= (t + ((t ^ t >> 7) * (t | 61) & 0xFFFFFFFF)) & 0xFFFFFFFF
        return ((t ^ t >> 14) & 0xFFFFFFFF) / 2**32

    return draw


def generated(constraint: Any, seed: int, most: int = 200) -> list[int]:
    """A reply by random logits, drawn with top_p 0.95 from what the constraint allows."""
    noise = mulberry32(seed)
    sampling = Sampling(temperature=1.2, top_p=0.95)
    ids: list[int] = []
    while len(ids) < most:
        logits = np.array([noise() * 8 - 4 for _ in PIECES], np.float32)
        allowed = allowed_ids(constraint, ids, len(PIECES))
        token = drawn(permitted(logits, len(PIECES), allowed), sampling, noise)
        if token == EOS:
            return ids
        ids.append(token)
    raise AssertionError("it does not end")


@pytest.mark.parametrize("seed", range(1, 9))
def test_random_replies_have_the_form(seed: int) -> None:
    constraint = line(*LINE)
    for turn in range(12):
        text = text_of(generated(constraint, seed * 1000 + turn if turn else seed))
        assert re.fullmatch(r"policy: (allow|deny|review)\ntopic: [^\n]{0,6}", text), text


def test_random_replies_use_all_that_is_allowed() -> None:
    texts = {text_of(generated(line(*LINE), seed)) for seed in range(300)}
    assert {re.split(r"[ \n]", text)[1] for text in texts} == {"allow", "deny", "review"}
    lengths = {len(text.split("topic: ")[1]) for text in texts}
    assert {0, 6} <= lengths
    assert any("日🙂" in text for text in texts)


def test_each_part_allows_what_may_come_next() -> None:
    constraint, encode = line(*LINE), Letters().encode
    ids = encode("policy: ")
    for place, token in enumerate(ids):
        assert set(constraint.allowed(ids[:place])) == {token}
    assert set(constraint.allowed(ids)) == {encode(c)[0] for c in ("allow", "deny", "review")}
    ids += encode("deny") + encode("\ntopic: ")
    free = set(constraint.allowed(ids))
    assert free == {i for i, piece in enumerate(PIECES) if piece is not None and "\n" not in piece} | {EOS}
    ids += encode("日🙂abc")
    assert {len(PIECES[i] or "") for i in constraint.allowed(ids)} == {0, 1}
    ids += encode("d")
    assert set(constraint.allowed(ids)) == {EOS}
    assert set(constraint.allowed([*ids, EOS])) == set()


def test_without_free_text_only_the_end_follows_and_then_nothing() -> None:
    constraint, ids = line(Literal("ab")), Letters().encode("ab")
    assert set(constraint.allowed(ids)) == {EOS}
    assert set(constraint.allowed([*ids, EOS])) == set()
    assert set(line().allowed([])) == {EOS}


def test_prefixes_in_any_order_give_the_same() -> None:
    """It goes on from the prefix before, where this one continues it."""
    encode = Letters().encode
    ids = encode("policy: ") + encode("review") + encode("\ntopic: ") + encode("abc")
    fresh = [set(line(*LINE).allowed(ids[:n])) for n in range(len(ids) + 1)]
    constraint = line(*LINE)
    for n in (3, 4, 0, len(ids), 2, 9, len(ids), 5):
        assert set(constraint.allowed(ids[:n])) == fresh[n]
    with pytest.raises(ConstraintError):
        constraint.allowed([*ids[:5], 1])
    assert set(constraint.allowed(ids[:6])) == fresh[6]


@pytest.mark.parametrize(
    ("segments", "text", "message"),
    [
        (LINE, "pox", "prefix diverges from the literal at position 0: expected 33, got 16"),
        (LINE, "policy: x", "prefix matches no choice at position 4: got 24"),
        (LINE, "policy: allow\ntopic: a\n", "token at position 14 is not allowed in free text: got 29"),
        (LINE, "policy: allow\ntopic: abcdefg", "free text is longer than 6 at position 18: got 7 code points"),
        ((Literal("ab"),), "abc", "prefix goes on after the format is complete at position 2: got 3"),
    ],
)
def test_a_prefix_of_another_form_is_an_error(segments: Any, text: str, message: str) -> None:
    encode = Letters().encode
    ids = [i for part in re.split("(policy: |allow|\ntopic: )", text) for i in encode(part)]
    with pytest.raises(ConstraintError, match=f"^{re.escape(message)}$"):
        line(*segments).allowed(ids)


def test_nothing_comes_behind_the_end() -> None:
    for segments in ((Literal("ab"),), (FreeText("", 5),)):
        ids = [*(Letters().encode("ab") if isinstance(segments[0], Literal) else []), EOS]
        with pytest.raises(ConstraintError, match=r"^prefix goes on after the format is complete at position"):
            line(*segments).allowed([*ids, EOS])


@pytest.mark.parametrize(
    ("segments", "message"),
    [
        ([Literal("a"), Literal("")], "literal segment 1 must be of at least one token, got ''"),
        ([Choice(())], "choice segment 0 must have choices, got none"),
        ([Choice(("a", ""))], "a choice of segment 0 must be of at least one token, got ''"),
        ([Choice(("ab", "abc"))], "choices of segment 0 must not begin with one another in tokens, got 'abc' and 'ab'"),
        ([Choice(("abc", "ab"))], "choices of segment 0 must not begin with one another in tokens, got 'ab' and 'abc'"),
        ([Choice(("ab", "ab"))], "choices of segment 0 must not begin with one another in tokens, got 'ab' and 'ab'"),
        ([FreeText(), Literal("a")], "free text must be the last segment, got segment 0"),
        ([FreeText("", -1)], "max_length must be at least 0, got -1"),
    ],
)
def test_a_form_that_can_not_be_followed_is_named(segments: list[Any], message: str) -> None:
    with pytest.raises(ShapeError, match=f"^LineFormatConstraint: {re.escape(message)}$"):
        line(*segments)


@pytest.mark.parametrize("eos", [-1, len(PIECES)])
def test_an_end_that_the_vocabulary_lacks_is_named(eos: int) -> None:
    with pytest.raises(ShapeError, match=f"^LineFormatConstraint: eos_token_id must be from 0 to .*, got {eos}$"):
        line(eos_token_id=eos)


def test_choices_may_share_a_beginning() -> None:
    constraint, encode = line(Choice(("abc", "abd"))), Letters().encode
    assert set(constraint.allowed(encode("ab"))) == {*encode("c"), *encode("d")}


@pytest.mark.parametrize("vocab", [1, 31, 32, 33, 100])
def test_a_mask_has_a_bit_for_each_allowed_id(vocab: int) -> None:
    allowed = {0, vocab - 1, vocab // 2}
    words = allowed_mask(allowed, vocab)
    assert (words.dtype, words.shape) == (np.uint32, (-(-vocab // 32),))
    left = ops.mask(np.ones(vocab, np.float32), words)
    assert set(np.flatnonzero(left == 1).tolist()) == allowed
    assert allowed_mask(None, vocab).tolist() == allowed_mask(range(vocab), vocab).tolist()


@pytest.mark.parametrize("token", [-1, 40])
def test_an_id_that_the_vocabulary_lacks_is_named(token: int) -> None:
    message = f"^constraint: allowed must be ids from 0 to 39, got {token}$"
    with pytest.raises(ShapeError, match=message):
        allowed_mask([3, token], 40)
    with pytest.raises(ShapeError, match=message):
        allowed_ids(Fixed([3, token]), [], 40)


class Fixed:
    def __init__(self, ids: Any) -> None:
        self.ids = ids

    def allowed(self, prefix: Sequence[int]) -> Any:
        return self.ids


def test_none_allows_all_and_an_empty_set_is_an_error() -> None:
    assert allowed_ids(Fixed(None), [1], 5) is None
    assert allowed_ids(Fixed([2, 4]), [1], 5) == [2, 4]
    for nothing in ([], set(), frozenset(), np.array([], np.int32)):
        with pytest.raises(ConstraintError, match=r"^constraint allows no token to follow this prefix$"):
            allowed_ids(Fixed(nothing), [1], 5)


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ([1.5, 2], "allowed must be ids from 0 to 9, got 1.5"),
        (["a"], "allowed must be ids from 0 to 9, got 'a'"),
        ([3, 10**30], "allowed must be ids from 0 to 9, got 3"),
        (5, "allowed must be a collection of ids, or None, got 5"),
        (iter([5]), "allowed must be a collection of ids, or None, got <list_iterator"),
    ],
)
def test_what_a_constraint_allows_must_be_ids(said: Any, message: str) -> None:
    with pytest.raises(ShapeError, match=f"^constraint: {message}"):
        allowed_ids(Fixed(said), [], 10)


def test_a_function_over_candidates_is_a_constraint() -> None:
    even_after_odd = Candidates(10, lambda prefix, token: token % 2 != (prefix[-1] % 2 if prefix else 1))
    assert list(even_after_odd.allowed([])) == [0, 2, 4, 6, 8]
    assert list(even_after_odd.allowed([4])) == [1, 3, 5, 7, 9]
    with pytest.raises(ShapeError, match=r"^Candidates: vocab must be at least 1, got 0$"):
        Candidates(0, lambda prefix, token: True)
