"""SentencePiece models that are written and read again are the same, to webxpu and to `sentencepiece`."""

from __future__ import annotations

from dataclasses import replace

import pytest
import sentencepiece

from tests.text.sentencepiece_files import BPE, BYTES, HEAD, NORMAL, UNUSED, model, trained
from tests.text.test_gguf_pieces import NAMES, TRAINED, metadata
from webxpu.errors import FormatError
from webxpu.formats.protobuf import Message
from webxpu.formats.sentencepiece_model import Piece, PieceType, SentencePieceModel, read_sentencepiece_model
from webxpu.formats.sentencepiece_writer import write_sentencepiece_model
from webxpu.text.gguf_pieces import sentencepiece_model

TEXTS = [
    "Hello  world",
    " a b ",
    "",
    "caf\u00e9 \u6771\u4eac \U0001f600",
    "line\nline\ttab",
    "<s> text </s>",
    "\ufb01 \uff76\uff9e",
]


def placeless(found: SentencePieceModel) -> SentencePieceModel:
    """A model without where in its file the charsmap lies, and with roles that have no piece named alike."""
    texts = {piece.text for piece in found.pieces}
    names = {role: name if name in texts else "" for role, name in found.names.items()}
    return replace(found, normalizer=replace(found.normalizer, charsmap_at=0), names=names)


def read_again(found: SentencePieceModel) -> SentencePieceModel:
    return read_sentencepiece_model(write_sentencepiece_model(found), found.name)


@pytest.mark.parametrize("name", TRAINED)
def test_a_models_file_written_again_is_the_same_model(name: str) -> None:
    found = read_sentencepiece_model(trained()[name], name)
    again = read_again(found)
    assert again == replace(found, normalizer=replace(found.normalizer, charsmap_at=again.normalizer.charsmap_at))
    theirs = sentencepiece.SentencePieceProcessor(model_proto=trained()[name])
    ours = sentencepiece.SentencePieceProcessor(model_proto=write_sentencepiece_model(found))
    for text in TEXTS:
        assert ours.encode(text) == theirs.encode(text)
        assert ours.decode(theirs.encode(text)) == theirs.decode(theirs.encode(text))
    for role in ("unk_id", "bos_id", "eos_id", "pad_id"):
        assert getattr(ours, role)() == getattr(theirs, role)()


@pytest.mark.parametrize("name", NAMES)
def test_a_vocabulary_out_of_gguf_metadata_becomes_a_file(name: str) -> None:
    found = sentencepiece_model(metadata(TRAINED[name]), name)
    assert placeless(read_again(found)) == placeless(found)
    theirs = sentencepiece.SentencePieceProcessor(model_proto=trained()[name])
    ours = sentencepiece.SentencePieceProcessor(model_proto=write_sentencepiece_model(found))
    for text in TEXTS:
        assert ours.encode(text) == theirs.encode(text)


def test_a_role_that_no_piece_has_stays_without_one() -> None:
    found = read_sentencepiece_model(model([*HEAD, ("<no bos>", -1.0, NORMAL), ("a", -1.0, NORMAL)], {3: BPE}))
    again = read_again(replace(found, names=dict(found.names) | {"bos": ""}))
    assert again.names == dict(found.names) | {"bos": "<<no bos>>"}
    assert sentencepiece.SentencePieceProcessor(model_proto=write_sentencepiece_model(again)).bos_id() == -1


def test_ids_of_roles_are_written_for_readers_that_look_there() -> None:
    found = read_sentencepiece_model(model([*HEAD[1:], HEAD[0], ("a", -1.0, NORMAL)]))
    trainer = next(f for f in Message(write_sentencepiece_model(found), "m") if f.number == 2)
    data = Message(write_sentencepiece_model(found), "m")
    ids = {f.number: data.integers(f)[0] for f in data.inner(trainer) if 40 <= f.number <= 43}
    assert ids == {40: 2, 41: 0, 42: 1, 43: -1}


def test_places_that_are_kept_free_and_all_switches_survive() -> None:
    pieces = [*HEAD, *BYTES, ("\0", -3.5, UNUSED), ("a", -0.1, NORMAL)]
    found = read_sentencepiece_model(model(pieces, {3: BPE, 24: 1, 35: 1, 44: ""}, {1: "own", 3: 0, 4: 0, 5: 0}))
    assert read_again(found) == found
    assert (found.unk_surface, found.treat_whitespace_as_suffix, found.normalizer.name) == ("", True, "own")


@pytest.mark.parametrize(
    ("piece", "message"),
    [
        (("", 0.0), r"^m: pieces\[1\]\.piece must be of 1 to 7999 bytes, got 0 bytes$"),
        (("\u00e9" * 4000, 0.0), r"^m: pieces\[1\]\.piece must be of 1 to 7999 bytes, got 8000 bytes$"),
        (("\ud800", 0.0), r"^m: pieces\[1\]\.piece must be Unicode, got half a surrogate pair in '\\ud800'$"),
        (("a", float("nan")), r"^m: pieces\[1\]\.score must be a finite float32, got nan$"),
        (("a", 1e39), r"^m: pieces\[1\]\.score must be a finite float32, got 1e\+39$"),
    ],
)
def test_a_piece_that_no_file_can_hold_is_named(piece: tuple[str, float], message: str) -> None:
    found = read_sentencepiece_model(model(HEAD), "m")
    broken = replace(found, pieces=(found.pieces[0], Piece(*piece, PieceType.NORMAL)))
    with pytest.raises(FormatError, match=message):
        write_sentencepiece_model(broken)
