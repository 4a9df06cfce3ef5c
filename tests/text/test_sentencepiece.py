"""SentencePiece against the golden values of the `sentencepiece` package, and the interface of the other tokenizers."""

from __future__ import annotations

import re

import pytest

from tests.text.sentencepiece_files import (
    BPE,
    BYTES,
    CONTROL,
    HEAD,
    NORMAL,
    UNKNOWN,
    WORD,
    field,
    goldens,
    message,
    model,
    trained,
)
from webxpu.errors import ShapeError
from webxpu.formats.sentencepiece_model import read_sentencepiece_model
from webxpu.text.sentencepiece import SentencePiece
from webxpu.text.sentencepiece_rules import ModelRules
from webxpu.text.stream import TextStream

FILES = trained()
GOLDENS = goldens()
TEXTS = GOLDENS["texts"]


@pytest.fixture(scope="module")
def tokenizers() -> dict[str, SentencePiece]:
    return {name: SentencePiece.from_bytes(data, f"{name}.model") for name, data in FILES.items()}


def test_the_goldens_are_of_36_models_and_60_texts():
    assert set(GOLDENS["models"]) == {name.removesuffix(".model") for name in FILES}
    assert (len(FILES), len(TEXTS)) == (36, 60)
    assert {len(golden["ids"]) for golden in GOLDENS["models"].values()} == {60}


@pytest.mark.parametrize("name", GOLDENS["models"])
def test_texts_have_the_golden_pieces_and_ids(tokenizers, name):
    tokenizer, golden = tokenizers[f"{name}.model"], GOLDENS["models"][name]
    for text, ids, pieces, normal in zip(TEXTS, golden["ids"], golden["pieces"], golden["normal"], strict=True):
        assert tokenizer.normalize(text) == normal, text
        assert tokenizer.encode_pieces(text) == pieces, text
        assert tokenizer.encode(text, parse_special=False) == ids, text


@pytest.mark.parametrize("name", GOLDENS["models"])
def test_ids_and_pieces_have_the_golden_texts(tokenizers, name):
    tokenizer, golden = tokenizers[f"{name}.model"], GOLDENS["models"][name]
    rows = [*zip(golden["ids"], golden["decoded"], strict=True)]
    rows += zip(golden["random_ids"], golden["random_texts"], strict=True)
    for ids, text in rows:
        assert tokenizer.decode(ids) == text, ids
    for pieces, text in zip(golden["random_pieces"], golden["random_pieces_texts"], strict=True):
        assert tokenizer.decode_pieces(pieces) == text, pieces


@pytest.mark.parametrize("name", GOLDENS["models"])
def test_a_stream_gives_the_same_text_and_waits_for_whole_characters(tokenizers, name):
    tokenizer, golden = tokenizers[f"{name}.model"], GOLDENS["models"][name]
    stream = TextStream(tokenizer)
    for ids, text in zip(golden["random_ids"], golden["random_texts"], strict=True):
        assert "".join([stream.push([i]) for i in ids]) + stream.finish() == text, ids


@pytest.mark.parametrize("name", GOLDENS["models"])
def test_the_vocabulary_has_its_size_its_special_pieces_and_its_ids(tokenizers, name):
    tokenizer, golden = tokenizers[f"{name}.model"], GOLDENS["models"][name]
    special = [tokenizer.unk_id, tokenizer.bos_id, (*tokenizer.eos_ids, None)[0], tokenizer.pad_id]
    assert [-1 if index is None else index for index in special] == golden["special"]
    assert tokenizer.vocab_size == golden["size"]
    for index in range(golden["size"]):
        piece = tokenizer.id_to_piece(index)
        assert piece == "\0" or tokenizer.piece_to_id(piece) == index
    assert tokenizer.piece_to_id("no such piece") == tokenizer.unk_id


def test_a_very_long_text_of_one_character_is_cut_as_short_ones_are(tokenizers):
    for name in ("unigram_bytes", "bpe_bytes", "char", "word"):
        tokenizer = tokenizers[f"{name}.model"]
        for character in ("a", "あ", "\u2603"):
            text = character * 100_000
            ids = tokenizer.encode(text, parse_special=False)
            if name.endswith("bytes"):
                assert tokenizer.decode(ids) == text
            else:
                assert len(ids) == (2 if character == "\u2603" else 100_001) or name == "word"
    # Sums of 100,000 scores of -17 are past the place at which they are counted anew.
    tokenizer = tokenizers["unigram_identity.model"]
    ids = tokenizer.encode("\u2603 the" * 20_000, parse_special=False)
    assert ids == [tokenizer.piece_to_id("\u2581"), *tokenizer.encode("\u2603 the", parse_special=False)[1:] * 20_000]


