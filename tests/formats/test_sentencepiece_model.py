"""SentencePiece model files that are not what they claim to be, and the defaults of those that are."""

from __future__ import annotations

import random
import re
import time

import pytest

import webxpu.formats.sentencepiece_model as format
from tests.text.sentencepiece_files import (
    BPE,
    BYTE,
    BYTES,
    CONTROL,
    HEAD,
    NORMAL,
    UNIGRAM,
    UNKNOWN,
    UNUSED,
    field,
    message,
    model,
    trained,
    varint,
)
from webxpu.errors import FormatError, Unsupported
from webxpu.formats.sentencepiece_model import ModelType, Piece, Pieces, PieceType, read_sentencepiece_model
from webxpu.text.sentencepiece import SentencePiece

A = ("a", 0.0, NORMAL)
NAN, INF = float("nan"), float("inf")


def test_what_a_file_leaves_out_has_the_defaults_of_the_format():
    found = read_sentencepiece_model(field(1, message({1: "a"})) + field(1, message({1: "?", 3: UNKNOWN})))
    assert found.pieces[0] == ("a", 0.0, PieceType.NORMAL)
    assert (found.model_type, found.byte_fallback, found.byte_ids, found.unk_id) == (ModelType.UNIGRAM, False, (), 1)
    assert (found.unk_surface, found.treat_whitespace_as_suffix) == (" \u2047 ", False)
    assert found.names == {"unk": "<unk>", "bos": "<s>", "eos": "</s>", "pad": "<pad>"}
    spec = found.normalizer
    assert (spec.name, spec.charsmap) == ("", b"")
    assert (spec.add_dummy_prefix, spec.remove_extra_whitespaces, spec.escape_whitespaces) == (True, True, True)


def test_a_file_that_says_all_is_read_as_it_says():
    trainer = {3: BPE, 24: 1, 35: 1, 44: "?", 45: "u", 46: "b", 47: "e", 48: "p", 43: -1, 10: 0.5, 52: 3, 53: "|"}
    data = model(
        [*BYTES, *HEAD, ("a", -1.5, UNUSED)], trainer, {1: "n", 3: 0, 4: 0, 5: 0, 6: b"\xff"}, field(4, b"\xff")
    )
    found = read_sentencepiece_model(data)
    assert (found.model_type, found.byte_ids, found.unk_id) == (ModelType.BPE, tuple(range(256)), 256)
    assert (found.unk_surface, found.treat_whitespace_as_suffix) == ("?", True)
    assert found.names == {"unk": "u", "bos": "b", "eos": "e", "pad": "p"}
    assert found.pieces[-1] == ("a", -1.5, PieceType.UNUSED)
    spec = found.normalizer
    assert (spec.name, spec.add_dummy_prefix, spec.remove_extra_whitespaces, spec.escape_whitespaces) == (
        "n", False, False, False,
    )  # fmt: skip


