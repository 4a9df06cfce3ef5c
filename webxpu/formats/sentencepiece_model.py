"""SentencePiece model files (`tokenizer.model`, `spiece.model`): the protocol-buffer message ModelProto, read whole.

The fields are those of src/sentencepiece_model.proto in sentencepiece 0.2.3: https://github.com/google/sentencepiece
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, NamedTuple

from webxpu.errors import FormatError, Unsupported
from webxpu.formats.protobuf import BYTES, FIXED32, FIXED64, VARINT, Reader

# sentencepiece refuses pieces that are longer.
MAX_PIECE_BYTES = 8000
MAX_FLOAT32 = float.fromhex("0x1.fffffep127")


class ModelType(IntEnum):
    """`trainer_spec.model_type`."""

    UNIGRAM = 1
    BPE = 2
    WORD = 3
    CHAR = 4


class PieceType(IntEnum):
    """`SentencePiece.type`."""

    NORMAL = 1
    UNKNOWN = 2
    CONTROL = 3
    USER_DEFINED = 4
    UNUSED = 5
    BYTE = 6


MATCHED = (PieceType.NORMAL, PieceType.USER_DEFINED, PieceType.UNUSED)
"""Types that are looked up in a text; the others only name themselves."""


class Piece(NamedTuple):
    """An entry of the vocabulary; its id is its place. The score is a float32."""

    text: str
    score: float
    type: PieceType


@dataclass(frozen=True)
class NormalizerSpec:
    """What happens to a text before it is cut. `charsmap_at` is the place of the charsmap in the file, for messages."""

    name: str
    charsmap: bytes
    charsmap_at: int
    add_dummy_prefix: bool
    remove_extra_whitespaces: bool
    escape_whitespaces: bool


@dataclass(frozen=True)
class SentencePieceModel:
    """A file's contents, defaults filled in.

    unk_id      the piece of type UNKNOWN, or -1
    byte_ids    ids of <0x00> to <0xFF>, or empty without byte fallback
    unk_surface what an unknown piece decodes to
    names       of the special pieces by role: unk, bos, eos, pad (the vocabulary need not have them)
    """

    name: str
    pieces: tuple[Piece, ...]
    model_type: ModelType
    normalizer: NormalizerSpec
    treat_whitespace_as_suffix: bool
    byte_fallback: bool
    byte_ids: tuple[int, ...]
    unk_id: int
    unk_surface: str
    names: Mapping[str, str]


_WIRE_NAMES = {0: "varint", 1: "64-bit", 2: "length-delimited", 3: "start of a group", 4: "end of a group", 5: "32-bit"}
_WIRE = {"int": VARINT, "bool": VARINT, "float": FIXED32, "string": BYTES, "bytes": BYTES, "message": BYTES}

# Field number: name, kind. Fields that only training reads are here too, so that an unknown field is one that matters.
_TRAINER = {
    **{n: (f"input {n}", "string") for n in (1, 2, 5, 7, 36, 53, 54)},
    **{n: (f"training setting {n}", "int") for n in (6, 11, 12, 13, 14, 16, 17, 18, 20)},
    **{n: (f"training switch {n}", "bool") for n in (19, 21, 22, 23, 25, 26, 32, 33, 34, 49, 50, 55)},
    **{n: (f"training rate {n}", "float") for n in (10, 15, 51)},
    52: ("training setting 52", "int"),
    3: ("model_type", "int"),
    4: ("vocab_size", "int"),
    24: ("treat_whitespace_as_suffix", "bool"),
    30: ("control_symbols", "string"),
    31: ("user_defined_symbols", "string"),
    35: ("byte_fallback", "bool"),
    **{n: (f"{role}_id", "int") for n, role in zip(range(40, 44), ("unk", "bos", "eos", "pad"))},
    44: ("unk_surface", "string"),
    **{n: (f"{role}_piece", "string") for n, role in zip(range(45, 49), ("unk", "bos", "eos", "pad"))},
}
_NORMALIZER = {
    1: ("name", "string"),
    2: ("precompiled_charsmap", "bytes"),
    3: ("add_dummy_prefix", "bool"),
    4: ("remove_extra_whitespaces", "bool"),
    5: ("escape_whitespaces", "bool"),
    6: ("normalization_rule_tsv", "bytes"),  # the source of the charsmap
}
_PIECE = {1: ("piece", "string"), 2: ("score", "float"), 3: ("type", "int")}
_MODEL = {
    1: ("pieces", "message"),
    2: ("trainer_spec", "message"),
    3: ("normalizer_spec", "message"),
    4: ("self_test_data", "bytes"),  # samples of the trainer's own
    5: ("denormalizer_spec", "message"),
}
_PARTS = {"trainer_spec": _TRAINER, "normalizer_spec": _NORMALIZER, "denormalizer_spec": _NORMALIZER}
_NAMES = {"unk": "<unk>", "bos": "<s>", "eos": "</s>", "pad": "<pad>"}

_PIECE_TYPES = {int(kind): kind for kind in PieceType}

_Fields = dict[str, tuple[Any, int]]
"""By name: the value, and where in the file the field begins. The last of a field counts."""


def read_sentencepiece_model(data: bytes, name: str = "tokenizer.model") -> SentencePieceModel:
    """The model in the bytes of a file; `name` is for messages.

    Raises FormatError where it is no ModelProto or its pieces make no vocabulary, Unsupported for fields that are not
    known here and for a denormalizer.
    """
    return _Reader(data, name).model()


class _Reader(Reader):
    def fields(self, at: int, end: int, schema: Mapping[int, tuple[str, str]], what: str, into: _Fields) -> _Fields:
        """All fields of a message without messages in it."""
        while at < end:
            field, kind, start, stop, value = self.field(at, end, schema, what)
            into[field] = (self.value(kind, start, stop, value, f"{what}.{field}"), start)
            at = stop
        return into

    def field(
        self, at: int, end: int, schema: Mapping[int, tuple[str, str]], what: str
    ) -> tuple[str, str, int, int, int]:
        """Name, kind, the place of the contents, and the number if it is one."""
        key, start = self.varint(at, end)
        number, wire = key >> 3, key & 7
        if wire not in (VARINT, FIXED64, BYTES, FIXED32) or not 0 < number < 1 << 29:
            kind = _WIRE_NAMES.get(wire, str(wire))
            raise self.error(at, f"{what}: a field", "a varint, 32-bit, 64-bit or bytes", f"number {number}, {kind}")
        if number not in schema:
            raise Unsupported(f"{self.name}: {what} field {number} at byte {at} is not known to webxpu")
        field, kind = schema[number]
        if wire != _WIRE[kind]:
            rule = f"a {_WIRE_NAMES[_WIRE[kind]]} field"
            raise self.error(at, f"{what}.{field}", rule, f"a {_WIRE_NAMES[wire]} one")
        if wire == VARINT:
            value, stop = self.varint(start, end)
            return field, kind, start, stop, value
        length = 4
        if wire == BYTES:
            length, start = self.varint(start, end)
        if start + length > end:
            raise self.error(at, f"{what}.{field}", f"complete before byte {end}", f"an end at byte {start + length}")
        return field, kind, start, start + length, 0

    def value(self, kind: str, start: int, stop: int, number: int, what: str) -> Any:
        if kind == "int":
            return (number & 0xFFFF_FFFF ^ 0x8000_0000) - 0x8000_0000  # the low 32 bits, as protocol buffers do
        if kind == "bool":
            return number != 0
        if kind == "float":
            return struct.unpack_from("<f", self.data, start)[0]
        if kind == "bytes":
            return self.data[start:stop]
        try:
            return self.data[start:stop].decode()
        except UnicodeDecodeError as e:
            raise self.error(start + e.start, what, "UTF-8", e.reason) from e

    def piece(self, at: int, end: int, index: int) -> Piece:
        what = f"pieces[{index}]"
        found = self.fields(at, end, _PIECE, what, {})
        text, _ = found.get("piece", ("", at))
        score, score_at = found.get("score", (0.0, at))
        kind, kind_at = found.get("type", (PieceType.NORMAL, at))
        nbytes = len(text.encode())
        if not 0 < nbytes < MAX_PIECE_BYTES:
            raise self.error(at, f"{what}.piece", f"of 1 to {MAX_PIECE_BYTES - 1} bytes", f"{nbytes} bytes")
        if not math.isfinite(score):
            raise self.error(score_at, f"{what}.score", "finite", score)
        if kind not in _PIECE_TYPES:
            raise self.error(kind_at, f"{what}.type", "1 to 6", kind)
        return Piece(text, score, _PIECE_TYPES[kind])

    def model(self) -> SentencePieceModel:
        at, end = 0, len(self.data)
        pieces: list[Piece] = []
        places: list[int] = []
        parts: dict[str, _Fields] = {part: {} for part in _PARTS}
        while at < end:
            field, kind, start, stop, value = self.field(at, end, _MODEL, "ModelProto")
            if field == "pieces":
                pieces.append(self.piece(start, stop, len(pieces)))
                places.append(start)
            elif field in parts:
                self.fields(start, stop, _PARTS[field], field, parts[field])
            else:
                self.value(kind, start, stop, value, field)
            at = stop
        if not pieces:
            raise FormatError(f"{self.name}: a SentencePiece model must have pieces, got none in {end} bytes")
        if parts["denormalizer_spec"].get("precompiled_charsmap", (b"", 0))[0]:
            where = parts["denormalizer_spec"]["precompiled_charsmap"][1]
            raise Unsupported(f"{self.name}: denormalizer_spec.precompiled_charsmap at byte {where} is not supported")
        return self.assembled(pieces, places, parts["trainer_spec"], parts["normalizer_spec"])

    def assembled(
        self, pieces: list[Piece], places: list[int], trainer: _Fields, normalizer: _Fields
    ) -> SentencePieceModel:
        model_type, type_at = trainer.get("model_type", (ModelType.UNIGRAM, 0))
        if model_type not in ModelType._value2member_map_:
            raise self.error(type_at, "trainer_spec.model_type", "1 to 4", model_type)
        fallback = trainer.get("byte_fallback", (False, 0))[0]
        if fallback:  # some converters write a NUL beside <0x00>, where sentencepiece takes it for unused
            pieces = [Piece(p.text, p.score, PieceType.UNUSED) if p.text == "\0" else p for p in pieces]

        def refuse(index: int, rule: str, got: object) -> FormatError:
            return self.error(places[index], f"pieces[{index}]", rule, got)

        byte_ids, unk_id = checked_pieces(self.name, pieces, ModelType(model_type), fallback, refuse)
        charsmap, charsmap_at = normalizer.get("precompiled_charsmap", (b"", 0))
        return SentencePieceModel(
            name=self.name,
            pieces=tuple(pieces),
            model_type=ModelType(model_type),
            normalizer=NormalizerSpec(
                name=normalizer.get("name", ("", 0))[0],
                charsmap=charsmap,
                charsmap_at=charsmap_at,
                add_dummy_prefix=normalizer.get("add_dummy_prefix", (True, 0))[0],
                remove_extra_whitespaces=normalizer.get("remove_extra_whitespaces", (True, 0))[0],
                escape_whitespaces=normalizer.get("escape_whitespaces", (True, 0))[0],
            ),
            treat_whitespace_as_suffix=trainer.get("treat_whitespace_as_suffix", (False, 0))[0],
            byte_fallback=fallback,
            byte_ids=byte_ids,
            unk_id=unk_id,
            unk_surface=trainer.get("unk_surface", (" \u2047 ", 0))[0],
            names={role: trainer.get(f"{role}_piece", ("", 0))[0] or usual for role, usual in _NAMES.items()},
        )


def checked_pieces(
    name: str,
    pieces: Sequence[Piece],
    model_type: ModelType,
    fallback: bool,
    refuse: Callable[[int, str, object], FormatError] | None = None,
) -> tuple[tuple[int, ...], int]:
    """Ids of the bytes and of the unknown piece, after the checks that need the whole vocabulary.

    refuse   (index of a piece, rule, got) -> the error
    """

    def plain(index: int, rule: str, got: object) -> FormatError:
        return FormatError(f"{name}: pieces[{index}] must be {rule}, got {got}")

    refuse = refuse or plain
    seen: set[tuple[bool, str]] = set()
    byte_ids, unk_id = {}, -1
    for index, piece in enumerate(pieces):
        if "\0" in piece.text:
            if piece.text == "\0" and piece.type == PieceType.UNUSED:
                continue
            raise refuse(index, "without a NUL", ascii(piece.text[:80]))
        # BPE looks up every type in one table, the others have one for those that texts do not match.
        key = (model_type != ModelType.BPE and piece.type not in MATCHED, piece.text)
        if key in seen:
            raise refuse(index, "new", f"{piece.text[:80]!r} a second time")
        seen.add(key)
        if piece.type == PieceType.UNKNOWN:
            if unk_id >= 0:
                raise refuse(index, "the only unknown piece", f"one beside pieces[{unk_id}]")
            unk_id = index
        elif piece.type == PieceType.BYTE:
            byte = _BYTE_OF_PIECE.get(piece.text)
            if byte is None or not fallback:
                rule = "<0x00> to <0xFF>" if fallback else "of another type in a model without byte_fallback"
                raise refuse(index, rule, f"the byte piece {piece.text[:80]!r}")
            byte_ids[byte] = index
    if fallback and len(byte_ids) != 256:
        raise FormatError(f"{name}: byte_fallback must have 256 byte pieces, got {len(byte_ids)}")
    if unk_id < 0 and not fallback:
        raise FormatError(f"{name}: a model without byte_fallback must have an unknown piece, got none")
    return tuple(byte_ids[byte] for byte in range(256) if fallback), unk_id


_BYTE_OF_PIECE = {f"<0x{byte:02X}>": byte for byte in range(256)}
