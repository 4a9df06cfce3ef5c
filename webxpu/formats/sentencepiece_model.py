"""SentencePiece model files (`tokenizer.model`, `spiece.model`): the protocol-buffer message ModelProto, read whole.

The fields are those of src/sentencepiece_model.proto in sentencepiece 0.2.3: https://github.com/google/sentencepiece
"""

from __future__ import annotations

import math
import struct
import sys
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from itertools import compress
from typing import Any, NamedTuple, overload

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


_PIECE_TYPES = {int(kind): kind for kind in PieceType}


class Pieces(Sequence[Piece]):
    """A vocabulary as columns, by id: a third of the memory of as many `Piece`s, which are made when asked for.

    texts    the pieces
    scores   numbers, of a model file float32
    types    a `PieceType` each, as a byte
    """

    def __init__(self, texts: list[str], scores: array[float], types: bytes) -> None:
        self.texts, self.scores, self.types = texts, scores, types

    @classmethod
    def of(cls, pieces: Sequence[Piece]) -> Pieces:
        """The columns of any pieces."""
        if isinstance(pieces, Pieces):
            return pieces
        scores = array("d", [piece.score for piece in pieces])
        return cls([piece.text for piece in pieces], scores, bytes(piece.type for piece in pieces))

    def ids_of(self, *types: PieceType) -> list[int]:
        """Ids of all pieces of these types, from the lowest."""
        chosen = self.types.translate(bytes(kind in types for kind in range(256)))
        return list(compress(range(len(chosen)), chosen))

    def __len__(self) -> int:
        return len(self.texts)

    @overload
    def __getitem__(self, index: int) -> Piece: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Piece]: ...
    def __getitem__(self, index: int | slice) -> Piece | Sequence[Piece]:
        if isinstance(index, slice):
            return Pieces(self.texts[index], self.scores[index], self.types[index])
        return Piece(self.texts[index], self.scores[index], _PIECE_TYPES[self.types[index]])

    def __iter__(self) -> Iterator[Piece]:
        return map(Piece, self.texts, self.scores, map(_PIECE_TYPES.__getitem__, self.types))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    __hash__ = None  # type: ignore[assignment]  # its columns are no constants


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
    pieces: Sequence[Piece]
    model_type: ModelType
    normalizer: NormalizerSpec
    treat_whitespace_as_suffix: bool
    byte_fallback: bool
    byte_ids: tuple[int, ...]
    unk_id: int
    unk_surface: str
    names: Mapping[str, str]

    @cached_property
    def columns(self) -> Pieces:
        """The pieces as columns."""
        return Pieces.of(self.pieces)


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

# How trainers write a piece: its length, the text's, the text, the score, and no type or one.
_PIECE_TAG, _TEXT_TAG, _SCORE_TAG, _TYPE_TAG = 1 << 3 | BYTES, 1 << 3 | BYTES, 2 << 3 | FIXED32, 3 << 3 | VARINT
_LEAST_PIECE_BYTES, _WITHOUT_TYPE, _WITH_TYPE = 10, 5, 7
_LAST_TYPE = int(max(PieceType))

_Fields = dict[str, tuple[Any, int]]
"""By name: the value, and where in the file the field begins. The last of a field counts."""


def read_sentencepiece_model(data: bytes, name: str = "tokenizer.model") -> SentencePieceModel:
    """The model in the bytes of a file; `name` is for messages.

    Raises FormatError where it is no ModelProto or its pieces make no vocabulary, Unsupported for fields that are not
    known here and for a denormalizer.
    """
    return _Reader(data, name).model()


