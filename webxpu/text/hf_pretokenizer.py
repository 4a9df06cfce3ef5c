"""How Hugging Face's tokenizer.json divides a normalised text into what is cut one by one: the steps of
`pre_tokenizer`, equal to `tokenizers` 0.23."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from webxpu.errors import Unsupported
from webxpu.text.hf_normalizer import Normal, pattern_of
from webxpu.text.tokenizer_json import refuse, setting, steps_of
from webxpu.text.unicode_versions import WHITE_SPACE, class_of, is_number, is_punctuation, ranges, word_ranges

Step = Callable[[Normal], list[Normal]]
Places = list[tuple[int, int]]

_BEHAVIORS = ("Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous")
_SCHEMES = ("always", "first", "never")
_JOINERS = "200c-200d"


def pre_tokenizer(described: Mapping[str, Any]) -> Callable[[Normal], list[Normal]]:
    """The steps of a tokenizer.json as one. Raises FormatError, and Unsupported for a step not known here."""
    steps = [_step(step) for step in steps_of(described, "pre_tokenizer")]

    def whole(normal: Normal) -> list[Normal]:
        parts = [normal]
        for step in steps:
            parts = [new for part in parts for new in step(part) if new.text]
        return parts

    return whole


def heads_matter(described: Mapping[str, Any]) -> bool:
    """Whether it matters where a text's first character went."""
    steps = steps_of(described, "pre_tokenizer")
    return any(step["type"] == "Metaspace" and prepend_scheme(step) == "first" for step in steps)


def prepend_scheme(step: Mapping[str, Any]) -> str:
    """When Metaspace puts its sign before a text: always, first (at the beginning of what was written) or never."""
    scheme: str = setting(step, "prepend_scheme", str, "always")
    if scheme not in _SCHEMES:
        refuse("prepend_scheme of the step Metaspace", f"one of {', '.join(_SCHEMES)}", scheme)
    # Older files say it so, and none of them has both.
    prefix = step.get("add_prefix_space")
    if prefix is not None and not isinstance(prefix, bool):
        refuse("add_prefix_space of the step Metaspace", "true or false", prefix)
    if prefix is False and step.get("prepend_scheme", "never") != "never":
        refuse("prepend_scheme of the step Metaspace without add_prefix_space", "never", scheme)
    return "never" if prefix is False else scheme


def replacement(step: Mapping[str, Any]) -> str:
    """Metaspace's sign for a space."""
    sign: str = setting(step, "replacement", str)
    if len(sign) != 1:
        refuse("replacement of the step Metaspace", "one character", sign)
    return sign


def _step(step: Mapping[str, Any]) -> Step:
    kind = step["type"]
    if kind == "Metaspace":
        return _metaspace(replacement(step), prepend_scheme(step), setting(step, "split", bool, True))
    if kind == "Split":
        pattern = pattern_of(step)
        return _divide(pattern.matches, _behavior(step, None), inverted=setting(step, "invert", bool, False))
    if kind == "WhitespaceSplit":
        return _divide(_places(WHITE_SPACE.__contains__), "Removed")
    if kind == "Whitespace":
        word = class_of([*word_ranges(), *ranges(_JOINERS)])
        words = re.compile(f"[{word}]+|[^{word}{class_of([(ord(c), ord(c)) for c in WHITE_SPACE])}]+")
        return _divide(lambda text: [m.span() for m in words.finditer(text)], "Removed", inverted=True)
    if kind == "Punctuation":
        return _divide(_places(is_punctuation), _behavior(step, "Isolated"))
    if kind == "Digits":
        alone = setting(step, "individual_digits", bool)
        return _divide(_places(is_number), "Isolated" if alone else "Contiguous")
    if kind == "CharDelimiterSplit":
        sign = setting(step, "delimiter", str)
        if len(sign) != 1:
            refuse("delimiter of the step CharDelimiterSplit", "one character", sign)
        return _divide(_places(sign.__eq__), "Removed")
    raise Unsupported(f"tokenizer: the pre-tokenizer {kind[:40]} is not supported")


def _behavior(step: Mapping[str, Any], usual: str | None) -> str:
    found = setting(step, "behavior", str, usual)
    if found not in _BEHAVIORS:
        refuse(f"behavior of the step {step['type']}", f"one of {', '.join(_BEHAVIORS)}", found)
    return str(found)


def _places(chosen: Callable[[str], bool]) -> Callable[[str], Places]:
    """Where such characters stand, each by itself."""
    return lambda text: [(i, i + 1) for i, c in enumerate(text) if chosen(c)]


def _metaspace(sign: str, scheme: str, split: bool) -> Step:
    words = re.compile("(?s:{0}?[^{0}]+|{0})".format(re.escape(sign)))

    def step(normal: Normal) -> list[Normal]:
        text, head = normal.text.replace(" ", sign), normal.head
        wanted = scheme == "always" or (scheme == "first" and head > 0)
        if wanted and text and not text.startswith(sign):
            text, head = sign + text, head and head + 1
        if not split:
            return [Normal(text, head)]
        if scheme != "first":
            return [Normal(word, 0) for word in words.findall(text)]
        return [_part(Normal(text, head), *match.span()) for match in words.finditer(text)]

    return step


def _part(normal: Normal, begin: int, end: int) -> Normal:
    return Normal(normal.text[begin:end], max(min(normal.head, end) - begin, 0))


def _divide(matches: Callable[[str], Places], behavior: str, *, inverted: bool = False) -> Step:
    """Divides at matches, which then are parts by themselves, go, or are joined to what is next to them."""

    def step(normal: Normal) -> list[Normal]:
        found = [(begin, end, is_match != inverted) for begin, end, is_match in _all(matches, normal.text)]
        return [_part(normal, begin, end) for begin, end in _joined(found, behavior)]

    return step


def _all(matches: Callable[[str], Places], text: str) -> Iterable[tuple[int, int, bool]]:
    """Matches and what lies between them."""
    at = 0
    for begin, end in matches(text):
        if at < begin:
            yield at, begin, False
        yield begin, end, True
        at = end
    if at < len(text):
        yield at, len(text), False


def _joined(found: list[tuple[int, int, bool]], behavior: str) -> Places:
    if behavior in ("Isolated", "Removed"):
        return [(begin, end) for begin, end, is_match in found if not (is_match and behavior == "Removed")]
    out: Places = []
    backwards = behavior == "MergedWithNext"
    before = False
    for begin, end, is_match in reversed(found) if backwards else found:
        joins = is_match == before if behavior == "Contiguous" else is_match and not before
        if joins and out:
            out[-1] = (begin, out[-1][1]) if backwards else (out[-1][0], end)
        else:
            out.append((begin, end))
        before = is_match
    return out[::-1] if backwards else out
