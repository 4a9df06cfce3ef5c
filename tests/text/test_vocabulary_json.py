"""The vocabulary JSON says all of a tokenizer; a wrong one is refused with the entry."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from typing import Any

import pytest

from tests.text.sentencepiece_files import BPE, BYTES, HEAD, NORMAL, UNUSED, USER_DEFINED, WORD, model, trained
from tests.text.test_gguf_pieces import NAMES, TEXTS, TRAINED, metadata
from tests.text.vocabularies import UNIGRAM
from webxpu.errors import FormatError, Unsupported
from webxpu.formats.sentencepiece_model import SentencePieceModel, read_sentencepiece_model
from webxpu.text.added_tokens import AddedToken
from webxpu.text.sentencepiece import SentencePiece
from webxpu.text.sentencepiece_rules import ModelRules
from webxpu.text.tokenizers import tokenizer_from_gguf, tokenizer_from_json
from webxpu.text.vocabulary_json import tokenizer_from_vocabulary, vocabulary_text

PIECES = [*HEAD, *BYTES, ("\u2581a", -1.1, NORMAL), ("\u2581", -2.0, NORMAL), ("bc", 0.0, USER_DEFINED)]
SMALL = SentencePiece(
    read_sentencepiece_model(model(PIECES, {3: BPE, 35: 1}, {3: 0, 4: 0})),
    added=[
        AddedToken(1, "<s>", special=True, rstrip=True),
        AddedToken(300, "<tool>", lstrip=True, single_word=True),
        AddedToken(301, "A", normalized=True),
    ],
    add_bos=True,
)


def again(tokenizer: SentencePiece) -> SentencePiece:
    return tokenizer_from_vocabulary(json.loads(vocabulary_text(tokenizer)))


def bare(found: SentencePieceModel) -> SentencePieceModel:
    return replace(found, normalizer=replace(found.normalizer, charsmap_at=0), name="", names={})


def same(ours: SentencePiece, theirs: SentencePiece) -> None:
    assert bare(ours.model) == bare(theirs.model)
    for name in (
        "vocab_size", "special_ids", "special_names", "unk_id", "bos_id", "pad_id", "eos_ids", "add_bos", "add_eos",
        "added", "prefix_every_span", "longest_first", "pieces",
    ):  # fmt: skip
        assert getattr(ours, name) == getattr(theirs, name), name
    for text in (*TEXTS, "<s> a <tool> bca A"):
        for options in ({}, {"parse_special": False}, {"add_special": True}):
            ids = theirs.encode(text, **options)
            assert ours.encode(text, **options) == ids
        assert ours.decode(ids, skip_special=False) == theirs.decode(ids, skip_special=False)


@pytest.mark.parametrize("name", TRAINED)
def test_a_models_tokenizer_written_and_read_is_the_same(name: str) -> None:
    found = SentencePiece.from_bytes(trained()[name])
    same(again(found), found)


@pytest.mark.parametrize("name", NAMES)
def test_a_gguf_files_tokenizer_written_and_read_is_the_same(name: str) -> None:
    found = tokenizer_from_gguf(metadata(TRAINED[name], eot_token_id=1))
    assert isinstance(found, SentencePiece)
    assert 1 in found.eos_ids
    same(again(found), found)


def test_added_tokens_and_every_switch_survive() -> None:
    same(again(SMALL), SMALL)
    assert [token.id for token in again(SMALL).added] == [1, 300, 301]
    pieces = [*PIECES, ("\0", 0.0, UNUSED)]
    odd = read_sentencepiece_model(model(pieces, {3: WORD, 24: 1, 35: 1, 44: "?"}, {1: "own", 3: 0, 4: 1, 5: 0}))
    other = SentencePiece(odd, add_eos=True, prefix_every_span=True, longest_first=True)
    other.bos_id, other.eos_ids = None, (2, 5)
    same(again(other), other)


def test_the_text_is_the_same_each_time_and_has_a_line_a_piece() -> None:
    text = vocabulary_text(SMALL)
    assert vocabulary_text(again(SMALL)) == text
    lines = text.splitlines()
    assert '["\u2581a",-1.100000023841858,1],' in lines, "a float32's own value, for readers that do not round"
    assert sum(line.startswith('["') for line in lines) == len(PIECES)


MINIMAL: dict[str, Any] = {
    "vocabSize": 5, "byteFallback": False, "unkId": 0, "bosId": 1, "eosId": 2, "unkSurface": " \u2047 ",
    "normalizer": {
        "name": "identity", "addDummyPrefix": False, "removeExtraWhitespaces": False, "escapeWhitespaces": True,
    },
    "addedTokens": [
        {"id": 0, "content": "<unk>", "special": True}, {"id": 1, "content": "<s>", "special": True},
        {"id": 4, "content": "<|user|>", "special": False},
    ],
    "specialTokens": {"bos_token": "<s>", "mask_token": "<mask>"},
    "pieces": [["<unk>", 0.0, 2], ["<s>", 0.0, 3], ["</s>", 0, 3], ["a", -1.1, 1], ["<|user|>", 0.0, 3]],
}  # fmt: skip


def test_a_file_with_the_formats_first_keys_alone_is_read() -> None:
    found = tokenizer_from_vocabulary(MINIMAL)
    assert found.encode("<s>a<|user|>b ") == [1, 3, 4, 0]
    assert found.encode("<s><|user|>", parse_special=False) == [0, 4]
    assert found.encode("a", add_special=True) == [3], "nothing is put around a text"
    assert (found.bos_id, found.eos_ids, found.pad_id, found.add_bos) == (1, (2,), None, False)
    assert found.decode([1, 3, 4], skip_special=False) == "<s>a<|user|>"
    without = {key: value for key, value in MINIMAL.items() if key not in ("addedTokens", "specialTokens")}
    assert tokenizer_from_vocabulary(without).encode("<s>a") == [1, 3]
    spec = tokenizer_from_vocabulary(MINIMAL | {"normalizer": {"name": ""}}).model.normalizer
    assert (spec.add_dummy_prefix, spec.remove_extra_whitespaces, spec.escape_whitespaces) == (True, True, True)


def test_scores_are_float32_and_a_role_may_be_an_added_tokens() -> None:
    assert tokenizer_from_vocabulary(MINIMAL).model.pieces[3].score == -1.100000023841858
    end = {"id": 7, "content": "<end>", "special": True}
    found = tokenizer_from_vocabulary(MINIMAL | {"addedTokens": [end], "eosId": 7, "padId": 7})
    assert (found.eos_ids, found.pad_id, found.encode("a<end>")) == ((7,), 7, [3, 7])


def test_a_tokenizer_jsons_steps_and_scores_survive() -> None:
    described = copy.deepcopy(UNIGRAM)
    described["model"]["vocab"][1][1] = -3.1  # no float32
    described["post_processor"] = {"type": "BertProcessing", "sep": ["l", 3], "cls": ["\u2581", 1]}
    found = tokenizer_from_json(described, {"eos_token": "l", "pad_token": "<unk>"})
    assert isinstance(found, SentencePiece)
    same(again(found), found)
    assert again(found).model.pieces[1].score == -3.1
    assert again(found).encode("hello \ufb01 <tool>", add_special=True)[-2:] == [6, 3]
    assert vocabulary_text(again(found)) == vocabulary_text(found)


def test_steps_with_bytes_for_the_unknown_and_without_an_unknown_piece_survive() -> None:
    described = copy.deepcopy(UNIGRAM)
    described["model"] |= {"byte_fallback": True, "vocab": described["model"]["vocab"] + [[p, 0.0] for p, *_ in BYTES]}
    described["added_tokens"] = described["added_tokens"][:1]
    found = tokenizer_from_json(described)
    assert isinstance(found, SentencePiece)
    assert again(found).encode("\u00e9") == found.encode("\u00e9") == [1, 6 + 0xC3, 6 + 0xA9]
    none = tokenizer_from_json(UNIGRAM | {"model": UNIGRAM["model"] | {"unk_id": None}})
    assert isinstance(none, SentencePiece)
    assert (again(none).unk_id, again(none).encode("lo")) == (-1, none.encode("lo"))


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("steps", [], r"^v: steps must be an object, got '\[\]'$"),
        ("steps", {"normalizer": {"type": "Strange"}}, r"Strange"),
        ("unkId", 9, r"model\.unk_id must be one of 6 pieces, got '9'$"),
        ("unkId", None, r"^v: unkId must be a whole number, got None$|^v: unkId must be a whole number, got 'None'$"),
        ("byteFallback", 1, r"^v: byteFallback must be true or false, got '1'$"),
        ("vocabSize", 7, r"^v: vocabSize must be 6, as many as there are pieces, got '7'$"),
        ("pieces", [["a", 0.0]], r"^v: pieces\[0\] must be \[piece, score, type\], got "),
        ("pieces", [["a", "0", 1]], r"the score of model\.vocab\[0\] must be a finite number, got '0'$"),
        ("pieces", [["a", 10**400, 1]], r"the score of model\.vocab\[0\] must be a finite number, got '1000"),
        ("pieces", [[5, 0.0, 1]], r"model\.vocab must be "),
        ("pieces", [], r"^v: pieces must be a list with pieces, got 'none'$"),
        ("addedTokens", [{"id": 5}], r"^v: addedTokens\[0\]\.content must be a text, got 'None'$"),
        ("padId", 70, r"^v: padId must be an id below 7, got '70'$"),
    ],
)
def test_a_wrong_entry_of_a_vocabulary_with_steps_is_named(key: str, value: Any, message: str) -> None:
    values = json.loads(vocabulary_text(tokenizer_from_json(UNIGRAM))) | {key: value}  # type: ignore[arg-type]
    if key == "pieces":
        values["vocabSize"] = len(value)
    with pytest.raises((FormatError, Unsupported), match=message):
        tokenizer_from_vocabulary(values, "v")


def test_rules_that_a_model_file_does_not_have_are_refused() -> None:
    class Other(ModelRules):
        pass

    class Foreign:
        around = None

    found = SentencePiece(SMALL.model, rules=Other(SMALL.model))
    assert vocabulary_text(found)
    found._rules = Foreign()  # type: ignore[assignment]
    with pytest.raises(Unsupported, match=r"^tokenizer\.model: rules of the kind Foreign have no place in a "):
        vocabulary_text(found)


def changed(path: str, value: Any) -> dict[str, Any]:
    """MINIMAL with another value in a place; None takes the place away."""
    made = copy.deepcopy(MINIMAL)
    *keys, last = [int(key) if key.isdecimal() else key for key in path.split(".")]
    found: Any = made
    for key in keys:
        found = found[key]
    if value is None:
        del found[last]
    else:
        found[last] = value
    return made


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("pieces", None, r"pieces must be a list, got 'nothing'"),
        ("pieces", [], r"pieces must be a list with pieces, got 'none'"),
        ("pieces.3", ["a", 0.0], r"pieces\[3\] must be \[piece, score, type\], got \"\['a', 0\.0\]\""),
        ("pieces.3.0", 5, r"pieces\[3\]\[0\] must be a text, got '5'"),
        ("pieces.3.0", "", r"pieces\[3\]\[0\] must be of 1 to 7999 bytes, got '0 bytes'"),
        ("pieces.3.0", "a" * 8000, r"pieces\[3\]\[0\] must be of 1 to 7999 bytes, got '8000 bytes'"),
        ("pieces.3.0", "\ud800", r"pieces\[3\]\[0\] must be Unicode, got .*ud800"),
        ("pieces.4.0", "<s>", r"pieces\[4\] must be new, got '<s>' a second time"),
        ("pieces.3.1", "0", r"pieces\[3\]\[1\] must be a finite float32, got '0'"),
        ("pieces.3.1", float("nan"), r"pieces\[3\]\[1\] must be a finite float32, got 'nan'"),
        ("pieces.3.1", 1e39, r"pieces\[3\]\[1\] must be a finite float32, got '1e\+39'"),
        ("pieces.3.1", True, r"pieces\[3\]\[1\] must be a finite float32, got 'True'"),
        ("pieces.3.2", 7, r"pieces\[3\]\[2\] must be 1 to 6, got '7'"),
        ("pieces.3.2", 1.0, r"pieces\[3\]\[2\] must be 1 to 6, got '1\.0'"),
        ("pieces.3.2", 6, r"pieces\[3\] must be of another type in a model without byte_fallback"),
        ("vocabSize", 4, r"vocabSize must be 5, as many as there are pieces, got '4'"),
        ("vocabSize", None, r"vocabSize must be a whole number, got 'nothing'"),
        ("byteFallback", 1, r"byteFallback must be true or false, got '1'"),
        ("byteFallback", True, r"byte_fallback must have 256 byte pieces, got 0"),
        ("unkId", 3, r"unkId must be 0, the piece of type 2, got '3'"),
        ("bosId", 5, r"bosId must be an id below 5, got '5'"),
        ("bosId", -2, r"bosId must be an id below 5, got '-2'"),
        ("padId", 99, r"padId must be an id below 5, got '99'"),
        ("eosId", "2", r"eosId must be a whole number, got '2'"),
        ("eosId", 9, r"eosId must be an id below 5, got '9'"),
        ("eosIds", [2, 8], r"eosIds\[1\] must be an id below 5, got '8'"),
        ("eosIds", 2, r"eosIds must be a list, got '2'"),
        ("unkSurface", None, r"unkSurface must be a text, got 'nothing'"),
        ("modelType", "wordpiece", r"modelType must be one of unigram, bpe, word, char, got 'wordpiece'"),
        ("normalizer", [], r"normalizer must be an object, got '\[\]'"),
        ("normalizer.name", None, r"normalizer\.name must be a text, got 'nothing'"),
        ("normalizer.name", "nfkc", r"normalizer\.charsmap must be there for the normalizer 'nfkc', got 'none'"),
        ("normalizer.charsmap", "!", r"normalizer\.charsmap must be base64, got "),
        ("normalizer.charsmap", "\u00e9", r"normalizer\.charsmap must be base64, got "),
        ("normalizer.charsmap", "AAAA", r"charsmap"),
        ("normalizer.addDummyPrefix", 0, r"normalizer\.addDummyPrefix must be true or false, got '0'"),
        ("addedTokens", {}, r"addedTokens must be a list, got '\{\}'"),
        ("addedTokens.1", 5, r"addedTokens\[1\] must be an object with id, content and special, got '5'"),
        ("addedTokens.1.id", "1", r"addedTokens\[1\]\.id must be a whole number, got '1'"),
        ("addedTokens.1.id", -1, r"added tokens: the id of '<s>' must be below \d+, got -1"),
        ("addedTokens.1.content", 1, r"addedTokens\[1\]\.content must be a text, got '1'"),
        ("addedTokens.1.content", "", r"added tokens: the token of id 1 must have a content, got none"),
        ("addedTokens.1.special", None, r"addedTokens\[1\]\.special must be true or false, got 'None'"),
        ("addedTokens.1.lstrip", "no", r"addedTokens\[1\]\.lstrip must be true or false, got 'no'"),
        ("addedTokens.1.id", 2, r"added tokens: '<s>' must have one id, got 1 and 2"),
        ("specialTokens.bos_token", 1, r"specialTokens\.bos_token must be a text, got '1'"),
        ("addBos", "yes", r"addBos must be true or false, got 'yes'"),
    ],
)
def test_a_wrong_entry_is_named(path: str, value: Any, message: str) -> None:
    with pytest.raises(FormatError, match=rf"^v: .*{message}"):
        tokenizer_from_vocabulary(changed(path, value), "v")


def test_what_is_put_around_a_text_must_be_there() -> None:
    with pytest.raises(FormatError, match=r"^v: addBos must be false without a bosId, got 'True'$"):
        tokenizer_from_vocabulary(MINIMAL | {"bosId": -1, "addBos": True}, "v")
    with pytest.raises(FormatError, match=r"^v: addEos must be false without an eosId, got 'True'$"):
        tokenizer_from_vocabulary(MINIMAL | {"eosId": -1, "addEos": True}, "v")
