"""A model's tokenizer, whichever of two kinds it is of: one interface for text to ids and back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from webxpu.errors import FormatError, ShapeError
from webxpu.formats.gguf import metadata_value
from webxpu.formats.sentencepiece_model import PieceType, read_sentencepiece_model
from webxpu.text import gguf_tokenizer
from webxpu.text.gguf_added import added_tokens, with_control_pieces
from webxpu.text.gguf_pieces import MODEL_TYPES, sentencepiece_model
from webxpu.text.hf_tokenizer import TURN_MARKS, Tokenizer, parsed
from webxpu.text.model_settings import read_settings
from webxpu.text.sentencepiece import SentencePiece
from webxpu.text.tokenizer_json import check_form
from webxpu.text.unigram_json import is_unigram, unigram_tokenizer


class AnyTokenizer(Protocol):
    """Text to ids and back.

    vocab_size      ids are below it; some of them may be no token
    special_ids     control tokens, which `decode` leaves out unless told otherwise
    special_names   control tokens (and the unknown one) by name, but for names that may be a character's only token
    bos_id, pad_id  the token that begins a text, the one that fills rows; or None
    eos_ids         every token that ends a text or a turn, the file's own first
    unk_id          the unknown token, or -1
    add_bos, add_eos     whether `add_special` puts the token that begins a text first, one that ends it last
    strip_left      how many spaces the first word of a text loses where `token_bytes` are put together

    `TextStream` decodes step by step with any of them.
    """

    @property
    def vocab_size(self) -> int: ...
    @property
    def special_ids(self) -> frozenset[int]: ...
    @property
    def special_names(self) -> Mapping[str, int]: ...
    @property
    def bos_id(self) -> int | None: ...
    @property
    def eos_ids(self) -> tuple[int, ...]: ...
    @property
    def unk_id(self) -> int: ...
    @property
    def pad_id(self) -> int | None: ...
    @property
    def add_bos(self) -> bool: ...
    @property
    def add_eos(self) -> bool: ...
    @property
    def strip_left(self) -> int: ...

    def encode(self, text: str, *, add_special: bool = False, parse_special: bool = True) -> list[int]:
        """Ids of a text.

        add_special    puts the tokens around it that the model wants
        parse_special  a control token's name in the text is that token; else it is text like any other
        Raises ShapeError for a lone surrogate.
        """

    def encode_parts(self, parts: Sequence[str | int]) -> list[int]:
        """Ids of texts with control tokens between them, as one text would be: names in the texts are no tokens.
        Raises ShapeError for a lone surrogate."""

    def decode(self, ids: Iterable[int], *, skip_special: bool = True) -> str:
        """The text of ids. Bytes that are no UTF-8 become U+FFFD. Raises ShapeError for no id."""

    def id_to_piece(self, token_id: int) -> str:
        """The token as the vocabulary spells it. Raises ShapeError for no id."""

    def piece_to_id(self, piece: str) -> int:
        """The id of a token as the vocabulary spells it, or that of the unknown one."""

    def token_bytes(self, token_id: int) -> bytes:
        """The bytes that a token stands for inside a text; a control token's are its name. Raises ShapeError for no
        id."""

    def id_to_token(self, token_id: int) -> str | None:
        """The text that an id alone stands for; None for a control token, for part of a character, and for no id."""


def tokenizer_from_gguf(metadata: Mapping[str, Any]) -> AnyTokenizer:
    """The tokenizer of a GGUF file's metadata. Raises FormatError, and Unsupported for a kind not known here.

    Names in a text are found as llama.cpp finds them. A piece that the file calls normal stays one, also where
    llama.cpp takes it for an end by its name, as `</s>` of Qwen2, which the model's own tokenizer cuts in three.
    """
    kind = metadata_value(metadata, "tokenizer.ggml.model", str)
    if kind not in MODEL_TYPES:
        return Tokenizer.from_gguf(metadata)
    model = with_control_pieces(sentencepiece_model(metadata))
    size = len(model.pieces)

    def adds(role: str, usual: bool) -> bool:
        key = f"{role}_token_id"
        index = gguf_tokenizer.token_id(metadata, key, size)
        added = metadata_value(metadata, f"tokenizer.ggml.add_{role}_token", bool, usual and index is not None)
        if added and (index is None or model.pieces[index].type != PieceType.CONTROL):
            got = "none" if index is None else f"{model.pieces[index].text[:80]!r}"
            raise FormatError(f"tokenizer: tokenizer.ggml.{key} must be a control token, as it is added, got {got}")
        return added

    made = SentencePiece(
        model,
        added=added_tokens(metadata, model),
        add_bos=adds("bos", kind == "llama"),
        add_eos=adds("eos", kind == "t5"),
        prefix_every_span=True,
        longest_first=True,
    )
    made.eos_ids = tuple(dict.fromkeys((*gguf_tokenizer.eos_ids(metadata, size), *made.eos_ids)))
    return made


def tokenizer_from_json(
    tokenizer_json: str | Mapping[str, Any], config: str | Mapping[str, Any] = "{}"
) -> AnyTokenizer:
    """The tokenizer of a tokenizer.json and, for the tokens that have a role, its tokenizer_config.json: a
    `SentencePiece` for a Unigram model, else a `Tokenizer`.

    Raises FormatError, and Unsupported for a kind or a step not known here.
    """
    described = parsed("tokenizer.json", tokenizer_json)
    check_form(described)
    if is_unigram(described):
        return unigram_tokenizer(described, parsed("tokenizer_config.json", config))
    return Tokenizer.from_json(described, config)


def tokenizer_from_model(
    data: bytes, settings: Mapping[str, Any], added: Mapping[str, Any] | None = None, *, name: str = "tokenizer.model"
) -> SentencePiece:
    """The tokenizer of a tokenizer.model and what a tokenizer_config.json says beside it.

    settings   what is in that file: tokens with a role, those that are added, and `legacy`, which gives each span after
               an added token the word boundary that a text has
    added      what is in an added_tokens.json, ids by name
    name       of the file, for messages

    It follows transformers 5.24, but for what that does to the text between two tokens where sentencepiece does
    otherwise: a span that begins with a space gets no word boundary from its LlamaTokenizer, and its T5Tokenizer takes
    each run of white space for one boundary. Raises FormatError, and Unsupported for a class whose ids are not the
    model's.
    """
    model = with_control_pieces(read_sentencepiece_model(data, name), TURN_MARKS)
    found = read_settings(settings, model, added)
    try:
        made = SentencePiece(model, added=found.added, prefix_every_span=found.every_span)
    except ShapeError as e:  # added tokens that clash
        raise FormatError(f"tokenizer_config.json: {e}") from e
    made.bos_id = found.ids.get("bos_token", made.bos_id)
    made.pad_id = found.ids.get("pad_token", made.pad_id)
    if "eos_token" in found.ids:
        made.eos_ids = tuple(dict.fromkeys((found.ids["eos_token"], *made.eos_ids)))
    made.add_bos = found.add_bos and made.bos_id is not None
    made.add_eos = found.add_eos and bool(made.eos_ids)
    return made