PIECE = field(1, message({1: "?", 3: UNKNOWN}))  # 7 bytes: what follows begins there
BROKEN = [
    (b"", "t.model: a SentencePiece model must have pieces, got none in 0 bytes"),
    (field(2, b""), "t.model: a SentencePiece model must have pieces, got none in 2 bytes"),
    (PIECE + b"\x80", "a varint at byte 7 must be complete before byte 8, got a longer one (bytes 80)"),
    (PIECE + b"\x80" * 12, "a varint at byte 7 must be at most 10 bytes long, got a longer one (bytes 80 80 80"),
    (PIECE + b"\x0a", "a varint at byte 8 must be complete before byte 8, got a longer one (bytes none)"),
    (
        PIECE + b"\x0a\x05abcd",
        "ModelProto.pieces at byte 7 must be complete before byte 13, got an end at byte 14 (byt",
    ),
    (PIECE + b"\x0a\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", "must be complete before byte 18, got an end at byte 92"),
    (
        PIECE + b"\x08\x01",
        "ModelProto.pieces at byte 7 must be a length-delimited field, got a varint one (bytes 08 01",
    ),
    (
        PIECE + b"\x0b",
        "ModelProto: a field at byte 7 must be a varint, 32-bit, 64-bit or bytes, got number 1, start of ",
    ),
    (PIECE + b"\x0f", "a varint, 32-bit, 64-bit or bytes, got number 1, 7 (bytes 0f)"),
    (PIECE + b"\x02\x00", "a varint, 32-bit, 64-bit or bytes, got number 0, length-delimited (bytes 02 00)"),
    (PIECE + field(1, b"\x0a\x02a\xff"), "pieces[1].piece at byte 12 must be UTF-8, got invalid start byte (bytes ff)"),
    (
        PIECE + field(1, b"\x0a\x05a"),
        "pieces[1].piece at byte 9 must be complete before byte 12, got an end at byte 16",
    ),
    (PIECE + field(1, b"\x15\x00"), "pieces[1].score at byte 9 must be complete before byte 11, got an end at byte 14"),
    (PIECE + field(1, b"\x10\x00"), "pieces[1].score at byte 9 must be a 32-bit field, got a varint one (bytes 10 00)"),
    (PIECE + field(1, b"\x0d\0\0\0\0"), "pieces[1].piece at byte 9 must be a length-delimited field, got a 32-bit one"),
    (PIECE + field(1, b"\x18"), "a varint at byte 10 must be complete before byte 10, got a longer one (bytes none)"),
    (PIECE + field(1, b""), "pieces[1].piece at byte 9 must be of 1 to 7999 bytes, got 0 bytes (bytes none)"),
    (PIECE + field(1, message({1: "a" * 8000})), "pieces[1].piece at byte 10 must be of 1 to 7999 bytes, got 8000 byt"),
    (PIECE + field(1, message({1: "a", 3: 7})), "pieces[1].type at byte 13 must be 1 to 6, got 7 (bytes 07)"),
    (PIECE + field(1, message({1: "a", 3: -1})), "pieces[1].type at byte 13 must be 1 to 6, got -1 (bytes ff"),
    (
        PIECE + field(1, message({1: "a", 2: NAN})),
        "pieces[1].score at byte 13 must be finite, got nan (bytes 00 00 c0 7f",
    ),
    (PIECE + field(1, message({1: "a", 2: -INF})), "pieces[1].score at byte 13 must be finite, got -inf"),
    (PIECE * 2, "pieces[1] at byte 9 must be new, got '?' a second time"),
    (model([*HEAD, A, A]), "pieces[4] at byte 59 must be new, got 'a' a second time"),
    (model([*HEAD, ("<s>", 0.0, NORMAL)], {3: BPE}), "pieces[3] at byte 47 must be new, got '<s>' a second time"),
    (
        model([*HEAD, ("u", 0.0, UNKNOWN)]),
        "pieces[3] at byte 47 must be the only unknown piece, got one beside pieces[0]",
    ),
    (model([*HEAD, ("a\0", 0.0, NORMAL)]), r"pieces[3] at byte 47 must be without a NUL, got 'a\x00'"),
    (model([*HEAD, ("\0", 0.0, NORMAL)]), r"pieces[3] at byte 47 must be without a NUL, got '\x00'"),
    (model([*HEAD, BYTES[3]]), "of another type in a model without byte_fallback, got the byte piece '<0x03>'"),
    (model([*HEAD, ("<0xfF>", 0.0, BYTE)], {35: 1}), "must be <0x00> to <0xFF>, got the byte piece '<0xfF>'"),
    (model([*HEAD, *BYTES[:-1]], {35: 1}), "t.model: byte_fallback must have 256 byte pieces, got 255"),
    (model([A]), "t.model: a model without byte_fallback must have an unknown piece, got none"),
    (model([*HEAD, A], {3: 5}), "trainer_spec.model_type at byte 60 must be 1 to 4, got 5 (bytes 05"),
    (model([*HEAD, A], {35: 1.0}), "trainer_spec.byte_fallback at byte 59 must be a varint field, got a 32-bit one"),
    (model([*HEAD, A], {44: b"\xe3"}), "trainer_spec.unk_surface at byte 62 must be UTF-8, got unexpected end of data"),
    (model([*HEAD, A], {3: "x"}), "trainer_spec.model_type at byte 59 must be a varint field, got a length-delimited"),
    (
        model([*HEAD, A], {}, {3: "x"}),
        "normalizer_spec.add_dummy_prefix at byte 61 must be a varint field, got a length",
    ),
    (
        model([("<unk>", 0.0, UNKNOWN), ("<s>", 0.0, CONTROL)], {3: UNIGRAM}),
        "a unigram model must have pieces that texts",
    ),
]


@pytest.mark.parametrize(("data", "message"), BROKEN, ids=[text[-60:] for _, text in BROKEN])
def test_a_file_that_makes_no_model_is_refused(data, message):
    with pytest.raises(FormatError, match=re.escape(message)) as e:
        SentencePiece.from_bytes(data, "t.model")
    assert str(e.value).startswith("t.model: ")


