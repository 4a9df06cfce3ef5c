"""A tokenizer.json out of GGUF metadata, for BPE vocabularies with merges.

`tokenizer.ggml.model` is `gpt2` where pieces are bytes, and `gemma4` where they are text with spaces escaped.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import Any

import numpy as np

from webxpu.errors import FormatError, Unsupported
from webxpu.formats.gguf import metadata_value
from webxpu.text.pretokenizers import PRE_TOKENIZERS, PreTokenizer
from webxpu.text.sentencepiece_normalizer import SPACE_SYMBOL


class TokenType(IntEnum):
    """`tokenizer.ggml.token_type`."""

    NORMAL = 1
    UNKNOWN = 2
    CONTROL = 3
    USER_DEFINED = 4
    UNUSED = 5
    BYTE = 6


_SPECIAL = (TokenType.CONTROL, TokenType.UNKNOWN)
BPE_KINDS = ("gpt2", "gemma4")
_EOS_KEYS = ("eos_token_id", "eot_token_id", "eom_token_id")

_BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False}
_TEXT_DECODERS = [
    {"type": "Replace", "pattern": {"String": SPACE_SYMBOL}, "content": " "},
    {"type": "ByteFallback"},
    {"type": "Fuse"},
]


def token_pieces(metadata: Mapping[str, Any]) -> list[str]:
    """`tokenizer.ggml.tokens`."""
    pieces = metadata_value(metadata, "tokenizer.ggml.tokens", list)
    if set(map(type, pieces)) - {str}:
        raise FormatError("tokenizer: tokenizer.ggml.tokens must be a list of strings")
    return pieces


def token_id(metadata: Mapping[str, Any], name: str, vocab_size: int) -> int | None:
    """`tokenizer.ggml.<name>`, or None. Raises FormatError for an id that the vocabulary does not have."""
    key = f"tokenizer.ggml.{name}"
    if key not in metadata:
        return None
    value = metadata_value(metadata, key, int)
    if not 0 <= value < vocab_size:
        raise FormatError(f"tokenizer: {key} must be in the vocabulary of {vocab_size} tokens, got {value}")
    return value


def eos_ids(metadata: Mapping[str, Any], vocab_size: int) -> list[int]:
    """Ids that the metadata names as the end of a text, a turn or a message."""
    return [i for i in (token_id(metadata, name, vocab_size) for name in _EOS_KEYS) if i is not None]


def adds_bos(metadata: Mapping[str, Any]) -> bool:
    """Whether a text begins with a beginning-of-text token: as the file says, else as its rule is used."""
    usual = _rule(metadata).add_bos and "tokenizer.ggml.bos_token_id" in metadata
    return metadata_value(metadata, "tokenizer.ggml.add_bos_token", bool, usual)


def adds_eos(metadata: Mapping[str, Any]) -> bool:
    """Whether a text ends with an end-of-text token."""
    return metadata_value(metadata, "tokenizer.ggml.add_eos_token", bool, False)


def tokenizer_json(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """The tokenizer as a tokenizer.json, the same for the Rust and the JavaScript library.

    Each word pattern is a Split of its own before a ByteLevel without one: the libraries' built-in Digits and ByteLevel
    patterns disagree about what a digit (only ASCII in JavaScript) and what a space is.

    Raises FormatError for broken metadata, Unsupported for another kind of tokenizer and for a rule of cutting words
    that is not known.
    """
    rule = _rule(metadata)
    pieces = token_pieces(metadata)
    vocab = {piece: index for index, piece in enumerate(pieces)}
    if not rule.byte_level:
        _check_bytes(vocab)
    words = [*map(_split, rule.patterns), *([_BYTE_LEVEL] if rule.byte_level else ())]
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": _added_tokens(metadata, pieces),
        "normalizer": _normalizer(rule),
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": words},
        "post_processor": _post_processor(metadata, pieces),
        "decoder": _BYTE_LEVEL if rule.byte_level else {"type": "Sequence", "decoders": _TEXT_DECODERS},
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": not rule.byte_level,
            "ignore_merges": rule.ignore_merges,
            "vocab": vocab,
            "merges": _merges(metadata, vocab),
        },
    }


def _rule(metadata: Mapping[str, Any]) -> PreTokenizer:
    kind = metadata_value(metadata, "tokenizer.ggml.model", str)
    if kind not in BPE_KINDS:
        known = ", ".join(map(repr, BPE_KINDS))
        raise Unsupported(f"tokenizer: tokenizer.ggml.model {kind!r} is not supported; BPE with merges is: {known}")
    if kind == "gemma4":
        return PRE_TOKENIZERS[kind]
    name = metadata_value(metadata, "tokenizer.ggml.pre", str, "default")
    if name not in PRE_TOKENIZERS:
        known = ", ".join(sorted(PRE_TOKENIZERS))
        raise Unsupported(f"tokenizer: tokenizer.ggml.pre {name!r} is not supported; known are {known}")
    return PRE_TOKENIZERS[name]


def _normalizer(rule: PreTokenizer) -> dict[str, Any] | None:
    if not rule.byte_level:
        return {"type": "Replace", "pattern": {"String": " "}, "content": SPACE_SYMBOL}
    return {"type": "NFC"} if rule.nfc else None


def _check_bytes(vocab: Mapping[str, int]) -> None:
    """Raises FormatError unless every byte has its piece: the libraries would leave such a character out."""
    missing = [piece for piece in (f"<0x{byte:02X}>" for byte in range(256)) if piece not in vocab]
    if missing:
        raise FormatError(f"tokenizer: tokenizer.ggml.tokens must have all of <0x00> to <0xFF>, got no {missing[0]}")


def _merges(metadata: Mapping[str, Any], vocab: Mapping[str, int]) -> list[str]:
    """Merges in rank order as the file has them, two pieces and a space; both libraries take them so."""
    lines = metadata_value(metadata, "tokenizer.ggml.merges", list)
    for index, line in enumerate(lines):
        if not isinstance(line, str):
            raise FormatError(f"tokenizer: merge {index} must be a string, got {type(line).__name__}")
        left, _, right = line.partition(" ")
        if not (left in vocab and right in vocab and left + right in vocab):
            raise FormatError(f"tokenizer: merge {index} must join two tokens to a third, got {line[:80]!r}")
    return lines


def _added_tokens(metadata: Mapping[str, Any], pieces: list[str]) -> list[dict[str, Any]]:
    """Tokens that are matched in the text before it is cut: control tokens (special) and user-defined ones."""
    types = metadata.get("tokenizer.ggml.token_type", np.full(len(pieces), TokenType.NORMAL))
    if not isinstance(types, np.ndarray) or types.dtype.kind not in "iu" or len(types) != len(pieces):
        raise FormatError(f"tokenizer: tokenizer.ggml.token_type must be {len(pieces)} integers, one a token")
    return [
        {
            "id": index,
            "content": pieces[index],
            "single_word": False,
            "lstrip": False,
            "rstrip": False,
            "normalized": False,
            "special": bool(types[index] != TokenType.USER_DEFINED),
        }
        for index in np.flatnonzero(np.isin(types, (*_SPECIAL, TokenType.USER_DEFINED))).tolist()
        if pieces[index]
    ]


def _split(pattern: str) -> dict[str, Any]:
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}


def _post_processor(metadata: Mapping[str, Any], pieces: list[str]) -> dict[str, Any] | None:
    """Adds the tokens that the file wants around a text, when asked for."""
    wanted = {"bos": adds_bos(metadata), "eos": adds_eos(metadata)}
    ids = {}
    for name in (name for name, add in wanted.items() if add):
        index = token_id(metadata, f"{name}_token_id", len(pieces))
        if index is None:
            raise FormatError(f"tokenizer: tokenizer.ggml.{name}_token_id is missing, though the token is to be added")
        ids[name] = index
    if not ids:
        return None
    around = {name: [{"SpecialToken": {"id": pieces[i], "type_id": 0}}] for name, i in ids.items()}
    first, second = ({"Sequence": {"id": name, "type_id": 0}} for name in "AB")
    single = [*around.get("bos", []), first, *around.get("eos", [])]
    return {
        "type": "TemplateProcessing",
        "single": single,
        "pair": [*single, *around.get("bos", []), second, *around.get("eos", [])],
        "special_tokens": {
            pieces[i]: {"id": pieces[i], "ids": [i], "tokens": [pieces[i]]} for i in dict.fromkeys(ids.values())
        },
    }
