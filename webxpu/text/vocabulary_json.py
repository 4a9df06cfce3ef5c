"""The vocabulary JSON of `webxpu convert tokenizer`: all that a SentencePiece tokenizer is, as one JSON object.

vocabSize, pieces            [piece, score, type] by id; the types are those of a model file
modelType                    "unigram" (the default), "bpe", "word", "char"
byteFallback, unkSurface     as in a model file
unkId, bosId, eosId, padId   -1 where there is none, the default of padId
eosIds                       every id that ends a text or a turn; without it eosId and the names that do so
addBos, addEos               whether the first two are put around a text that asks for it (false)
normalizer                   name, charsmap in base64, addDummyPrefix, removeExtraWhitespaces, escapeWhitespaces (true)
treatWhitespaceAsSuffix      false
addedTokens                  id, content, special; lstrip, rstrip, singleWord, normalized (false)
prefixEverySpan, longestFirst   how names in a text are found and what follows them is cut (false)
specialTokens                names by role, for people
"""

from __future__ import annotations

import base64
import binascii
import json
from array import array
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NoReturn

from webxpu.errors import FormatError, ShapeError, Unsupported
from webxpu.formats.sentencepiece_model import (
    MAX_FLOAT32,
    MAX_PIECE_BYTES,
    ModelType,
    NormalizerSpec,
    Pieces,
    PieceType,
    SentencePieceModel,
    checked_pieces,
)
from webxpu.text.added_tokens import AddedToken
from webxpu.text.sentencepiece import SentencePiece
from webxpu.text.sentencepiece_rules import ModelRules
from webxpu.text.tokenizer_json import check_form
from webxpu.text.unigram_json import UnigramRules, unigram_tokenizer

MODEL_TYPES = {kind.name.lower(): kind for kind in ModelType}
_PIECE_TYPES = frozenset(map(int, PieceType))
_ROLES = ("unk", "bos", "eos", "pad")
_ADDED_SWITCHES = {"lstrip": "lstrip", "rstrip": "rstrip", "singleWord": "single_word", "normalized": "normalized"}
# Names of normalizers that change no character.
_PLAIN = ("", "identity")
_QUOTED = 80


def is_vocabulary(values: Mapping[str, Any]) -> bool:
    """Whether a JSON object is such a vocabulary, of whatever contents."""
    return "pieces" in values


def vocabulary_text(tokenizer: SentencePiece) -> str:
    """The JSON of a tokenizer, a line a piece; the same for the same tokenizer. Raises Unsupported for one whose rules
    are not those of a model file."""
    rules, model, spec = tokenizer.rules, tokenizer.model, tokenizer.model.normalizer
    if not isinstance(rules, ModelRules | UnigramRules):
        raise Unsupported(f"{model.name}: rules of the kind {type(rules).__name__} have no place in a vocabulary JSON")
    ids = {"unk": tokenizer.unk_id, "bos": tokenizer.bos_id, "pad": tokenizer.pad_id}
    ids["eos"] = tokenizer.eos_ids[0] if tokenizer.eos_ids else None
    head: dict[str, Any] = {
        "vocabSize": len(model.pieces),
        "modelType": model.model_type.name.lower(),
        "byteFallback": model.byte_fallback if isinstance(rules, ModelRules) else rules.byte_fallback,
        **{f"{role}Id": -1 if ids[role] is None else ids[role] for role in _ROLES},
        "eosIds": tokenizer.eos_ids,
        "addBos": tokenizer.add_bos,
        "addEos": tokenizer.add_eos,
        "unkSurface": model.unk_surface,
        "treatWhitespaceAsSuffix": model.treat_whitespace_as_suffix,
        "prefixEverySpan": tokenizer.prefix_every_span,
        "longestFirst": tokenizer.longest_first,
        "normalizer": {
            "name": spec.name,
            "addDummyPrefix": spec.add_dummy_prefix,
            "removeExtraWhitespaces": spec.remove_extra_whitespaces,
            "escapeWhitespaces": spec.escape_whitespaces,
            "charsmap": base64.b64encode(spec.charsmap).decode(),
        },
        "addedTokens": [_described(token) for token in tokenizer.added],
        "specialTokens": {
            f"{role}_token": tokenizer.pieces[index] for role, index in ids.items() if index is not None and index >= 0
        },
    }
    if isinstance(rules, UnigramRules):
        head["steps"] = rules.steps
    columns = model.columns
    scores = array("f" if isinstance(rules, ModelRules) else "d", columns.scores)
    rows = zip(columns.texts, scores, columns.types, strict=True)
    lines = [f"{_json(key)}:{_json(value)}" for key, value in head.items()]
    return "{" + ",\n".join(lines) + ',\n"pieces":[\n' + ",\n".join(map(_json, rows)) + "\n]}\n"