UNKNOWN_FIELDS = [
    (field(6, 1), "t.model: ModelProto field 6 at byte 7 is not known to webxpu"),
    (field(200, "x"), "t.model: ModelProto field 200 at byte 7 is not known to webxpu"),
    (field(1, message({1: "a", 4: 1})), "t.model: pieces[1] field 4 at byte 12 is not known to webxpu"),
    (field(2, message({56: 1})), "t.model: trainer_spec field 56 at byte 9 is not known to webxpu"),
    (field(3, message({7: 1})), "t.model: normalizer_spec field 7 at byte 9 is not known to webxpu"),
    (field(5, message({2: b"x"})), "t.model: denormalizer_spec.precompiled_charsmap at byte 11 is not supported"),
]


@pytest.mark.parametrize(("tail", "message"), UNKNOWN_FIELDS, ids=[text for _, text in UNKNOWN_FIELDS])
def test_a_field_that_could_matter_is_not_passed_over(tail, message):
    with pytest.raises(Unsupported, match=f"^{re.escape(message)}$"):
        read_sentencepiece_model(PIECE + tail, "t.model")


def test_a_denormalizer_without_rules_does_nothing():
    assert read_sentencepiece_model(PIECE + field(5, message({3: 0}))).unk_id == 0


def test_the_same_piece_may_be_a_name_and_a_text_where_the_two_are_looked_up_apart():
    tokenizer = SentencePiece.from_bytes(model([*HEAD, ("<s>", 0.0, NORMAL)], {}, {3: 0}))
    assert tokenizer.encode("<s>", parse_special=False) == [3]
    assert (tokenizer.encode("<s>"), tokenizer.piece_to_id("<s>")) == ([1], 1)


def test_a_stray_nul_counts_as_unused_beside_byte_pieces_and_where_it_says_so():
    for pieces, trainer in (([*HEAD, *BYTES, ("\0", 0.0, NORMAL)], {35: 1}), ([*HEAD, ("\0", 0.0, UNUSED)], {3: BPE})):
        found = read_sentencepiece_model(model(pieces, trainer))
        assert found.pieces[-1].type == PieceType.UNUSED


@pytest.mark.parametrize("name", ["unigram_bytes.model", "word_suffix.model", "bpe_suffix.model"])
def test_cut_and_changed_files_are_read_or_refused_and_never_take_long(name):
    data = trained()[name]
    rng = random.Random(11)
    began = time.perf_counter()
    refused = 0
    places = [rng.randrange(min(len(data), 12_000)) for _ in range(60)]
    changed = [data[:place] for place in places]
    changed += [data[:place] + bytes([rng.randrange(256)]) + data[place + 1 :] for place in places]
    changed += [data[:place] + varint(rng.getrandbits(70)) + data[place + 2 :] for place in places]
    for broken in changed:
        try:
            tokenizer = SentencePiece.from_bytes(broken)
        except (FormatError, Unsupported):
            refused += 1
            continue
        tokenizer.decode(tokenizer.encode("the man <s> 今日は\u2603"))
    assert refused > 60
    assert time.perf_counter() - began < 60


def outcome(data: bytes) -> object:
    try:
        return read_sentencepiece_model(data)
    except (FormatError, Unsupported) as e:
        return str(e)


def test_pieces_that_are_written_as_trainers_do_are_read_as_any_others(monkeypatch):
    rng = random.Random(7)
    short = model([*HEAD, *(("\u2581" * n + "é", -n / 3, NORMAL) for n in range(8)), ("あ" * 60, 0.5, UNUSED)])
    files = [short, model([*HEAD, ("", 0.0, NORMAL)]), *trained().values()]
    start = len(field(1, message(dict(zip((1, 2, 3), HEAD[0])))))
    for place in range(start, start + 40):  # every byte of two pieces, as every value
        files += [short[:place] + bytes([value]) + short[place + 1 :] for value in range(256)]
    files += [short[: rng.randrange(len(short))] for _ in range(50)]
    found = [outcome(data) for data in files]
    assert sum(isinstance(one, str) for one in found) > 1000
    assert sum(not isinstance(one, str) for one in found) > 1000
    monkeypatch.setattr(format._Reader, "plain_pieces", lambda self, at, rows: at)
    assert found == [outcome(data) for data in files]


def test_pieces_in_columns_are_a_sequence_of_pieces():
    rows = [Piece("a", -1.5, PieceType.NORMAL), Piece("b", 0.1, PieceType.UNUSED), Piece("c", 2.0, PieceType.NORMAL)]
    columns = Pieces.of(rows)
    assert (columns, list(columns), columns[1], columns[-1], len(columns)) == (rows, rows, rows[1], rows[2], 3)
    assert (columns[1:], columns.ids_of(PieceType.NORMAL), Pieces.of(columns)) == (rows[1:], [0, 2], columns)
    assert columns != rows[:2]
    assert isinstance(columns[0].type, PieceType)
    with pytest.raises(IndexError):
        columns[3]
