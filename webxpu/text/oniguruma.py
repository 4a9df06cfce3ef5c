"""Oniguruma's regular expressions, which tokenizer.json files have, in terms of Python's.

What the two understand differently is written out; what has no counterpart here is refused. Classes are those of
Unicode 16.0. https://github.com/kkos/oniguruma/blob/v6.9.10/doc/RE
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from webxpu.errors import Unsupported
from webxpu.text.unicode_versions import WHITE_SPACE, Ranges, class_of, merged, others, ranges_of, word_ranges

_CONTROLS = {"t": 9, "n": 10, "v": 11, "f": 12, "r": 13, "a": 7, "e": 27}
# Outside brackets it takes these of Latin-1's numbers for parts of words too.
_LATIN_NUMBERS = [(0xB2, 0xB3), (0xB9, 0xB9), (0xBC, 0xBE)]
_SETS: dict[str, Callable[[], Ranges]] = {
    "s": lambda: merged([(ord(c), ord(c)) for c in WHITE_SPACE]),
    "w": word_ranges,
    "d": lambda: ranges_of("Nd") or [],
    "h": lambda: [(0x30, 0x39), (0x41, 0x46), (0x61, 0x66)],
}
# A line does not begin at the end of a text.
_ANCHORS = {"^": r"(?:\A|(?<=\n)(?!\Z))", "$": r"(?=\n|\Z)"}
_GROUPS = ("(?:", "(?=", "(?!", "(?<=", "(?<!", "(?>")
_REPEAT = re.compile(r"\{(?:\d+(?:,\d*)?|,\d+)\}")
_QUANTIFIER = re.compile(r"[*+?]|" + _REPEAT.pattern)
_HEX = re.compile(r"u([0-9A-Fa-f]{4})|x\{([0-9A-Fa-f]{1,6})\}|x([0-7][0-9A-Fa-f])")
_PROPERTY = re.compile(r"([pP])\{(\^?)(\w+)\}")


class Pattern:
    """A pattern at work. Raises Unsupported, by its name, for what is not known here."""

    def __init__(self, source: str) -> None:
        self.source = source
        try:
            self._compiled = re.compile(_Translation(source).whole())
        except (re.error, OverflowError) as e:
            raise Unsupported(f"tokenizer: the pattern {source[:80]!r} is not supported: {e}") from e

    def matches(self, text: str) -> list[tuple[int, int]]:
        """Begins and ends of what it matches in a text, from left to right."""
        found = [match.span() for match in self._compiled.finditer(text)]
        return list(self._with_empty(text)) if any(begin == end for begin, end in found) else found

    def _with_empty(self, text: str) -> Iterator[tuple[int, int]]:
        """An empty match counts unless it lies at the end of the one before: the search goes on a character further."""
        at, before = 0, -1
        while at <= len(text) and (match := self._compiled.search(text, at)):
            begin, at = match.span()
            if begin == at == before:
                at += 1
            else:
                before = at
                yield begin, at


def literal(text: str) -> Pattern:
    """The pattern of a text that stands for itself."""
    return Pattern(re.sub(r"([^\w\s])", r"\\\1", text, flags=re.ASCII))


class _Translation:
    def __init__(self, source: str) -> None:
        self._source, self._at = source, 0

    def _refused(self, what: str) -> Unsupported:
        return Unsupported(f"tokenizer: {what} in the pattern {self._source[:80]!r} is not supported")

    def whole(self) -> str:
        out = self._alternatives()
        if self._at < len(self._source):
            raise self._refused("a ) without its (")
        return out

    def _alternatives(self) -> str:
        """Up to the end or to the bracket that closes."""
        out = []
        while self._at < len(self._source) and self._source[self._at] != ")":
            if self._source[self._at] == "|":
                out.append("|")
                self._at += 1
            else:
                out.append(self._repeated())
        return "".join(out)

    def _repeated(self) -> str:
        """One item with what says how often."""
        source = self._source
        if _QUANTIFIER.match(source, self._at):
            raise self._refused(f"{source[self._at]!r} with nothing before it")
        item, fixed = self._item()
        times = _QUANTIFIER.match(source, self._at)
        if not times:
            return item
        if fixed:
            raise self._refused("a place that is repeated")
        self._at = times.end()
        quantity = times[0]
        more = source[self._at : self._at + 1]
        if more and more in "?+" and not (quantity[0] == "{" and (more == "+" or "," not in quantity)):
            quantity += more
            self._at += 1
        if _QUANTIFIER.match(source, self._at):
            raise self._refused("a repetition that is repeated")
        return item + quantity

    def _item(self) -> tuple[str, bool]:
        """A character, class or group; and whether it is a place, which matches no character."""
        character = self._source[self._at]
        if character == "(":
            return self._group()
        if character == "[":
            return f"[{self._class()}]", False
        if character == "\\":
            return self._escape()
        self._at += 1
        if character in _ANCHORS:
            return _ANCHORS[character], True
        return (r"[^\n]" if character == "." else re.escape(character)), False

    def _group(self) -> tuple[str, bool]:
        source, at = self._source, self._at
        head = next((g for g in _GROUPS if source.startswith(g, at)), "(")
        if head == "(" and source.startswith("(?", at):
            raise self._refused(f"the group {source[at : at + 4]!r}")
        self._at += len(head)
        inside = self._alternatives()
        if self._at >= len(source):
            raise self._refused("a ( without its )")
        self._at += 1
        return f"{'(?:' if head == '(' else head}{inside})", head[2:] not in ("", ":", ">")

    def _escape(self) -> tuple[str, bool]:
        letter = self._source[self._at + 1 : self._at + 2]
        if letter in ("A", "z"):
            self._at += 2
            return {"A": r"\A", "z": r"\Z"}[letter], True
        found = self._escaped()
        if letter in ("w", "W"):
            word = merged([*word_ranges(), *_LATIN_NUMBERS])
            found = word if letter == "w" else others(word)
        return f"[{class_of(found)}]", False

    def _escaped(self) -> Ranges:
        """The characters that a backslash and what follows it stand for."""
        source, at = self._source, self._at + 1
        letter = source[at : at + 1]
        if code := _HEX.match(source, at):
            self._at = code.end()
            number = int(code[1] or code[2] or code[3], 16)
            if number > 0x10FFFF:
                raise self._refused(f"the escape {source[at - 1 : at + 10]!r}")
            return [(number, number)]
        if name := _PROPERTY.match(source, at):
            self._at = name.end()
            found = ranges_of(name[3])
            if found is None:
                raise self._refused(f"the property {name[3]}")
            return others(found) if (name[1] == "P") != bool(name[2]) else found
        self._at += 2
        if letter.lower() in _SETS and letter:
            found = _SETS[letter.lower()]()
            return others(found) if letter.isupper() else found
        if letter in _CONTROLS and letter:
            return [(_CONTROLS[letter], _CONTROLS[letter])]
        if not letter or (letter.isalnum() and letter.isascii()):
            raise self._refused(f"the escape {source[at - 1 : at + 1]!r}")
        return [(ord(letter), ord(letter))]

    def _class(self) -> str:
        """What stands between the brackets."""
        source = self._source
        self._at += 1
        negated = source.startswith("^", self._at)
        self._at += negated
        found: Ranges = []
        while True:
            if self._at >= len(source):
                raise self._refused("a [ without its ]")
            if source[self._at] == "]" and found:
                break
            first = self._member()
            at = self._at
            if source.startswith("-", at) and source[at + 1 : at + 2] not in ("]", ""):
                self._at += 1
                last = self._member()
                if len(first) != 1 or len(last) != 1 or first[0][0] != first[0][1] or first[0][0] > last[0][1]:
                    raise self._refused(f"the range {source[at - 1 : at + 2]!r}")
                first = [(first[0][0], last[0][1])]
            found += first
        self._at += 1
        return ("^" if negated else "") + class_of(merged(found))

    def _member(self) -> Ranges:
        source, at = self._source, self._at
        if source[at] == "[" or source.startswith("&&", at) or source[at] == "]":
            raise self._refused(f"{source[at : at + 2]!r} inside brackets")
        if source[at] == "\\":
            return self._escaped()
        self._at += 1
        return [(ord(source[at]), ord(source[at]))]
