"""Both kinds of tokenizer answer the same calls in the same way."""

from __future__ import annotations

import re

import pytest

from tests.text.sentencepiece_files import BPE, BYTES, HEAD, NORMAL, model
from tests.text.vocabularies import CONTROL, UNKNOWN, made
from webxpu.errors import FormatError, ShapeError
from webxpu.text.hf_tokenizer import Tokenizer
from webxpu.text.stream import TextStream
from webxpu.text.tokenizer_json import unknown_piece
from webxpu.text.tokenizers import AnyTokenizer, tokenizer_from_gguf, tokenizer_from_model

EXTRA = [("<unk>", UNKNOWN), ("<s>", CONTROL), ("</s>", CONTROL), ("<pad>", CONTROL), ("<|im_end|>", CONTROL)]
ROLES = {"unknown_token_id": 256, "bos_token_id": 257, "eos_token_id": 258, "padding_token_id": 259}
LETTERS = [(letter, 0.0, NORMAL) for letter in " ab\u2581"]
PIECES = [*HEAD, ("<pad>", 0.0, CONTROL), ("<|im_end|>", 0.0, CONTROL), *BYTES, *LETTERS]
UNPREFIXED = {3: 0, 4: 0}


def tokenizers(add_eos: bool) -> dict[str, AnyTokenizer]:
    asked = {"add_bos_token": True, "add_eos_token": add_eos}
    described = {
        "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, " ": 2}, "merges": [], "unk_token": "<unk>"},
        "decoder": {"type": "Fuse"},
        "post_processor": {
            "type": "TemplateProcessing", "pair": [],
            "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}},
                       *([{"SpecialToken": {"id": "</s>", "type_id": 0}}] if add_eos else [])],
            "special_tokens": {n: {"id": n, "ids": [i], "tokens": [n]} for n, i in (("<s>", 4), ("</s>", 5))},
        },
        "added_tokens": [
            {"id": 3 + i, "content": name, "special": True, "single_word": False, "lstrip": False, "rstrip": False,
             "normalized": False} for i, (name, _) in enumerate(EXTRA)
        ],
    }  # fmt: skip
    config = {"bos_token": "<s>", "eos_token": {"content": "</s>"}, "pad_token": "<pad>"}
    return {
        "metadata of bytes": tokenizer_from_gguf(made(EXTRA, **ROLES, **asked)),
        "tokenizer.json": Tokenizer.from_json(described, config),
        "tokenizer.model": tokenizer_from_model(model(PIECES, {3: BPE, 35: 1}, UNPREFIXED), asked),
    }


WITHOUT_EOS, WITH_EOS = tokenizers(False), tokenizers(True)
each = pytest.mark.parametrize("found", WITHOUT_EOS.values(), ids=WITHOUT_EOS)


@each
def test_roles_are_ids_of_the_vocabulary(found: AnyTokenizer) -> None:
    names = [found.id_to_piece(i) for i in (found.unk_id, found.bos_id, found.pad_id, *found.eos_ids)]
    assert names == ["<unk>", "<s>", "<pad>", "</s>", "<|im_end|>"]
    assert found.special_names == {name: found.piece_to_id(name) for name, _ in EXTRA}
    assert set(found.special_names.values()) - {found.unk_id} <= found.special_ids
    assert (found.add_bos, found.add_eos) == (True, False)
    assert max(found.special_names.values()) < found.vocab_size


@pytest.mark.parametrize("kind", WITH_EOS)
def test_tokens_around_a_text_come_when_asked_for(kind: str) -> None:
    one, both = WITHOUT_EOS[kind], WITH_EOS[kind]
    ids = one.encode("ab")
    assert (one.encode("ab", add_special=True), both.encode("ab", add_special=True)) == (
        [one.bos_id, *ids], [both.bos_id, *ids, both.eos_ids[0]],
    )  # fmt: skip
    assert both.add_eos