def small(**options) -> SentencePiece:
    pieces = [
        *HEAD,
        ("<|im_end|>", 0.0, CONTROL),
        ("a", -1.0, NORMAL),
        ("\u2581", -2.0, NORMAL),
        ("\u2581a", -1.0, NORMAL),
    ]
    return SentencePiece.from_bytes(model(pieces), **options)


def test_names_of_control_pieces_are_those_pieces_unless_they_are_text():
    tokenizer = small()
    assert tokenizer.encode("a<s>a </s><unk>a") == [6, 1, 4, 2, 0, 4]
    assert tokenizer.encode("<s>a") == [1, 4]
    assert tokenizer.encode("<s>", parse_special=False) == [5, 0]
    assert tokenizer.encode_pieces("a<s>", parse_special=True) == ["\u2581a", "<s>"]
    assert tokenizer.encode_pieces("a<s>") == ["\u2581a", "<s>"]  # unknown, and so it is what it stands for
    every = small(prefix_every_span=True)
    assert every.encode("a<s>a </s><unk>a") == [6, 1, 6, 2, 0, 6]


def test_the_boundary_of_a_suffix_model_is_after_the_last_span():
    pieces = [*HEAD, ("a", -1.0, NORMAL), ("\u2581", -2.0, NORMAL), ("a\u2581", -1.0, NORMAL)]
    tokenizer = SentencePiece.from_bytes(model(pieces, {24: 1}))
    assert tokenizer.encode("a<s>a") == [3, 1, 5]
    assert tokenizer.encode("a<s>") == [3, 1]
    assert SentencePiece.from_bytes(model(pieces, {24: 1}), prefix_every_span=True).encode("a<s>a") == [5, 1, 5]


def test_special_pieces_are_added_when_they_were_asked_for():
    assert small().encode("a", add_special=True) == [6]
    assert small(add_bos=True).encode("a", add_special=True) == [1, 6]
    assert small(add_bos=True, add_eos=True).encode("a", add_special=True) == [1, 6, 2]
    assert small(add_bos=True, add_eos=True).encode("a") == [6]
    assert (small().eos_ids, small().special_ids, small().add_bos) == ((2, 3), frozenset((1, 2, 3)), False)
    for option in ("add_bos", "add_eos"):
        with pytest.raises(
            ShapeError, match=f"^SentencePiece: {option} must be False for a model without such a piece"
        ):
            SentencePiece.from_bytes(model([("<unk>", 0.0, UNKNOWN), ("a", 0.0, NORMAL)]), **{option: True})


def test_a_text_may_be_turned_round_between_what_stands_around_it():
    tokenizer = small(add_bos=True, add_eos=True)
    assert tokenizer.encode("a xaa", reverse=True) == [4, 4, 0, 5, 6]
    assert tokenizer.encode("a xaa", add_special=True, reverse=True) == [1, 4, 4, 0, 5, 6, 2]
    asked = {"add_special": True, "reverse": True}
    assert tokenizer.encode_pieces("a xaa", **asked) == ["<s>", "a", "a", "x", "\u2581", "\u2581a", "</s>"]
    assert tokenizer.encode_pieces("axya", emit_unk_piece=True) == ["\u2581a", "<unk>", "a"]
    assert tokenizer.encode_pieces("a<s>a", emit_unk_piece=True) == ["\u2581a", "<s>", "a"]  # a piece, though no text's
    assert tokenizer.encode_pieces("axy<s>", parse_special=True) == ["\u2581a", "xy", "<s>"]


def test_names_of_the_special_pieces_come_from_the_file():
    pieces = [
        ("[U]", 0.0, UNKNOWN),
        ("[B]", 0.0, CONTROL),
        ("[E]", 0.0, CONTROL),
        ("[P]", 0.0, CONTROL),
        ("a", 0.0, NORMAL),
    ]
    tokenizer = SentencePiece.from_bytes(model(pieces, {46: "[B]", 47: "[E]", 48: "[P]"}))
    assert (tokenizer.unk_id, tokenizer.bos_id, tokenizer.eos_ids, tokenizer.pad_id) == (0, 1, (2,), 3)
    assert SentencePiece.from_bytes(model(pieces)).bos_id is None
    assert SentencePiece.from_bytes(model([("?", 0.0, UNKNOWN), ("<s>", 0.0, NORMAL)])).bos_id is None  # a text's piece


def test_control_pieces_are_left_out_of_a_text_or_are_their_names():
    tokenizer = small()
    ids = [1, 6, 3, 6, 2]
    assert tokenizer.decode(ids) == "a a"
    assert tokenizer.decode(ids, skip_special=False) == "<s> a<|im_end|> a</s>"
    assert (tokenizer.decode([6, 0]), tokenizer.decode([6, 0], skip_special=False)) == ("a \u2047 ", "a<unk>")
    stream = TextStream(tokenizer, skip_special=False)
    assert [stream.push([index]) for index in ids] == ["<s>", " a", "<|im_end|>", " a", "</s>"]


