"""Text to ids and back, for Hugging Face's tokenizer.json and for the tokenizer inside a GGUF file.

Encoding is `tokenizers` in CPython, `@huggingface/tokenizers` in the browser, from the same JSON; decoding is Python.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

from webxpu.errors import FormatError, ShapeError, Unsupported
from webxpu.text import gguf_tokenizer
from webxpu.text.checks import checked_text
from webxpu.text.pieces import BYTE_OF_CHARACTER, byte_level, piece_decoder
from webxpu.text.stream import TextStream
from webxpu.text.tokenizer_json import added_around, check_form, token_content, unknown_piece

# Special tokens that end a turn in some family of models; files often name only the one that ends a text.
TURN_ENDS = frozenset(
    (
        "<|im_end|>",
        "<|eot_id|>",
        "<|eom_id|>",
        "<|end|>",
        "<end_of_turn>",
        "<turn|>",
        "<|end_of_text|>",
        "<|endoftext|>",
    )
)
# Names that are control tokens even where a file calls them user-defined, as Gemma's tokenizer.model does: what a user
# writes must not end a turn or begin one.
TURN_MARKS = TURN_ENDS | {"<|im_start|>", "<|start_header_id|>", "<|end_header_id|>", "<start_of_turn>", "<|turn>"}

# Markup by its form, with DeepSeek's wide bars.
_MARKUP = re.compile("<[|\uff5c].+[|\uff5c]>")

# No vocabulary comes near it; a file that claims more would only cost memory.
MAX_VOCAB = 1 << 22

# Begins the names under which control tokens are in a text whose own names are none. Unicode keeps it for such uses.
_MARK, _MARK_END = "\ufdd0", "\ufdd1"

_Encode = Callable[[str, bool], list[int]]


def is_mark(name: str) -> bool:
    """Whether a token's name is markup of a chat: what a user writes is never that token, special or not."""
    return name in TURN_MARKS or _MARKUP.fullmatch(name) is not None