@each
def test_names_are_tokens_where_they_are_asked_for_alone(found: AnyTokenizer) -> None:
    assert found.encode("<|im_end|>") == [found.special_names["<|im_end|>"]]
    if found is not WITHOUT_EOS["tokenizer.json"]:  # its three pieces cannot spell the name
        assert found.decode(found.encode("a <|im_end|>", parse_special=False)) == "a <|im_end|>"
    parts = found.encode_parts(["a", found.eos_ids[0], "b"])
    assert parts == [*found.encode("a"), found.eos_ids[0], *found.encode("b")]
    assert (found.decode(parts), found.decode(parts, skip_special=False)) == ("ab", "a</s>b")


@each
def test_one_id_has_its_piece_its_bytes_and_its_text(found: AnyTokenizer) -> None:
    letter, end = found.piece_to_id("a"), found.eos_ids[0]
    assert (found.id_to_piece(letter), found.token_bytes(letter), found.id_to_token(letter)) == ("a", b"a", "a")
    assert (found.id_to_piece(end), found.token_bytes(end), found.id_to_token(end)) == ("</s>", b"</s>", None)
    assert found.piece_to_id("no such piece") == found.unk_id
    assert found.id_to_token(found.vocab_size) is None


@each
def test_steps_give_the_text_of_the_whole(found: AnyTokenizer) -> None:
    ids = found.encode("a<s>b a</s>")
    stream = TextStream(found)
    assert "".join(stream.push([i]) for i in ids) + stream.finish() == found.decode(ids)


@each
@pytest.mark.parametrize("call", ["id_to_piece", "token_bytes"])
def test_an_id_that_is_no_token_is_an_error(found: AnyTokenizer, call: str) -> None:
    for wrong in (-1, found.vocab_size):
        with pytest.raises(ShapeError, match=f"^{call}: id must be one of {found.vocab_size} [a-z]+, got {wrong}$"):
            getattr(found, call)(wrong)
    with pytest.raises(ShapeError, match=f"id must be one of {found.vocab_size} [a-z]+, got {found.vocab_size}$"):
        found.decode([found.vocab_size])


@each
def test_half_a_surrogate_pair_is_an_error(found: AnyTokenizer) -> None:
    expected = re.escape(r"encode: text must have no lone surrogates, which have no UTF-8, got '\ud83d' at 2")
    for call in (found.encode, lambda t: found.encode(t, parse_special=False), lambda t: found.encode_parts(["a", t])):
        with pytest.raises(ShapeError, match=f"^{expected}$"):
            call("a \ud83d b")
        call("ab")


def test_a_vocabulary_without_roles_says_so() -> None:
    plain = tokenizer_from_gguf(made())
    assert (plain.unk_id, plain.bos_id, plain.pad_id, plain.eos_ids) == (-1, None, None, ())
    assert plain.special_names == {}
    bare = Tokenizer.from_json({"model": {"type": "BPE", "vocab": {"a": 0}, "merges": []}, "decoder": {"type": "Fuse"}})
    assert (bare.unk_id, bare.piece_to_id("b"), bare.add_eos) == (-1, -1, False)


def test_the_unknown_piece_of_a_list_is_found_by_its_place() -> None:
    vocab = [["a", 0.0], ["?", 0.0]]
    assert unknown_piece({"model": {"vocab": vocab, "unk_id": 1}}) == "?"
    assert unknown_piece({"model": {"vocab": vocab}}) is None
    for wrong in (2, -1, "1"):
        with pytest.raises(FormatError, match=r"^tokenizer\.json: model\.unk_id must be one of 2 pieces, got"):
            unknown_piece({"model": {"vocab": vocab, "unk_id": wrong}})
    with pytest.raises(FormatError, match=r"^tokenizer\.json: model\.unk_token must be a text, got"):
        unknown_piece({"model": {"vocab": {}, "unk_token": 3}})
