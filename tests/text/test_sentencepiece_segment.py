"""Ways to cut a text that must come to the same."""

from __future__ import annotations

import random

import pytest

import webxpu.text.sentencepiece_segment as segment
from tests.text.sentencepiece_files import BPE, HEAD, NORMAL, UNUSED, USER_DEFINED, model, trained
from webxpu.formats.sentencepiece_model import ModelType, PieceType, read_sentencepiece_model

SPACE = "\u2581"
FILES = {name: read_sentencepiece_model(data, name) for name, data in trained().items()}
MERGED = [
    name
    for name, found in FILES.items()
    if found.model_type == ModelType.BPE and not found.columns.ids_of(PieceType.UNUSED)
]


def texts(name: str, count: int) -> list[str]:
    """Pieces of a model beside each other, some of them many times."""
    rng = random.Random(name)
    pieces = [piece for piece in FILES[name].columns.texts if piece != "\0"]
    return [
        "".join(rng.choice(pieces) * rng.choice((1, 1, 1, 2, 30)) for _ in range(rng.randrange(25)))
        for _ in range(count)
    ]


def bpe(pieces: list[tuple[str, float, int]]) -> segment.Bpe:
    return segment.Bpe(read_sentencepiece_model(model([*HEAD, *pieces], {3: BPE})))


@pytest.mark.parametrize("name", MERGED)
def test_bpe_comes_to_the_same_by_words_and_by_the_whole_text(name, monkeypatch):
    cut, whole = segment.Bpe(FILES[name]), segment.Bpe(FILES[name])
    whole._by_words = False
    with monkeypatch.context() as patch:
        patch.setattr(segment, "_MAX_WORD_CHARACTERS", 0)
        expected = [whole(text) for text in texts(name, 300)]
    assert [cut(text) for text in texts(name, 300)] == expected
    assert [cut(text) for text in texts(name, 300)] == expected  # words that are known by now


def test_a_piece_over_a_word_boundary_is_found():
    letters = [(letter, -9.0, NORMAL) for letter in (SPACE, "a", "b")]
    cut = bpe([*letters, (f"a{SPACE}", -1.0, NORMAL), (f"a{SPACE}b", -2.0, NORMAL)])
    assert [piece for piece, _ in cut(f"a{SPACE}b{SPACE}a")] == [f"a{SPACE}b", SPACE, "a"]
    runs = bpe([*letters, (SPACE * 2, -1.0, NORMAL), (f"{SPACE}a", -2.0, NORMAL)])
    assert [piece for piece, _ in runs(f"a{SPACE * 3}a{SPACE}")] == ["a", SPACE * 2, f"{SPACE}a", SPACE]


def test_words_that_are_remembered_are_few_and_short(monkeypatch):
    monkeypatch.setattr(segment, "_MAX_KNOWN_WORDS", 10)
    cut = bpe([(letter, 0.0, NORMAL) for letter in (SPACE, *"abcdefghijklmnopqrstuvwxyz")])
    for letter in "abcdefghijklmnopqrstuvwxyz":
        cut(f"{SPACE}{letter}")
        assert len(cut._known) <= 10
    cut(SPACE + "a" * segment._MAX_WORD_CHARACTERS)
    assert max(map(len, cut._known)) <= segment._MAX_WORD_CHARACTERS


def test_what_is_asked_for_again_is_not_what_a_caller_changed():
    cut = bpe([(letter, 0.0, NORMAL) for letter in (SPACE, "a")])
    cut(f"{SPACE}a").clear()
    assert [piece for piece, _ in cut(f"{SPACE}a")] == [SPACE, "a"]


def test_unused_pieces_are_taken_apart_as_the_whole_text_was_merged():
    pieces = [(letter, -9.0, NORMAL) for letter in (SPACE, "a", "b", "c")]
    pieces += [("ab", -1.0, NORMAL), ("bc", -2.0, NORMAL), ("abc", -3.0, UNUSED)]
    cut = bpe(pieces)
    assert [piece for piece, _ in cut(f"abc{SPACE}abc")] == ["ab", "c", SPACE, "ab", "c"]


def test_a_symbol_is_not_merged_with_what_is_next_to_it():
    letters = [(letter, -9.0, NORMAL) for letter in (SPACE, "a", "b")]
    cut = bpe([*letters[:2], ("b", 0.0, USER_DEFINED), ("ab", -1.0, NORMAL), ("aa", -2.0, NORMAL)])
    assert [piece for piece, _ in cut("aabaab")] == ["aa", "b", "aa", "b"]


@pytest.mark.parametrize("unk_id", [0, -1])
def test_a_piece_that_has_the_unknown_ones_id_is_no_single_character(unk_id):
    cut = segment.Unigram([("<unk>", -3.0, 0), ("a", -1.0, 1)], unk_id, -20.0, exact=True)
    assert cut("b<unk>ab") == [("b", unk_id), ("<unk>", 0), ("a", 1), ("b", unk_id)]
    assert segment.Unigram([], unk_id, -20.0)("ab") == [("a", unk_id), ("b", unk_id)]
