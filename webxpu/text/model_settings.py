"""What a tokenizer_config.json says of the SentencePiece model beside it, read as transformers 5.24 reads it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from webxpu.errors import FormatError, Unsupported
from webxpu.formats.sentencepiece_model import PieceType, SentencePieceModel
from webxpu.text.added_tokens import AddedToken

NAME = "tokenizer_config.json"
_ROLES = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token")
_LISTS = ("additional_special_tokens", "extra_special_tokens")
_FLAGS = ("special", "lstrip", "rstrip", "single_word", "normalized")
# Classes to which only a text's first span has a word boundary where the configuration says nothing of `legacy`.
_FIRST_ONLY = ("Llama", "CodeLlama")
# Classes that give every span one, whatever `legacy` says; and those that end a text, and those that begin one, too.
_EVERY = ("T5", "MT5", "Albert")
_ENDED, _BEGUN = ("T5", "MT5", "Albert"), ("Albert",)
# Classes whose ids are not the places of the pieces in the model file.
_RENUMBERED = frozenset(
    ("Barthez", "Bartpho", "Camembert", "LayoutXLM", "M2M100", "MBart", "MBart50", "MLuke", "Nllb", "PLBart", "Pegasus",
     "SeamlessM4T", "Udop", "XGLM", "XLMRoberta", "XLMProphetNet")
)  # fmt: skip
_QUOTED = 80


@dataclass(frozen=True)
class Settings:
    """added     tokens that the model lacks, or of which the configuration says more than the model
    ids          tokens that have a role, by its name; a role without one is missing
    add_bos, add_eos     whether the tokens that begin and end a text are put around it
    every_span   whether a span after an added token gets a word boundary, as a text does
    """

    added: tuple[AddedToken, ...]
    ids: Mapping[str, int]
    add_bos: bool
    add_eos: bool
    every_span: bool


def read_settings(values: Mapping[str, Any], model: SentencePieceModel, added: Mapping[str, Any] | None) -> Settings:
    """The settings of a model.

    values   what is in the tokenizer_config.json
    added    what is in an added_tokens.json, ids by name: it counts where `values` has no added_tokens_decoder

    Raises FormatError, and Unsupported for a class whose ids are not those of the model file.
    """
    kind = str(values.get("tokenizer_class") or "").removesuffix("Fast").removesuffix("Tokenizer")
    if kind in _RENUMBERED:
        raise Unsupported(
            f"tokenizer: a {kind}Tokenizer has other ids than its SentencePiece model; use its tokenizer.json"
        )
    tokens = _added(values, model, added)
    texts = model.columns.texts
    special = {texts[i]: i for kind in (PieceType.CONTROL, PieceType.UNKNOWN) for i in model.columns.ids_of(kind)}
    ids = {text: i for i, text in enumerate(texts)} | special
    known = special | {t.content: t.id for t in tokens}
    after = max((len(model.pieces), *(token.id + 1 for token in tokens)))
    names = dict(_names(values))
    for name in dict.fromkeys(names.values()):
        if name not in known:  # pieces that are found as names from now on, and new ones, which follow what is there
            known[name] = ids.get(name, after)
            tokens.append(AddedToken(known[name], name, special=True))
            after += known[name] == after
    every = bool(values["legacy"]) if "legacy" in values else kind not in _FIRST_ONLY
    return Settings(
        tuple(tokens),
        {role: known[name] for role, name in names.items() if role in _ROLES},
        _flag(values, "add_bos_token", kind not in _ENDED or kind in _BEGUN),
        _flag(values, "add_eos_token", kind in _ENDED),
        every or kind in _EVERY,
    )


def _added(values: Mapping[str, Any], model: SentencePieceModel, beside: Mapping[str, Any] | None) -> list[AddedToken]:
    """Tokens of the added_tokens_decoder, else of an added_tokens.json. Where the model puts a word boundary before a
    text, they are found in the text as it is."""
    raw = model.normalizer.add_dummy_prefix
    special = set(dict(_names(values)).values())
    entries = values.get("added_tokens_decoder")
    tokens = []
    if entries is None:
        for name, index in (beside or {}).items():
            own = name in special
            tokens.append(AddedToken(_id("added_tokens.json", index), name, special=own, normalized=not (own or raw)))
        return tokens
    if not isinstance(entries, Mapping):
        raise FormatError(f"{NAME}: added_tokens_decoder must be an object, got {type(entries).__name__}")
    for key, entry in entries.items():
        index = _id(f"{NAME}: added_tokens_decoder", int(key) if str(key).isdecimal() else key)
        what = f"{NAME}: added_tokens_decoder[{index}]"
        if not isinstance(entry, Mapping) or not isinstance(entry.get("content"), str):
            raise FormatError(f"{what} must be an object with a content, got {str(entry)[:_QUOTED]!r}")
        flags = {flag: entry.get(flag, flag == "normalized" and not entry.get("special")) for flag in _FLAGS}
        for flag, value in flags.items():
            if type(value) is not bool:
                raise FormatError(f"{what}.{flag} must be true or false, got {str(value)[:_QUOTED]!r}")
        if entry["content"]:
            flags |= {
                "special": flags["special"] or entry["content"] in special,
                "normalized": flags["normalized"] > raw,
            }
            tokens.append(AddedToken(index, entry["content"], **flags))
    return [t for t in tokens if not _is_unknown(t, model)]


def _is_unknown(token: AddedToken, model: SentencePieceModel) -> bool:
    """Whether it is the model's own unknown piece, and no more."""
    own = token.id == model.unk_id and model.pieces[token.id].text == token.content
    return own and not (token.lstrip or token.rstrip or token.single_word)


def _names(values: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Roles, and places in lists of special tokens, with their tokens' names."""
    for role in _ROLES:
        name = _content(role, values.get(role))
        if name:
            yield role, name
    for key in _LISTS:
        listed = values.get(key) or ()
        if not isinstance(listed, list | tuple | Mapping):
            raise FormatError(f"{NAME}: {key} must be a list, got {type(listed).__name__}")
        entries = listed.values() if isinstance(listed, Mapping) else listed
        for i, entry in enumerate(entries):
            name = _content(f"{key}[{i}]", entry)
            if name:
                yield f"{key}[{i}]", name


def _content(what: str, token: Any) -> str:
    """A token's name: a text, or an object that has it."""
    name = token.get("content") if isinstance(token, Mapping) else token
    if name is not None and not isinstance(name, str):
        raise FormatError(f"{NAME}: {what} must be a text or an object with a content, got {str(token)[:_QUOTED]!r}")
    return name or ""


def _id(what: str, value: Any) -> int:
    if type(value) is not int or value < 0:
        raise FormatError(f"{what}: an id must be a whole number, got {str(value)[:_QUOTED]!r}")
    return value


def _flag(values: Mapping[str, Any], key: str, usual: bool) -> bool:
    value = values.get(key)
    if value is not None and type(value) is not bool:
        raise FormatError(f"{NAME}: {key} must be true or false, got {str(value)[:_QUOTED]!r}")
    return usual if value is None else value
