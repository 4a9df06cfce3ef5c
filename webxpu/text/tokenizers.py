"""A model's tokenizer, whichever of two kinds it is of: the same interface for text to ids and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from webxpu.errors import Unsupported
from webxpu.formats.gguf import metadata_value
from webxpu.formats.sentencepiece_model import PieceType, SentencePieceModel, read_sentencepiece_model
from webxpu.text import gguf_tokenizer
from webxpu.text.gguf_pieces import MODEL_TYPES, sentencepiece_model
from webxpu.text.hf_tokenizer import TURN_MARKS, Tokenizer
from webxpu.text.sentencepiece import SentencePiece

AnyTokenizer = Tokenizer | SentencePiece


def tokenizer_from_gguf(metadata: Mapping[str, Any]) -> AnyTokenizer:
    """The tokenizer of a GGUF file's metadata. Raises FormatError, and Unsupported for a kind not known here."""
    kind = metadata_value(metadata, "tokenizer.ggml.model", str)
    if kind not in MODEL_TYPES:
        return Tokenizer.from_gguf(metadata)
    model = _marked(sentencepiece_model(metadata))
    size = len(model.pieces)

    def adds(role: str, usual: bool) -> bool:
        there = gguf_tokenizer.token_id(metadata, f"{role}_token_id", size) is not None
        return metadata_value(metadata, f"tokenizer.ggml.add_{role}_token", bool, usual and there)

    made = SentencePiece(model, add_bos=adds("bos", kind == "llama"), add_eos=adds("eos", kind == "t5"))
    made.eos_ids = tuple(dict.fromkeys((*gguf_tokenizer.eos_ids(metadata, size), *made.eos_ids)))
    return made


def _marked(model: SentencePieceModel) -> SentencePieceModel:
    """The model, to which the marks of turns are control pieces whatever its file calls them."""
    own = (p.type == PieceType.USER_DEFINED and p.text in TURN_MARKS for p in model.pieces)
    pieces = (p._replace(type=PieceType.CONTROL) if mark else p for p, mark in zip(model.pieces, own, strict=True))
    return replace(model, pieces=tuple(pieces))


def tokenizer_from_model(data: bytes, settings: Mapping[str, Any]) -> SentencePiece:
    """The tokenizer of a tokenizer.model and what tokenizer_config.json says beside it.

    Raises FormatError, and Unsupported where the configuration adds tokens that the model does not have.
    """
    plain = SentencePiece(_marked(read_sentencepiece_model(data, "tokenizer.model")))
    added = settings.get("added_tokens_decoder") or {}
    for key, token in added.items() if isinstance(added, Mapping) else ():
        content = token.get("content") if isinstance(token, Mapping) else None
        index = int(key) if str(key).isdecimal() else -1
        if not 0 <= index < plain.vocab_size or plain.pieces[index] != content:
            raise Unsupported(
                f"tokenizer: tokenizer_config.json adds {str(content)[:80]!r}, which tokenizer.model lacks"
            )
    add_bos = bool(settings.get("add_bos_token", True)) and plain.bos_id is not None
    add_eos = bool(settings.get("add_eos_token", False)) and bool(plain.eos_ids)
    made = SentencePiece(plain.model, add_bos=add_bos, add_eos=add_eos)
    eos = settings.get("eos_token")
    name = eos.get("content") if isinstance(eos, Mapping) else eos
    if isinstance(name, str) and name in made.special_names:
        made.eos_ids = tuple(dict.fromkeys((made.special_names[name], *made.eos_ids)))
    return made