def _described(token: AddedToken) -> dict[str, Any]:
    switches = {key: True for key, name in _ADDED_SWITCHES.items() if getattr(token, name)}
    return {"id": token.id, "content": token.content, "special": token.special, **switches}


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def tokenizer_from_vocabulary(values: Mapping[str, Any], name: str = "vocabulary") -> SentencePiece:
    """The tokenizer of such an object; `name` is for messages.

    Raises FormatError, naming the entry, and Unsupported for a normalizer that is named but not there.
    """
    return _Reader(values, name).tokenizer()


def tokenizer_json_of(values: Mapping[str, Any]) -> dict[str, Any]:
    """The tokenizer.json that a vocabulary with `steps` was made from, as far as a tokenizer needs it. Its parts are
    not checked."""
    unk_id = values.get("unkId")
    added = [
        {**{name: token.get(key, False) for key, name in _ADDED_SWITCHES.items()}, **_plain(token)}
        for token in values.get("addedTokens", ())
    ]
    return {
        "version": "1.0",
        "added_tokens": added,
        **values["steps"],
        "model": {
            "type": "Unigram",
            "unk_id": None if unk_id == -1 else unk_id,
            "byte_fallback": values.get("byteFallback"),
            "vocab": [entry[:2] for entry in values["pieces"]],
        },
    }


def _plain(token: Mapping[str, Any]) -> dict[str, Any]:
    return {key: token.get(key) for key in ("id", "content", "special")}


