"""What SentencePiece does to a text before it is cut into pieces."""

from __future__ import annotations

import re
from collections.abc import Iterable

from webxpu.formats.sentencepiece_model import PieceType, SentencePieceModel
from webxpu.text.charsmap import Charsmap

SPACE_SYMBOL = "\u2581"
_MAX_KNOWN = 65_536
_SPACES = re.compile(" +")


class Symbols:
    """Strings of which the longest is found at a place of a text."""

    def __init__(self, symbols: Iterable[str]) -> None:
        self._lengths: dict[str, list[int]] = {}
        self._symbols = frozenset(symbols)
        for first, length in sorted({(s[0], len(s)) for s in self._symbols}, reverse=True):
            self._lengths.setdefault(first, []).append(length)

    def __bool__(self) -> bool:
        return bool(self._symbols)

    def __contains__(self, text: str) -> bool:
        return text in self._symbols

    def begins(self, character: str) -> bool:
        """Whether one begins so."""
        return character in self._lengths

    def longest(self, text: str, at: int) -> str | None:
        """The longest one that stands at a place of the text."""
        for length in self._lengths.get(text[at], ()):
            found = text[at : at + length]
            if found in self._symbols:
                return found
        return None

    def all(self, text: str, at: int) -> list[str]:
        """Those that stand at a place of the text, the longest first."""
        found = (text[at : at + length] for length in self._lengths.get(text[at], ()))
        return [symbol for symbol in found if symbol in self._symbols]

    def split(self, text: str) -> tuple[list[str], set[int]]:
        """A text as symbols and, between them, characters; and which of the parts are symbols."""
        if not self._symbols:
            return list(text), set()
        parts: list[str] = []
        found: set[int] = set()
        at = 0
        while at < len(text):
            symbol = self.longest(text, at)
            if symbol is not None:
                found.add(len(parts))
            parts.append(symbol or text[at])
            at += len(parts[-1])
        return parts, found


class Normalizer:
    """`normalizer_spec` at work. User-defined symbols pass as they are; no character of theirs is replaced."""

    def __init__(self, model: SentencePieceModel) -> None:
        spec = model.normalizer
        columns = model.columns
        self._symbols = Symbols(columns.texts[index] for index in columns.ids_of(PieceType.USER_DEFINED))
        self._charsmap = Charsmap(spec.charsmap, model.name, spec.charsmap_at) if spec.charsmap else None
        self._space = SPACE_SYMBOL if spec.escape_whitespaces else " "
        self._dummy = spec.add_dummy_prefix
        self._suffix = model.treat_whitespace_as_suffix
        self._trim = spec.remove_extra_whitespaces
        # What becomes of a character, by itself and the one after it (none at the text's end), where these two decide.
        self._known: dict[str, tuple[str, int]] = {}

    def __call__(self, text: str, *, first: bool = True, last: bool = True) -> str:
        """The normalised text. The word boundary is put before a span that is the first, or after one that is last."""
        if self._symbols or self._charsmap:
            stretches = self._rewritten(text)
            blank = self._trim and all(stretch == " " for stretch in stretches)
            normal = self._spaced(stretches)
        else:
            normal = _SPACES.sub(" ", text.lstrip(" ")) if self._trim else text
            blank = not normal
        if blank or not text:  # but a text of which the rules leave nothing has its word boundary
            return ""
        normal = normal.replace(" ", self._space)
        boundary = self._space if self._dummy else ""
        if not self._suffix and first:
            normal = boundary + normal
        if self._trim:
            normal = normal.rstrip(self._space)
        return normal + boundary if self._suffix and last else normal

    def _rewritten(self, text: str) -> list[str]:
        """The text's stretches, each after the rule that applies to it."""
        out: list[str] = []
        at, size = 0, len(text)
        known = self._known.get
        while at < size:
            replacement, length = known(text[at : at + 2]) or self._rule(text, at)
            out.append(replacement)
            at += length
        return out

    def _rule(self, text: str, at: int) -> tuple[str, int]:
        """What stands for the longest symbol, else the longest rule's match, else the character; and that's length."""
        symbol = self._symbols.longest(text, at)
        if symbol is not None:
            return symbol, len(symbol)
        found, looked_at = self._charsmap.longest(text, at) if self._charsmap else (None, 1)
        rule = found or (text[at], 1)
        pair = text[at : at + 2]
        if looked_at <= 2 and not self._symbols.begins(text[at]):
            if len(self._known) >= _MAX_KNOWN:
                self._known.clear()
            self._known[pair] = rule
        return rule

    def _spaced(self, stretches: list[str]) -> str:
        """Joins them, without the spaces that follow a space; those inside a replacement stay."""
        if not self._trim:
            return "".join(stretches)
        out: list[str] = []
        after_space = True
        for stretch in stretches:
            if after_space and stretch[:1] == " ":
                stretch = stretch.lstrip(" ")
            if stretch:
                out.append(stretch)
                after_space = stretch[-1] == " "
        return "".join(out)
