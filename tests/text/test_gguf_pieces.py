"""SentencePiece vocabularies in GGUF metadata cut text as the model files do that they were made of."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.text.sentencepiece_files import BPE, BYTES, HEAD, NORMAL, USER_DEFINED, goldens, model, trained
from webxpu.errors import FormatError
from webxpu.formats.sentencepiece_model import ModelType, SentencePieceModel
from webxpu.text.sentencepiece import SentencePiece
from webxpu.text.stream import TextStream
from webxpu.text.tokenizers import tokenizer_from_gguf, tokenizer_from_model

TRAINED = {name: SentencePiece.from_bytes(data).model for name, data in trained().items()}
KINDS = {ModelType.BPE: "llama", ModelType.UNIGRAM: "t5"}
TEXTS = [
    "Hello  world",
    " a b",
    "",
    " ",
    "caf\u00e9 \u6771\u4eac \U0001f600",
    "line\nline\ttab",
    "<s> text </s>",
    "x" * 300,
]


def metadata(found: SentencePieceModel, **changes: Any) -> dict[str, Any]:
    """As llama.cpp's converter writes it: user-defined pieces hold the text itself."""
    spec = found.normalizer
    texts = [p.text.replace("\u2581", " ") if p.type == USER_DEFINED else p.text for p in found.pieces]
    keys: dict[str, Any] = {
        "model": KINDS[found.model_type], "tokens": texts,
        "scores": np.array([p.score for p in found.pieces], np.float32),
        "token_type": np.array([p.type for p in found.pieces], np.int32),
        "add_space_prefix": spec.add_dummy_prefix, "remove_extra_whitespaces": spec.remove_extra_whitespaces,
    }  # fmt: skip
    if spec.charsmap:
        keys["precompiled_charsmap"] = np.frombuffer(spec.charsmap, np.uint8)
    for role, key in {"bos": "bos_token_id", "eos": "eos_token_id", "unk": "unknown_token_id"}.items():
        ids = [i for i, p in enumerate(found.pieces) if p.text == found.names[role]]
        if ids:
            keys[key] = ids[0]
    return {f"tokenizer.ggml.{key}": value for key, value in (keys | changes).items()}


def convertible(found: SentencePieceModel) -> bool:
    """What a GGUF file can say: white space before words, the usual unknown sign, no charsmap of BPE."""
    plain = (
        found.unk_surface == " \u2047 " and not found.treat_whitespace_as_suffix and found.normalizer.escape_whitespaces
    )
    return found.model_type in KINDS and plain and (found.model_type != ModelType.BPE or not found.normalizer.charsmap)


NAMES = [name for name, found in TRAINED.items() if convertible(found)]


@pytest.mark.parametrize("name", NAMES)
def test_ids_and_texts_are_those_of_the_model_file(name: str) -> None:
    """User-defined pieces apart: they divide a text into spans, as control pieces do."""
    ours = tokenizer_from_gguf(metadata(TRAINED[name]))
    theirs = SentencePiece(TRAINED[name], prefix_every_span=True)
    own = [p.text.replace("\u2581", " ") for p in TRAINED[name].pieces if p.type == USER_DEFINED]
    for text in (text for text in TEXTS if not any(symbol in text for symbol in own)):
        for parse_special in (False, True):
            ids = theirs.encode(text, parse_special=parse_special)
            assert ours.encode(text, parse_special=parse_special) == ids
        assert ours.decode(ids) == theirs.decode(ids)
        stream = TextStream(ours)
        assert "".join(stream.push([i]) for i in ids) + stream.finish() == theirs.decode(ids)
    assert (ours.bos_id, ours.special_ids) == (theirs.bos_id, theirs.special_ids)


def test_both_kinds_are_among_the_models() -> None:
    assert {TRAINED[name].model_type for name in NAMES} == set(KINDS)
    assert goldens()


PIECES = [*HEAD, *BYTES, ("\u2581a", -1.0, NORMAL), ("\u2581", -2.0, NORMAL), ("\u2581\u2581", 0.0, USER_DEFINED)]
SMALL = SentencePiece.from_bytes(model(PIECES, {3: BPE, 35: 1}, {3: 0, 4: 0})).model


def test_runs_of_spaces_that_are_stored_as_they_are_match_text() -> None:
    ours = tokenizer_from_gguf(metadata(SMALL))
    assert metadata(SMALL)["tokenizer.ggml.tokens"][-1] == "  "
    assert ours.encode("  a", parse_special=False) == [len(PIECES) - 1, *ours.encode("a")]
    assert ours.decode([len(PIECES) - 1, len(PIECES) - 3]) == "   a"


def test_what_is_put_around_a_text_is_the_files_or_the_kinds_rule() -> None:
    llama = metadata(SMALL)
    ids = tokenizer_from_gguf(llama).encode(" a")
    assert tokenizer_from_gguf(llama).encode(" a", add_special=True) == [1, *ids]
    off = llama | {"tokenizer.ggml.add_bos_token": False, "tokenizer.ggml.add_eos_token": True}
    assert tokenizer_from_gguf(off).encode(" a", add_special=True) == [*ids, 2]
    unigram = next(TRAINED[name] for name in NAMES if TRAINED[name].model_type == ModelType.UNIGRAM)
    t5 = tokenizer_from_gguf(metadata(unigram))
    assert t5.encode("a", add_special=True) == [*t5.encode("a"), t5.eos_ids[0]]
    ends = llama | {"tokenizer.ggml.eot_token_id": 5}
    assert tokenizer_from_gguf(ends).eos_ids == (2, 5)


def test_places_that_are_kept_free_match_nothing() -> None:
    made = metadata(SMALL)
    made["tokenizer.ggml.tokens"] = [*made["tokenizer.ggml.tokens"][:-1], ""]
    assert tokenizer_from_gguf(made).encode("  ") == [len(PIECES) - 2] * 2


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"scores": np.zeros(3)}, r"tokenizer\.ggml\.scores must be 262 numbers, one a token$"),
        ({"scores": np.full(262, np.nan)}, r"tokenizer\.ggml\.scores must be finite$"),
        ({"token_type": np.full(262, 9)}, r"tokenizer\.ggml\.token_type must be 1 to 6, got 9 to 9$"),
        ({"token_type": np.full(262, 1)}, r"must have an unknown piece, got none$"),
        ({"tokens": ["a"] * 262}, r"pieces\[1\] must be new, got 'a' a second time$"),
        ({"bos_token_id": 400}, r"bos_token_id must be in the vocabulary of 262 tokens, got 400$"),
        ({"bos_token_id": 259}, r"bos_token_id must be a control token, as it is added, got '\u2581a'$"),
        (
            {"bos_token_id": 1, "add_eos_token": True, "eos_token_id": 0},
            r"eos_token_id must be a control token, as it is added, got '<unk>'$",
        ),
    ],
)
def test_broken_metadata_is_named(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(FormatError, match=message):
        tokenizer_from_gguf(metadata(SMALL, **changes))


def test_a_tokenizer_model_is_taken_with_its_configuration_or_refused() -> None:
    data = model(PIECES, {3: BPE, 35: 1}, {3: 0, 4: 0})
    plain = tokenizer_from_model(data, {})
    assert plain.encode(" a", add_special=True) == [1, *plain.encode(" a")]
    made = tokenizer_from_model(data, {"add_bos_token": False, "add_eos_token": True, "eos_token": {"content": "<s>"}})
    assert made.encode(" a", add_special=True)[-1] == made.eos_ids[0] == 1
    known = {"added_tokens_decoder": {"1": {"content": "<s>", "special": True}}}
    assert tokenizer_from_model(data, known).bos_id == 1
