"""Texts that have no UTF-8 are refused, everywhere in the same words."""

from __future__ import annotations

from webxpu.errors import ShapeError


def checked_text(text: str, where: str = "encode: text") -> str:
    """The text. Raises ShapeError, in the name of an argument, for half of a surrogate pair."""
    try:
        text.encode()
    except UnicodeEncodeError as e:
        raise ShapeError(
            f"{where} must have no lone surrogates, which have no UTF-8, got {text[e.start]!r} at {e.start}"
        ) from e
    return text