class Tokenizer:
    """A vocabulary with its rules.

    vocab_size   ids are below it
    special_ids  ids of control tokens, which `decode` leaves out unless told otherwise
    bos_id, pad_id   the token that begins a text, the one that fills rows; or None
    eos_ids      every token that ends a text or a turn, the file's own first
    unk_id       the unknown token, or -1
    add_bos, add_eos     whether `add_special` puts bos_id first, one of eos_ids last
    special_names   control tokens, and others that are marks of a chat by their form, by name, but for names of one
                 character that may be its only token
    """

    def __init__(
        self,
        tokenizer_json: Mapping[str, Any],
        *,
        bos_id: int | None,
        eos_ids: Iterable[int],
        add_bos: bool,
        add_eos: bool = False,
        unk_id: int = -1,
        pad_id: int | None = None,
    ) -> None:
        self._json = {"normalizer": None, "pre_tokenizer": None, "post_processor": None, **tokenizer_json}
        self._encode = _backend(self._json)  # first, because it checks the form of the whole
        self._json["added_tokens"] = [
            {**token, "special": token["special"] or token["content"] in TURN_MARKS}
            for token in self._json.get("added_tokens", ())
        ]
        self._pieces = _pieces(self._json)
        self._added = {token["id"]: token["content"] for token in self._json["added_tokens"]}
        self._piece_bytes, self.strip_left = piece_decoder(self._json.get("decoder"))
        self._bytes: dict[int, bytes] = {}
        self.vocab_size = len(self._pieces)
        self.special_ids = frozenset(t["id"] for t in self._json["added_tokens"] if t["special"])
        self.bos_id, self.pad_id, self.unk_id = bos_id, pad_id, unk_id
        ends = (index for index in sorted(self.special_ids) if self._added[index] in TURN_ENDS)
        self.eos_ids = tuple(dict.fromkeys((*eos_ids, *ends)))
        self.add_bos, self.add_eos = add_bos, add_eos
        self.special_names = {t["content"]: t["id"] for t in self._json["added_tokens"] if _is_covered(t)}
        self._encode_plain: _Encode | None = None
        self._encode_marked: _Encode | None = None

    @classmethod
    def from_gguf(cls, metadata: Mapping[str, Any]) -> Tokenizer:
        """From a GGUF file's metadata. Raises FormatError, and Unsupported for a kind of tokenizer not known here."""
        described = gguf_tokenizer.tokenizer_json(metadata)
        size = len(gguf_tokenizer.token_pieces(metadata))
        roles = ("bos_token_id", "unknown_token_id", "padding_token_id")
        bos_id, unk_id, pad_id = (gguf_tokenizer.token_id(metadata, role, size) for role in roles)
        return cls(
            described,
            bos_id=bos_id,
            eos_ids=gguf_tokenizer.eos_ids(metadata, size),
            add_bos=gguf_tokenizer.adds_bos(metadata),
            add_eos=gguf_tokenizer.adds_eos(metadata),
            unk_id=-1 if unk_id is None else unk_id,
            pad_id=pad_id,
        )

    @classmethod
    def from_json(cls, tokenizer_json: str | Mapping[str, Any], config: str | Mapping[str, Any] = "{}") -> Tokenizer:
        """From a tokenizer.json and, for the tokens that have a role, its tokenizer_config.json."""
        described = parsed("tokenizer.json", tokenizer_json)
        check_form(described)
        if not isinstance(described["model"]["vocab"], Mapping):
            raise Unsupported("tokenizer: a Unigram model is for `tokenizer_from_json`, this is for vocabularies by id")
        settings = parsed("tokenizer_config.json", config)
        made = cls(described, bos_id=None, eos_ids=(), add_bos=False)
        ids, roles = made._ids, ("bos_token", "eos_token", "pad_token")
        made.bos_id, eos, made.pad_id = (ids.get(token_content(settings.get(role))) for role in roles)
        made.unk_id = ids.get(unknown_piece(described) or token_content(settings.get("unk_token")), -1)
        if eos is not None:
            made.eos_ids = tuple(dict.fromkeys((eos, *made.eos_ids)))
        first, last = added_around(described)
        made.add_bos = made.bos_id is not None and first is not None and ids.get(first) == made.bos_id
        made.add_eos = last is not None and ids.get(last) in made.eos_ids
        return made

    @property
    def kind(self) -> str:
        """What it is called: byte-level BPE, or Hugging Face's form of its model's type."""
        bytewise = self._piece_bytes is byte_level
        kind = str(self._json["model"].get("type"))[:40]
        return f"byte-level {kind}" if bytewise else f"Hugging Face's {kind}"

    def encode(self, text: str, *, add_special: bool = False, parse_special: bool = True) -> list[int]:
        """Ids of a text.

        add_special    puts the tokens around it that the model wants (often none)
        parse_special  a control token's name in the text is that token; else it is text like any other
        Raises ShapeError for a lone surrogate.
        """
        checked_text(text)
        if parse_special:
            return self._encode(text, add_special)
        if self._encode_plain is None:
            self._encode_plain = _backend(_without_special(self._json))
        return self._encode_plain(text, add_special)

    def encode_parts(self, parts: Sequence[str | int]) -> list[int]:
        """Ids of texts with control tokens between them, as one text would be: names in the texts are no tokens.
        Raises ShapeError for a lone surrogate."""
        if self._encode_marked is None:
            self._encode_marked = _backend(_renamed_special(self._json))
        texts = (_mark(p) if isinstance(p, int) else checked_text(p).replace(_MARK, "\ufffd") for p in parts)
        return self._encode_marked("".join(texts), False)

    def id_to_piece(self, token_id: int) -> str:
        """The token as the vocabulary spells it. Raises ShapeError for no id."""
        return self._piece("id_to_piece", token_id)

    def piece_to_id(self, piece: str) -> int:
        """The id of a token as the vocabulary spells it, or that of the unknown one."""
        return self._ids.get(piece, self.unk_id)

    def token_bytes(self, token_id: int) -> bytes:
        """The bytes that a token stands for; a control token's are its name. Raises ShapeError for no id."""
        found = self._bytes.get(token_id)
        if found is None:
            piece = self._piece("token_bytes", token_id)
            found = piece.encode() if token_id in self._added else self._piece_bytes(piece)
            self._bytes[token_id] = found
        return found

    def id_to_token(self, token_id: int) -> str | None:
        """The text that an id alone stands for; None for a control token, for part of a character, and for no id."""
        inside = 0 <= token_id < self.vocab_size and self._pieces[token_id] is not None
        if not inside or token_id in self.special_ids:
            return None
        try:
            return self.token_bytes(token_id).decode()
        except UnicodeDecodeError:
            return None

    def decode(self, ids: Iterable[int], *, skip_special: bool = True) -> str:
        """The text of ids. Bytes that are no UTF-8 become U+FFFD."""
        stream = TextStream(self, skip_special=skip_special)
        return stream.push(ids) + stream.finish()

    @cached_property
    def _ids(self) -> dict[str, int]:
        return {piece: index for index, piece in enumerate(self._pieces) if piece is not None}

    def _piece(self, where: str, token_id: int) -> str:
        piece = self._pieces[token_id] if 0 <= token_id < self.vocab_size else None
        if piece is None:
            raise ShapeError(f"{where}: id must be one of {self.vocab_size} tokens, got {token_id}")
        return piece


