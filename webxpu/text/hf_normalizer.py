"""What Hugging Face's tokenizer.json does to a text first: the steps of `normalizer`, equal to `tokenizers` 0.23.

One thing more than the text is kept: how many characters at its beginning stem from the first of what was written,
because a pre-tokenizer may put a word's sign before those alone.
"""

from __future__ import annotations

import binascii
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from webxpu.errors import FormatError, Unsupported
from webxpu.text.charsmap import Charsmap
from webxpu.text.graphemes import UNSURE, short_clusters
from webxpu.text.oniguruma import Pattern, literal
from webxpu.text.tokenizer_json import refuse, setting, steps_of
from webxpu.text.unicode_versions import WHITE_SPACE, is_mark, lower, normalized, ranges


class Normal(NamedTuple):
    """A text, of which so many characters stem from the first one that was written, or from none."""

    text: str
    head: int


Step = Callable[[Normal], Normal]

_FORMS = frozenset(("NFC", "NFD", "NFKC", "NFKD"))
# The step Nmt: these go, and these become spaces.
_NMT_GONE = ranges("1-8 b e-1f 7f 8f 9f")
_NMT_SPACES = ranges("9-a c-d 1680 200b-200f 2028-2029 2581 feff fffd")


def normalizer(described: Mapping[str, Any]) -> Step | None:
    """The steps of a tokenizer.json as one, or None. Raises FormatError, and Unsupported for a step not known here."""
    steps = [_step(step) for step in steps_of(described, "normalizer")]
    if not steps:
        return None

    def whole(normal: Normal) -> Normal:
        for step in steps:
            normal = step(normal)
        return normal

    return whole


def _step(step: Mapping[str, Any]) -> Step:
    kind = step["type"]
    if kind in _FORMS:
        return lambda n: _by_beginning(n, normalized(kind, n.text), lambda head: normalized(kind, head))
    if kind in _CHARACTERS:
        table = _CHARACTERS[kind]
        return lambda n: _by_beginning(n, n.text.translate(table), lambda head: head.translate(table))
    if kind == "Strip":
        return _strip(setting(step, "strip_left", bool), setting(step, "strip_right", bool))
    if kind == "Prepend":
        return _prepend(setting(step, "prepend", str))
    if kind == "Replace":
        return _replace(pattern_of(step), setting(step, "content", str))
    if kind == "Precompiled":
        return Precompiled(step)
    raise Unsupported(f"tokenizer: the normalizer {kind[:40]} is not supported")


def pattern_of(step: Mapping[str, Any]) -> Pattern:
    """The pattern of a step: {"String": text} or {"Regex": source}. Raises FormatError, Unsupported."""
    pattern = setting(step, "pattern", dict)
    if len(pattern) == 1:
        [(kind, source)] = pattern.items()
        if kind in ("String", "Regex") and isinstance(source, str):
            return Pattern(source) if kind == "Regex" else literal(source)
    refuse(f"pattern of the step {step['type'][:40]}", "a String or a Regex", pattern)


def _by_beginning(before: Normal, text: str, change: Callable[[str], str]) -> Normal:
    """The changed text, whose beginning stems from what the old beginning becomes."""
    return Normal(text, min(len(change(before.text[: before.head])), len(text)) if before.head else 0)


class _Kept(dict[int, str | None]):
    """What becomes of a character, filled as they come; None: it goes."""

    def __init__(self, change: Callable[[str], str | None]) -> None:
        super().__init__()
        self._change = change

    def __missing__(self, code: int) -> str | None:
        found = self[code] = self._change(chr(code))
        return found


_CHARACTERS: dict[str, Any] = {
    "Lowercase": _Kept(lower),
    "StripAccents": _Kept(lambda c: None if is_mark(c) else c),
    "Nmt": {
        **{c: None for first, last in _NMT_GONE for c in range(first, last + 1)},
        **{c: " " for first, last in _NMT_SPACES for c in range(first, last + 1)},
    },
}


