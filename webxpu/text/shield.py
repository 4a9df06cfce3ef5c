"""Names of control tokens in what a user wrote: a prompt in which they stay text, whatever a template does around them.

The first character of each such name is replaced by a private one before the template runs. In the prompt that comes
out only the template's own markers are then control tokens, and the private characters become what they stood for.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from webxpu.errors import ShapeError

_PRIVATE = range(0xE000, 0xF900)


class Encoder(Protocol):
    """What a tokenizer gives for this: control tokens by name, and ids of texts with such tokens between them."""

    @property
    def special_names(self) -> Mapping[str, int]: ...
    def encode(self, text: str, *, add_special: bool = False) -> list[int]: ...
    def encode_parts(self, parts: Sequence[str | int]) -> list[int]: ...


@functools.lru_cache(maxsize=4)
def _patterns(names: tuple[str, ...]) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """A name, the longest that is at its place; and a place where one begins, or, at a text's end, could begin."""
    longest_first = sorted(names, key=len, reverse=True)
    beginnings = {name[:length] for name in names for length in range(1, len(name))}
    whole = "|".join(map(re.escape, longest_first)) or "(?!)"
    cut = "|".join(map(re.escape, sorted(beginnings, key=len, reverse=True))) or "(?!)"
    return re.compile(f"({whole})"), re.compile(rf"(?=(?:{whole})|(?:{cut})\Z)")


class Shield:
    """Covers names of control tokens in values, and encodes the prompt that a template makes of them.

    texts   all text that the prompt may be made of: it decides which private characters are free
    """

    def __init__(self, tokenizer: Encoder, texts: Iterable[str]) -> None:
        self._tokenizer = tokenizer
        names = tuple(tokenizer.special_names)
        used = {c for text in texts for c in text if ord(c) in _PRIVATE}
        free = (chr(c) for c in _PRIVATE if chr(c) not in used)
        firsts = dict.fromkeys(name[0] for name in names)
        self._cover = dict(zip(firsts, free))
        if len(self._cover) < len(firsts):
            raise ShapeError("chat: the messages use every private character of Unicode, which none may")
        self._uncover = {ord(private): first for first, private in self._cover.items()}
        self._name, self._begins = _patterns(names)

    def cover(self, value: Any) -> Any:
        """The value with names in its texts covered; keys stay, and so do roles, of which templates make markers."""
        if isinstance(value, str):
            return self._covered(value)
        if isinstance(value, Mapping):
            return {key: item if key == "role" else self.cover(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self.cover(item) for item in value]
        return value

    def _covered(self, text: str) -> str:
        places = {match.start() for match in self._begins.finditer(text)}
        if not places:
            return text
        return "".join(self._cover[c] if i in places else c for i, c in enumerate(text))

    def encode(self, prompt: str) -> list[int]:
        """Ids of a rendered prompt."""
        private = set(self._cover.values())
        if private.isdisjoint(prompt):
            return self._tokenizer.encode(prompt, add_special=False)
        ids = self._tokenizer.special_names
        parts = [part for part in self._name.split(prompt) if part]
        return self._tokenizer.encode_parts([ids.get(part, part.translate(self._uncover)) for part in parts])


def texts_of(value: Any) -> list[str]:
    """Every text in a value of lists and dictionaries."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, Mapping):
        return [text for pair in value.items() for item in pair for text in texts_of(item)]
    return [text for item in value for text in texts_of(item)] if isinstance(value, list | tuple) else []
