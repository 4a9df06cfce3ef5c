"""SentencePiece model files written: what `read_sentencepiece_model` reads, and `sentencepiece` too."""

from __future__ import annotations

import math
import struct

from webxpu.errors import FormatError
from webxpu.formats.protobuf import BYTES, FIXED32, VARINT
from webxpu.formats.sentencepiece_model import MAX_FLOAT32, MAX_PIECE_BYTES, Piece, PieceType, SentencePieceModel

_ROLES = ("unk", "bos", "eos", "pad")


def write_sentencepiece_model(model: SentencePieceModel) -> bytes:
    """The bytes of a file from which `read_sentencepiece_model` makes the same model again.

    Values that are the format's defaults are written too. What only training reads is not in a model, so it is
    not written. A role whose name is empty gets a name that no piece has, since an empty one means the usual name.

    Raises FormatError for a piece that a file cannot hold.
    """
    parts = [_bytes(1, _piece(model.name, index, piece)) for index, piece in enumerate(model.pieces)]
    parts += [_bytes(2, _trainer(model)), _bytes(3, _normalizer(model))]
    return b"".join(parts)


def _piece(name: str, index: int, piece: Piece) -> bytes:
    def refuse(part: str, rule: str, got: object) -> FormatError:
        return FormatError(f"{name}: pieces[{index}].{part} must be {rule}, got {got}")

    try:
        text = piece.text.encode()
    except UnicodeEncodeError as e:
        raise refuse("piece", "Unicode", f"half a surrogate pair in {piece.text[:80]!a}") from e
    if not 0 < len(text) < MAX_PIECE_BYTES:
        raise refuse("piece", f"of 1 to {MAX_PIECE_BYTES - 1} bytes", f"{len(text)} bytes")
    if not math.isfinite(piece.score) or abs(piece.score) > MAX_FLOAT32:
        raise refuse("score", "a finite float32", piece.score)
    return _bytes(1, text) + _varint(2 << 3 | FIXED32) + struct.pack("<f", piece.score) + _int(3, piece.type)


def _trainer(model: SentencePieceModel) -> bytes:
    ids = {p.text: i for i, p in enumerate(model.pieces) if p.type == PieceType.CONTROL}
    names = {role: model.names[role] or _unused_name(model, role) for role in _ROLES}
    places = {role: ids.get(name, -1) for role, name in names.items()} | {"unk": model.unk_id}
    return b"".join(
        [
            _int(3, model.model_type),
            _int(4, len(model.pieces)),
            _int(24, model.treat_whitespace_as_suffix),
            _int(35, model.byte_fallback),
            *(_int(number, places[role]) for number, role in enumerate(_ROLES, 40)),
            _bytes(44, model.unk_surface.encode()),
            *(_bytes(number, names[role].encode()) for number, role in enumerate(_ROLES, 45)),
        ]
    )


def _unused_name(model: SentencePieceModel, role: str) -> str:
    taken = {piece.text for piece in model.pieces}
    name = f"<no {role}>"
    while name in taken:
        name = f"<{name}>"
    return name


def _normalizer(model: SentencePieceModel) -> bytes:
    spec = model.normalizer
    return b"".join(
        [
            _bytes(1, spec.name.encode()),
            _bytes(2, spec.charsmap) if spec.charsmap else b"",
            _int(3, spec.add_dummy_prefix),
            _int(4, spec.remove_extra_whitespaces),
            _int(5, spec.escape_whitespaces),
        ]
    )


def _varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _int(number: int, value: int) -> bytes:
    return _varint(number << 3 | VARINT) + _varint(value)


def _bytes(number: int, data: bytes) -> bytes:
    return _varint(number << 3 | BYTES) + _varint(len(data)) + data
