"""The form of a tokenizer.json, as far as Python reads it: in a browser the library that encodes checks little."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

from webxpu.errors import FormatError

_ADDED = {"id": int, "content": str, "special": bool}
_PARTS = {"decoder": "decoders", "post_processor": "processors"}


def check_form(described: Mapping[str, Any]) -> None:
    """Raises FormatError unless the vocabulary, the added tokens and the steps of decoder and post_processor have the
    form that they must have."""
    model = described.get("model")
    vocab = model.get("vocab") if isinstance(model, Mapping) else None
    if not vocab:
        raise FormatError("tokenizer.json: must have a model with a vocabulary")
    if not isinstance(vocab, Mapping) and not (isinstance(vocab, list) and all(map(_is_scored, vocab))):
        _refuse("model.vocab", "ids by piece, or a list of pieces with scores", vocab)
    added = described.get("added_tokens", [])
    if not isinstance(added, list):
        _refuse("added_tokens", "a list", added)
    for token in added:
        if not isinstance(token, Mapping) or not all(type(token.get(k)) is kind for k, kind in _ADDED.items()):
            _refuse("an added token", "an object with id, content and special", token)
    for key in _PARTS:
        steps_of(described, key)


def steps_of(described: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    """The steps of `decoder` or `post_processor`; none where it is missing. Raises FormatError."""
    whole = described.get(key)
    if whole is None:
        return []
    several = isinstance(whole, Mapping) and whole.get("type") == "Sequence"
    steps: object = whole.get(_PARTS[key]) if several else [whole]
    if isinstance(steps, list) and all(isinstance(s, Mapping) and isinstance(s.get("type"), str) for s in steps):
        return steps
    _refuse(key, f"an object with a type, or a Sequence with a list of {_PARTS[key]}", whole)


def setting(step: Mapping[str, Any], key: str, kind: type, usual: Any = None) -> Any:
    """A step's value. Raises FormatError where it is missing or of another type."""
    value = step.get(key, usual)
    if type(value) is not kind:
        _refuse(f"{key} of the step {step['type'][:40]}", f"a {kind.__name__}", value)
    return value


def first_added(described: Mapping[str, Any]) -> str | None:
    """The token that the post-processor puts first, or None."""
    for step in steps_of(described, "post_processor"):
        if step["type"] != "TemplateProcessing":
            continue
        parts = setting(step, "single", list)
        token = parts[0].get("SpecialToken") if parts and isinstance(parts[0], Mapping) else None
        if isinstance(token, Mapping):
            return str(token.get("id"))
    return None


def _is_scored(entry: Any) -> bool:
    return isinstance(entry, list | tuple) and len(entry) == 2 and isinstance(entry[0], str)


def _refuse(what: str, rule: str, got: object) -> NoReturn:
    raise FormatError(f"tokenizer.json: {what} must be {rule}, got {str(got)[:80]!r}")