def _strip(left: bool, right: bool) -> Step:
    def step(normal: Normal) -> Normal:
        text = normal.text.lstrip(WHITE_SPACE) if left else normal.text
        gone = len(normal.text) - len(text)
        text = text.rstrip(WHITE_SPACE) if right else text
        return Normal(text, min(max(normal.head - gone, 0), len(text)))

    return step


def _prepend(sign: str) -> Step:
    def step(normal: Normal) -> Normal:
        if not normal.text:
            return normal
        return Normal(sign + normal.text, len(sign) + normal.head if normal.head else 0)

    return step


def _replace(pattern: Pattern, content: str) -> Step:
    return lambda normal: replaced(normal, pattern, content)


def replaced(normal: Normal, pattern: Pattern, content: str) -> Normal:
    """The text with `content` in place of what the pattern matches. It stems from the last character matched or, of an
    empty match, from that before it; at the very beginning it counts as the first's."""
    text, head = normal
    found = pattern.matches(text) if text else []
    out: list[str] = []
    at = length = new_head = 0
    for begin, end in found:
        out += text[at:begin], content
        new_head += max(min(begin, head) - at, 0) + (len(content) if end <= head else 0)
        at = end
    out.append(text[at:])
    new_head += max(head - at, 0)
    length = sum(map(len, out))
    return Normal("".join(out), min(new_head, length))


class Precompiled:
    """SentencePiece's compiled rules as Hugging Face uses them, by grapheme clusters. To a short one the shortest rule
    that matches at its beginning applies, and what it gives stands for the whole cluster; else, and to long ones, to
    each character the rule for it."""

    def __init__(self, step: Mapping[str, Any]) -> None:
        try:
            blob = binascii.a2b_base64(setting(step, "precompiled_charsmap", str), strict_mode=True)
        except binascii.Error as e:
            raise FormatError(f"tokenizer.json: precompiled_charsmap must be base64, got {e}") from e
        self._rules = Charsmap(blob, "tokenizer.json: precompiled_charsmap", 0)
        for sign in UNSURE:
            if self._rules.shortest(sign) is not None:
                raise Unsupported(f"tokenizer: a precompiled_charsmap with a rule for {sign} is not supported")
        self._characters = _Kept(self._character)

    def _character(self, character: str) -> str:
        found = self._rules.shortest(character)
        return character if found is None else found

    def __call__(self, normal: Normal) -> Normal:
        text, table = normal.text, self._characters
        out: list[str] = []
        at = 0
        clusters: list[tuple[int, int, str]] = []
        for begin, end in short_clusters(text):
            new = self._rules.shortest(text[begin:end])
            if new is not None:
                out += text[at:begin].translate(table), new
                at = end
                clusters.append((begin, end, new))
        out.append(text[at:].translate(table))
        made = "".join(out)
        return Normal(made, min(self._head(normal, clusters), len(made)) if normal.head else 0)

    def _head(self, normal: Normal, clusters: list[tuple[int, int, str]]) -> int:
        """How many of the new characters stem from the first ones, by the library's own count: what a rule leaves out
        is taken from the character before it, and at a text's beginning from none."""
        changed = {begin: (end, new) for begin, end, new in clusters}
        steps: list[int] = []  # of each new character: 1 for one that is put in, 0, or less for each one taken out
        at = kept = 0
        while at < len(normal.text) and kept <= normal.head:
            character = normal.text[at]
            end, new = changed.get(at, (at + 1, self._characters[ord(character)] or ""))
            more = len(new) - (end - at)
            steps += [0] * min(len(new), end - at) + [1] * max(more, 0)
            kept += min(len(new), end - at)
            if more < 0 and steps:
                steps[-1] += more
            at = end
        place = count = 0
        for step in steps:
            count += (place - 1 if step > 0 else place) < normal.head
            place += 1 - step if step <= 0 else 0
        return count