def _backend(tokenizer_json: Mapping[str, Any]) -> _Encode:
    """The library that encodes: PyPI's `tokenizers`, in the browser the bridge's JavaScript one."""
    text = json.dumps(tokenizer_json, ensure_ascii=False)
    if sys.platform == "emscripten":
        from webxpu import bridge

        handle = bridge.create_tokenizer(text, '{"clean_up_tokenization_spaces": false}')
        return lambda text, add_special: bridge.encode_text(handle, text, add_special)
    from tokenizers import Tokenizer as RustTokenizer

    try:
        tokenizer = RustTokenizer.from_str(text)
    except BaseException as e:  # the library raises nothing more specific, and where it panics no Exception at all
        if not isinstance(e, Exception) and type(e).__name__ != "PanicException":
            raise
        raise FormatError(f"tokenizer: must be one that `tokenizers` can read, got {e}") from e
    return lambda text, add_special: list(tokenizer.encode(text, add_special_tokens=add_special).ids)


def parsed(what: str, source: str | Mapping[str, Any]) -> Mapping[str, Any]:
    if not isinstance(source, str):
        return source
    try:
        value = json.loads(source)
    except ValueError as e:
        raise FormatError(f"{what}: must be JSON, got {e}") from e
    if not isinstance(value, dict):
        raise FormatError(f"{what}: must be an object, got {type(value).__name__}")
    return value


def _pieces(tokenizer_json: Mapping[str, Any]) -> list[str | None]:
    """Pieces by id, None where an id has none; added tokens count last."""
    vocab = tokenizer_json["model"]["vocab"]
    added = {token["id"]: token["content"] for token in tokenizer_json.get("added_tokens", ())}
    ids = [*vocab.values(), *added]
    if not all(type(index) is int and 0 <= index < MAX_VOCAB for index in ids):
        raise FormatError(f"tokenizer: ids must be whole numbers below {MAX_VOCAB}")
    pieces: list[str | None] = [None] * (max(ids, default=-1) + 1)
    for piece, index in vocab.items():
        pieces[index] = piece
    for index, content in added.items():
        pieces[index] = content
    return pieces


def _without_special(tokenizer_json: Mapping[str, Any]) -> dict[str, Any]:
    """The same tokenizer, for which names of control tokens are plain text."""
    if tokenizer_json["model"].get("type") != "BPE":  # others would still find the name, as a piece
        raise Unsupported("tokenizer: names of control tokens can be plain text only in a BPE vocabulary")
    added = [token for token in tokenizer_json.get("added_tokens", ()) if not token["special"]]
    # As pieces they keep their ids; the library would number them anew from the vocabulary's end.
    vocab = {**tokenizer_json["model"]["vocab"], **{token["content"]: token["id"] for token in added}}
    return {**tokenizer_json, "model": {**tokenizer_json["model"], "vocab": vocab}, "added_tokens": added}


def _is_covered(token: Mapping[str, Any]) -> bool:
    """Whether a token's name in what a user wrote is text. That of one character may be that character's only token."""
    name = token["content"]
    return (token["special"] or is_mark(name)) and bool(name) and name not in BYTE_OF_CHARACTER


def _mark(token_id: int) -> str:
    return f"{_MARK}{token_id:x}{_MARK_END}"


def _renamed_special(tokenizer_json: Mapping[str, Any]) -> dict[str, Any]:
    """The same tokenizer, whose control tokens have names that no text has."""
    model, added = dict(tokenizer_json["model"]), tokenizer_json.get("added_tokens", ())
    names = {t["content"]: _mark(t["id"]) for t in added if _is_covered(t)}
    model["vocab"] = {names.get(piece, piece): index for piece, index in model["vocab"].items()}
    if model.get("unk_token") in names:
        model["unk_token"] = names[model["unk_token"]]
    added = [{**token, "content": names.get(token["content"], token["content"])} for token in added]
    return {**tokenizer_json, "model": model, "added_tokens": added, "post_processor": None}