class _Reader:
    def __init__(self, values: Mapping[str, Any], name: str) -> None:
        self.values, self.name = values, name

    def refuse(self, what: str, rule: str, got: object) -> NoReturn:
        raise FormatError(f"{self.name}: {what} must be {rule}, got {str(got)[:_QUOTED]!r}")

    def value(self, key: str, kind: type, usual: Any = None, within: Mapping[str, Any] | None = None) -> Any:
        """A value of exactly this type; `usual` where the object has none, unless that is None."""
        values, what = (self.values, key) if within is None else (within, f"normalizer.{key}")
        found = values.get(key, usual)
        if type(found) is not kind:
            kinds = {int: "a whole number", bool: "true or false", str: "a text", list: "a list", dict: "an object"}
            self.refuse(what, kinds[kind], "nothing" if key not in values else found)
        return found

    def text(self, what: str, found: object) -> str:
        if not isinstance(found, str):
            self.refuse(what, "a text", found)
        try:
            found.encode()
        except UnicodeEncodeError:
            self.refuse(what, "Unicode", ascii(found))
        return found

    def tokenizer(self) -> SentencePiece:
        try:
            made = self.stepped() if "steps" in self.values else self.plain()
        except ShapeError as e:  # added tokens that clash
            raise FormatError(f"{self.name}: {e}") from e
        self.special_tokens()
        made.bos_id, made.pad_id, _ = (self.role(role, made) for role in ("bos", "pad", "eos"))
        if "eosIds" in self.values:
            ends = self.value("eosIds", list)
            made.eos_ids = tuple(self.id(f"eosIds[{i}]", index, made) for i, index in enumerate(ends))
        made.add_bos, made.add_eos = (self.value(key, bool, False) for key in ("addBos", "addEos"))
        if made.add_bos and made.bos_id is None:
            self.refuse("addBos", "false without a bosId", True)
        if made.add_eos and not made.eos_ids:
            self.refuse("addEos", "false without an eosId", True)
        return made

    def plain(self) -> SentencePiece:
        model, added = self.model(), self.added()
        return SentencePiece(
            replace(model, names=self.names(model, added)),
            added=added,
            prefix_every_span=self.value("prefixEverySpan", bool, False),
            longest_first=self.value("longestFirst", bool, False),
        )

    def stepped(self) -> SentencePiece:
        for key, kind in (("steps", dict), ("unkId", int), ("byteFallback", bool)):
            self.value(key, kind)
        self.added()
        self.size()
        described = tokenizer_json_of(self.values)
        check_form(described)
        return unigram_tokenizer(described, {})

    def size(self) -> None:
        entries = self.value("pieces", list)
        if not entries:
            self.refuse("pieces", "a list with pieces", "none")
        for index, entry in enumerate(entries):
            if type(entry) is not list or len(entry) != 3:
                self.refuse(f"pieces[{index}]", "[piece, score, type]", entry)
        if self.value("vocabSize", int) != len(entries):
            self.refuse("vocabSize", f"{len(entries)}, as many as there are pieces", self.values["vocabSize"])

    def model(self) -> SentencePieceModel:
        kind = self.value("modelType", str, "unigram")
        if kind not in MODEL_TYPES:
            self.refuse("modelType", f"one of {', '.join(MODEL_TYPES)}", kind)
        fallback = self.value("byteFallback", bool)
        self.size()
        pieces = self.pieces()
        byte_ids, unk_id = checked_pieces(self.name, pieces, MODEL_TYPES[kind], fallback)
        if self.value("unkId", int) != unk_id:
            self.refuse("unkId", f"{unk_id}, the piece of type {int(PieceType.UNKNOWN)}", self.values["unkId"])
        return SentencePieceModel(
            name=self.name,
            pieces=pieces,
            model_type=MODEL_TYPES[kind],
            normalizer=self.normalizer(),
            treat_whitespace_as_suffix=self.value("treatWhitespaceAsSuffix", bool, False),
            byte_fallback=fallback,
            byte_ids=byte_ids,
            unk_id=unk_id,
            unk_surface=self.text("unkSurface", self.value("unkSurface", str)),
            names={},
        )

    def pieces(self) -> Pieces:
        entries = self.values["pieces"]
        for index, (text, score, kind) in enumerate(entries):
            nbytes = len(self.text(f"pieces[{index}][0]", text).encode())
            if not 0 < nbytes < MAX_PIECE_BYTES:
                self.refuse(f"pieces[{index}][0]", f"of 1 to {MAX_PIECE_BYTES - 1} bytes", f"{nbytes} bytes")
            if type(score) not in (int, float) or not -MAX_FLOAT32 <= score <= MAX_FLOAT32:
                self.refuse(f"pieces[{index}][1]", "a finite float32", score)
            if type(kind) is not int or kind not in _PIECE_TYPES:
                self.refuse(f"pieces[{index}][2]", "1 to 6", kind)
        texts, scores, kinds = zip(*entries, strict=True)
        return Pieces(list(texts), array("f", scores), bytes(kinds))

    def normalizer(self) -> NormalizerSpec:
        found = self.value("normalizer", dict)
        name = self.text("normalizer.name", self.value("name", str, within=found))
        if "charsmap" not in found and name not in _PLAIN:
            self.refuse("normalizer.charsmap", f"there for the normalizer {name[:_QUOTED]!r}", "none")
        try:
            charsmap = base64.b64decode(self.value("charsmap", str, "", within=found), validate=True)
        except (binascii.Error, ValueError) as e:
            self.refuse("normalizer.charsmap", "base64", e)
        return NormalizerSpec(
            name=name,
            charsmap=charsmap,
            charsmap_at=0,
            add_dummy_prefix=self.value("addDummyPrefix", bool, True, within=found),
            remove_extra_whitespaces=self.value("removeExtraWhitespaces", bool, True, within=found),
            escape_whitespaces=self.value("escapeWhitespaces", bool, True, within=found),
        )

    def added(self) -> list[AddedToken]:
        tokens = []
        for index, entry in enumerate(self.value("addedTokens", list, [])):
            what = f"addedTokens[{index}]"
            if type(entry) is not dict:
                self.refuse(what, "an object with id, content and special", entry)
            if type(entry.get("id")) is not int:
                self.refuse(f"{what}.id", "a whole number", entry.get("id"))
            content = self.text(f"{what}.content", entry.get("content"))
            switches = {name: entry.get(key, False) for key, name in _ADDED_SWITCHES.items()}
            switches["special"] = entry.get("special")
            for key, switch in switches.items():
                if type(switch) is not bool:
                    self.refuse(f"{what}.{key}", "true or false", switch)
            tokens.append(AddedToken(entry["id"], content, **switches))
        return tokens

    def special_tokens(self) -> None:
        for role, content in self.value("specialTokens", dict, {}).items():
            self.text(f"specialTokens.{role[:_QUOTED]}", content)

    def names(self, model: SentencePieceModel, added: list[AddedToken]) -> dict[str, str]:
        """What the special pieces are called; a role that has none has no name."""
        texts = {token.id: token.content for token in added}
        names = {}
        for role in _ROLES:
            index = self.value(f"{role}Id", int, -1 if role == "pad" else None)
            own = model.pieces[index].text if 0 <= index < len(model.pieces) else ""
            names[role] = texts.get(index, own)
        return names

    def role(self, role: str, made: SentencePiece) -> int | None:
        index = self.values.get(f"{role}Id", -1)
        return None if index == -1 else self.id(f"{role}Id", index, made)

    def id(self, what: str, index: object, made: SentencePiece) -> int:
        if type(index) is not int or not 0 <= index < made.vocab_size:
            self.refuse(what, f"an id below {made.vocab_size}", index)
        return index
