"""The form of a tokenizer.json, as far as Python reads it: in a browser the library that encodes checks little."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

from webxpu.errors import FormatError

_ADDED = {"id": int, "content": str, "special": bool}
_MAX_DEPTH = 20
_PARTS = {
    "normalizer": "normalizers",
    "pre_tokenizer": "pretokenizers",
    "decoder": "decoders",
    "post_processor": "processors",
}


def check_form(described: Mapping[str, Any]) -> None:
    """Raises FormatError unless the vocabulary, the added tokens and the steps of decoder and post_processor have the
    form that they must have."""
    model = described.get("model")
    vocab = model.get("vocab") if isinstance(model, Mapping) else None
    if not vocab:
        raise FormatError("tokenizer.json: must have a model with a vocabulary")
    if not isinstance(vocab, Mapping) and not (isinstance(vocab, list) and all(map(_is_scored, vocab))):
        refuse("model.vocab", "ids by piece, or a list of pieces with scores", vocab)
    added = described.get("added_tokens", [])
    if not isinstance(added, list):
        refuse("added_tokens", "a list", added)
    for token in added:
        if not isinstance(token, Mapping) or not all(type(token.get(k)) is kind for k, kind in _ADDED.items()):
            refuse("an added token", "an object with id, content and special", token)
    for key in ("decoder", "post_processor"):
        steps_of(described, key)


def steps_of(described: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    """The steps of `normalizer`, `pre_tokenizer`, `decoder` or `post_processor`, those of sequences inside a sequence
    among them; none where it is missing. Raises FormatError."""
    whole = described.get(key)
    return [] if whole is None else _flat(whole, key, 0)


def _flat(whole: Any, key: str, depth: int) -> list[Mapping[str, Any]]:
    kind = whole.get("type") if isinstance(whole, Mapping) and depth < _MAX_DEPTH else None
    if isinstance(kind, str) and kind != "Sequence":
        return [whole]
    inner = whole.get(_PARTS[key]) if kind == "Sequence" else None
    if isinstance(inner, list):
        return [step for part in inner for step in _flat(part, key, depth + 1)]
    refuse(key, f"an object with a type, or a Sequence with a list of {_PARTS[key]}", whole)


def setting(step: Mapping[str, Any], key: str, kind: type, usual: Any = None) -> Any:
    """A step's value. Raises FormatError where it is missing or of another type."""
    value = step.get(key, usual)
    if type(value) is not kind:
        refuse(f"{key} of the step {step['type'][:40]}", f"a {kind.__name__}", value)
    return value


def added_around(described: Mapping[str, Any]) -> tuple[str | None, str | None]:
    """The tokens that the post-processor puts first and last, or None."""
    for step in steps_of(described, "post_processor"):
        if step["type"] == "TemplateProcessing" and (parts := setting(step, "single", list)):
            return _special_id(parts[0]), _special_id(parts[-1])
    return None, None


def unknown_piece(described: Mapping[str, Any]) -> str | None:
    """The piece that stands for text which the vocabulary lacks, or None. Raises FormatError."""
    model = described["model"]
    found = model.get("unk_token")
    if not isinstance(model["vocab"], Mapping):
        index = model.get("unk_id")
        if index is not None and not (type(index) is int and 0 <= index < len(model["vocab"])):
            refuse("model.unk_id", f"one of {len(model['vocab'])} pieces", index)
        found = None if index is None else model["vocab"][index][0]
    if found is not None and not isinstance(found, str):
        refuse("model.unk_token", "a text", found)
    return found


def token_content(token: Any) -> str:
    """A token in tokenizer_config.json: its text, or an object that has it."""
    return str(token.get("content", "")) if isinstance(token, Mapping) else str(token or "")


def _special_id(part: Any) -> str | None:
    token = part.get("SpecialToken") if isinstance(part, Mapping) else None
    return str(token.get("id")) if isinstance(token, Mapping) else None


def _is_scored(entry: Any) -> bool:
    return isinstance(entry, list | tuple) and len(entry) == 2 and isinstance(entry[0], str)


def refuse(what: str, rule: str, got: object) -> NoReturn:
    """Raises FormatError."""
    raise FormatError(f"tokenizer.json: {what} must be {rule}, got {str(got)[:80]!r}")