class _Rows:
    """Pieces as they are read: `scores` has their bytes, `places` where in the file each begins."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.scores, self.types = bytearray(), bytearray()
        self.places = array("Q")

    def add(self, piece: Piece, at: int) -> None:
        self.texts.append(piece.text)
        self.scores += struct.pack("<f", piece.score)
        self.types.append(piece.type)
        self.places.append(at)

    def pieces(self) -> Pieces:
        scores = array("f", bytes(self.scores))
        if sys.byteorder == "big":
            scores.byteswap()
        return Pieces(self.texts, scores, bytes(self.types))


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

    def plain_pieces(self, at: int, rows: _Rows) -> int:
        """Adds pieces that are written as trainers do, as many as follow each other; where the next field begins.

        Anything else, and anything wrong, is left to `piece`."""
        data, size = self.data, len(self.data)
        while at + _LEAST_PIECE_BYTES <= size and data[at] == _PIECE_TAG and data[at + 2] == _TEXT_TAG:
            stop, score_at = at + 2 + data[at + 1], at + 4 + data[at + 3]
            rest = stop - score_at
            if data[at + 1] > 0x7F or stop > size or rest not in (_WITHOUT_TYPE, _WITH_TYPE):
                break
            kind = data[stop - 1] if rest == _WITH_TYPE else PieceType.NORMAL.value
            if data[score_at] != _SCORE_TAG or (rest == _WITH_TYPE and data[score_at + 5] != _TYPE_TAG):
                break
            score = data[score_at + 1 : score_at + 5]
            if score_at == at + 4 or not 0 < kind <= _LAST_TYPE or (score[3] & 0x7F == 0x7F and score[2] & 0x80):
                break
            try:
                rows.texts.append(data[at + 4 : score_at].decode())
            except UnicodeDecodeError:
                break
            rows.scores += score
            rows.types.append(kind)
            rows.places.append(at + 2)
            at = stop
        return at

    def model(self) -> SentencePieceModel:
        at, end = 0, len(self.data)
        rows = _Rows()
        parts: dict[str, _Fields] = {part: {} for part in _PARTS}
        while (at := self.plain_pieces(at, rows)) < end:
            field, kind, start, stop, value = self.field(at, end, _MODEL, "ModelProto")
            if field == "pieces":
                rows.add(self.piece(start, stop, len(rows.texts)), start)
            elif field in parts:
                self.fields(start, stop, _PARTS[field], field, parts[field])
            else:
                self.value(kind, start, stop, value, field)
            at = stop
        if not rows.texts:
            raise FormatError(f"{self.name}: a SentencePiece model must have pieces, got none in {end} bytes")
        if parts["denormalizer_spec"].get("precompiled_charsmap", (b"", 0))[0]:
            where = parts["denormalizer_spec"]["precompiled_charsmap"][1]
            raise Unsupported(f"{self.name}: denormalizer_spec.precompiled_charsmap at byte {where} is not supported")
        return self.assembled(rows, parts["trainer_spec"], parts["normalizer_spec"])

    def assembled(self, rows: _Rows, trainer: _Fields, normalizer: _Fields) -> SentencePieceModel:
        model_type, type_at = trainer.get("model_type", (ModelType.UNIGRAM, 0))
        if model_type not in ModelType._value2member_map_:
            raise self.error(type_at, "trainer_spec.model_type", "1 to 4", model_type)
        fallback = trainer.get("byte_fallback", (False, 0))[0]
        if fallback:  # some converters write a NUL beside <0x00>, where sentencepiece takes it for unused
            for index in (index for index, text in enumerate(rows.texts) if text == "\0"):
                rows.types[index] = PieceType.UNUSED
        pieces = rows.pieces()

        def refuse(index: int, rule: str, got: object) -> FormatError:
            return self.error(rows.places[index], f"pieces[{index}]", rule, got)

        byte_ids, unk_id = checked_pieces(self.name, pieces, ModelType(model_type), fallback, refuse)
        charsmap, charsmap_at = normalizer.get("precompiled_charsmap", (b"", 0))
        return SentencePieceModel(
            name=self.name,
            pieces=pieces,
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
    columns = Pieces.of(pieces)
    texts = columns.texts
    _check_texts(columns, model_type, refuse)
    unknown = columns.ids_of(PieceType.UNKNOWN)
    for index in unknown[1:]:
        raise refuse(index, "the only unknown piece", f"one beside pieces[{unknown[0]}]")
    byte_ids = {}
    for index in columns.ids_of(PieceType.BYTE):
        byte = _BYTE_OF_PIECE.get(texts[index])
        if byte is None or not fallback:
            rule = "<0x00> to <0xFF>" if fallback else "of another type in a model without byte_fallback"
            raise refuse(index, rule, f"the byte piece {texts[index][:80]!r}")
        byte_ids[byte] = index
    if fallback and len(byte_ids) != 256:
        raise FormatError(f"{name}: byte_fallback must have 256 byte pieces, got {len(byte_ids)}")
    if not unknown and not fallback:
        raise FormatError(f"{name}: a model without byte_fallback must have an unknown piece, got none")
    return tuple(byte_ids[byte] for byte in range(256) if fallback), unknown[0] if unknown else -1


def _check_texts(columns: Pieces, model_type: ModelType, refuse: Callable[[int, str, object], FormatError]) -> None:
    """No NUL but in places that are kept free, and no piece twice."""
    texts, types = columns.texts, columns.types
    if len(set(texts)) == len(texts) and "\0" not in "".join(texts):
        return
    seen: set[tuple[bool, str]] = set()
    for index, text in enumerate(texts):
        if "\0" in text:
            if text == "\0" and types[index] == PieceType.UNUSED:
                continue
            raise refuse(index, "without a NUL", ascii(text[:80]))
        # BPE looks up every type in one table, the others have one for those that texts do not match.
        key = (model_type != ModelType.BPE and types[index] not in MATCHED, text)
        if key in seen:
            raise refuse(index, "new", f"{text[:80]!r} a second time")
        seen.add(key)


_BYTE_OF_PIECE = {f"<0x{byte:02X}>": byte for byte in range(256)}