def test_the_bytes_of_a_piece():
    tokenizer = SentencePiece.from_bytes(model([*HEAD, *BYTES, ("\u2581é", 0.0, NORMAL)], {35: 1}))
    assert [tokenizer.token_bytes(i) for i in (0, 1, 3 + 0xE3, 259)] == [
        b" \xe2\x81\x87 ",
        b"<s>",
        b"\xe3",
        b" \xc3\xa9",
    ]


def test_a_stream_gives_out_a_character_with_its_last_byte_and_each_bad_byte_as_one():
    tokenizer = SentencePiece.from_bytes(model([*HEAD, *BYTES, ("a", 0.0, NORMAL)], {35: 1}))
    stream = TextStream(tokenizer)
    smile = [3 + byte for byte in "😀".encode()]
    assert [stream.push([index]) for index in smile] == ["", "", "", "😀"]
    assert stream.push(smile[:3]) + stream.push([259]) == "\ufffd\ufffd\ufffda"
    assert (stream.push(smile[:2]), stream.push(smile[:1]), stream.finish()) == ("", "\ufffd\ufffd", "\ufffd")
    assert stream.push([smile[0], 2, *smile[1:]]) + stream.finish() == "\ufffd" * 4  # a control piece stands between
    assert stream.push([3 + 0xED, 3 + 0xA0, 3 + 0x80]) == "\ufffd" * 3  # a surrogate's bytes


def test_a_finished_stream_begins_a_new_text(tokenizers):
    stream = TextStream(small())
    for _ in range(2):
        assert (stream.push([6]), stream.push([6]), stream.finish()) == ("a", " a", "")


@pytest.mark.parametrize("wrong", [7, -1, 10**9])
def test_an_id_that_is_no_piece_is_an_error(wrong):
    for call, where in ((lambda t: t.decode([4, wrong]), "decode"), (lambda t: t.id_to_piece(wrong), "id_to_piece")):
        with pytest.raises(ShapeError, match=f"^{where}: id must be one of 7 pieces, got {wrong}$"):
            call(small())
    with pytest.raises(ShapeError, match=f"^token_bytes: id must be one of 7 pieces, got {wrong}$"):
        small().token_bytes(wrong)


@pytest.mark.parametrize("call", ["encode", "encode_pieces", "normalize"])
def test_half_a_surrogate_pair_is_an_error(call):
    message = r"encode: text must have no lone surrogates, which have no UTF-8, got '\ud83d' at 1"
    with pytest.raises(ShapeError, match=f"^{re.escape(message)}$"):
        getattr(small(), call)("a\ud83d b")


def test_the_last_of_a_field_counts_and_specs_that_come_twice_are_one():
    pieces = [*HEAD, ("a", 0.0, NORMAL), ("b", 0.0, NORMAL), ("\u2581", 0.0, NORMAL), ("ab", 0.0, NORMAL)]
    again = field(2, message({3: BPE})) + field(3, message({3: 0, 4: 0})) + field(3, message({4: 1}))
    tokenizer = SentencePiece.from_bytes(model(pieces, {3: WORD, 44: "?"}, tail=again))
    assert tokenizer.encode(" ab  ab ") == [6, 5, 6]
    assert tokenizer.decode([0]) == "?"


def test_the_text_of_an_id_is_none_where_it_has_none_of_its_own():
    first = [("<unk>", 0.0, UNKNOWN), ("<s>", 0.0, CONTROL), ("\u2581a", -1.0, NORMAL)]
    tokenizer = SentencePiece.from_bytes(model([*first, *BYTES], {3: BPE, 35: True}), "m")
    assert [tokenizer.id_to_token(i) for i in (-1, 0, 1, 2, 3 + 0x0A, 3 + 0xE2, 259)] == [
        None, None, None, " a", "\n", None, None,
    ]  # fmt: skip


def test_a_run_of_unknown_characters_is_joined_once_so_that_a_long_one_takes_linear_time():
    class Unjoined(str):
        def __add__(self, other: str) -> str:
            raise AssertionError("a run grows by copies of itself")

    class Cut(ModelRules):
        def cut(self, text, *, names):
            return [(Unjoined(piece), index) for piece, index in super().cut(text, names=names)]

    made = read_sentencepiece_model(model([*HEAD, ("a", -1.0, NORMAL)], normalizer={3: 0}), "m.model")
    tokenizer = SentencePiece(made, rules=Cut(made))
    assert tokenizer.encode_pieces("a日本語a日") == ["a", "日本語", "a", "日"]
