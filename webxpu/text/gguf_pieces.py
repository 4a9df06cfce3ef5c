"""SentencePiece vocabularies in GGUF metadata: `tokenizer.ggml.model` = `llama` (BPE by scores) and `t5` (unigram).

https://github.com/ggml-org/llama.cpp/blob/ef035f779276d5f5636a0fd8cbeff6a83d646d2b/src/llama-vocab.cpp
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from typing import Any

import numpy as np

from webxpu.errors import FormatError
from webxpu.formats.gguf import metadata_value
from webxpu.formats.sentencepiece_model import (
    ModelType,
    NormalizerSpec,
    Pieces,
    PieceType,
    SentencePieceModel,
    checked_pieces,
)
from webxpu.text.gguf_tokenizer import token_id, token_pieces
from webxpu.text.sentencepiece_normalizer import SPACE_SYMBOL

MODEL_TYPES = {"llama": ModelType.BPE, "t5": ModelType.UNIGRAM}
# Texts of places that are kept free: nothing matches them.
_FREE = ("", "\0")
_ROLES = {"unk": "unknown_token_id", "bos": "bos_token_id", "eos": "eos_token_id", "pad": "padding_token_id"}


def sentencepiece_model(metadata: Mapping[str, Any], name: str = "tokenizer") -> SentencePieceModel:
    """The model that metadata of these two kinds describe. Raises FormatError."""
    kind = MODEL_TYPES[metadata_value(metadata, "tokenizer.ggml.model", str)]
    pieces = _pieces(metadata)
    fallback = PieceType.BYTE in pieces.types
    byte_ids, unk_id = checked_pieces(name, pieces, kind, fallback)
    unigram = kind is ModelType.UNIGRAM

    def flag(key: str, usual: bool) -> bool:
        return metadata_value(metadata, f"tokenizer.ggml.{key}", bool, usual)

    return SentencePieceModel(
        name=name,
        pieces=pieces,
        model_type=kind,
        normalizer=NormalizerSpec(
            name="",
            charsmap=_charsmap(metadata) if unigram else b"",
            charsmap_at=0,
            add_dummy_prefix=flag("add_space_prefix", True),
            remove_extra_whitespaces=flag("remove_extra_whitespaces", False),
            escape_whitespaces=True,
        ),
        treat_whitespace_as_suffix=False,
        byte_fallback=fallback,
        byte_ids=byte_ids,
        unk_id=unk_id,
        unk_surface=" \u2047 ",
        names={role: _name(metadata, key, pieces) for role, key in _ROLES.items()},
    )


def _pieces(metadata: Mapping[str, Any]) -> Pieces:
    """Pieces with their scores and types. Of user-defined ones files have the text itself, such as Gemma's runs of
    spaces; of the others what a text becomes, with its spaces escaped."""
    texts = list(token_pieces(metadata))
    scores = _numbers(metadata, "scores", len(texts), np.zeros(len(texts)), "fiu")
    types = _numbers(metadata, "token_type", len(texts), np.full(len(texts), PieceType.NORMAL), "iu")
    if not np.isfinite(scores).all():
        raise FormatError("tokenizer: tokenizer.ggml.scores must be finite")
    if not np.isin(types, list(PieceType)).all():
        raise FormatError(f"tokenizer: tokenizer.ggml.token_type must be 1 to 6, got {types.min()} to {types.max()}")
    taken = set(texts)
    kinds = bytearray(_one_unknown(metadata, types).astype(np.uint8).tobytes())
    for index in np.flatnonzero(types == PieceType.USER_DEFINED).tolist():
        escaped = texts[index].replace(" ", SPACE_SYMBOL)
        if escaped not in taken:
            texts[index] = escaped
    if not taken.isdisjoint(_FREE):
        for index in [i for i, text in enumerate(texts) if text in _FREE]:
            texts[index], kinds[index] = "\0", PieceType.UNUSED
    return Pieces(texts, array("d", scores.astype(np.float64).tobytes()), bytes(kinds))


def _one_unknown(metadata: Mapping[str, Any], types: Any) -> Any:
    """The types, of which one is unknown: that of the piece which the file names as the unknown one, even if it calls
    it a control piece. What else it calls unknown only fills rows of a matrix: a control piece, found by its name."""
    index = token_id(metadata, _ROLES["unk"], len(types))
    if index is None or types[index] not in (PieceType.UNKNOWN, PieceType.CONTROL):
        return types
    types = np.where(types == PieceType.UNKNOWN, PieceType.CONTROL, types)
    types[index] = PieceType.UNKNOWN
    return types


def _numbers(metadata: Mapping[str, Any], key: str, count: int, usual: Any, kinds: str) -> Any:
    values = metadata.get(f"tokenizer.ggml.{key}", usual)
    if not isinstance(values, np.ndarray) or values.dtype.kind not in kinds or len(values) != count:
        raise FormatError(f"tokenizer: tokenizer.ggml.{key} must be {count} numbers, one a token")
    return values


def _charsmap(metadata: Mapping[str, Any]) -> bytes:
    values = metadata.get("tokenizer.ggml.precompiled_charsmap", np.zeros(0, np.uint8))
    if not isinstance(values, np.ndarray) or values.dtype.itemsize != 1:
        raise FormatError("tokenizer: tokenizer.ggml.precompiled_charsmap must be bytes")
    return values.tobytes()


def _name(metadata: Mapping[str, Any], key: str, pieces: Pieces) -> str:
    """The piece of a role, or a name that none has."""
    index = token_id(metadata, key, len(pieces))
    return "" if index is None else pieces.texts[index]
