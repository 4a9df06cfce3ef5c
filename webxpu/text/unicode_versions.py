"""Unicode as the libraries inside Hugging Face's `tokenizers` 0.23 know it, whichever version Python's own tables have.

They have 9.0 for normal forms and marks, 8.0 for punctuation, 16.0 for regular expressions, 17.0 for numbers, lower
case and grapheme clusters. The tables say in what these differ from Python's, which may be those of 14.0 to 17.0.
"""

from __future__ import annotations

import functools
import itertools
import re
import unicodedata
from bisect import bisect_right
from typing import Literal

# Marks, and characters with a combining class or a decomposition, that came after 9.0: there they are plain characters.
_AFTER_9 = (
    "7fd 897-89f 8ca-8d3 9fe afa-aff b55 c04 c3c cf3 d00 d3b-d3c d81 eba ece 1715 180f 1abf-1add 1ae0-1aeb 1cf7 "
    "1df6-1dfa 32ff a7f1-a7f4 a82c a8ff ab69 105c9 105e4 10781-10785 10787-107b0 107b2-107ba 10d24-10d27 10d69-10d6d "
    "10eab-10eac 10efa-10eff 10f46-10f50 10f82-10f85 11070 11073-11074 110c2 11145-11146 111c9 111ce-111cf 11241 1133b "
    "11383 11385 1138e 11391 113b8-113c0 113c2 113c5 113c7-113ca 113cc-113d0 113d2 113e1-113e2 1145e 1182c-1183a "
    "11930-11935 11937-11938 1193b-1193e 11940 11942-11943 119d1-119d7 119da-119e0 119e4 11a01-11a0a 11a33-11a39 "
    "11a3b-11a3e 11a47 11a51-11a5b 11a8a-11a99 11b60-11b67 11d31-11d36 11d3a 11d3c-11d3d 11d3f-11d45 11d47 11d8a-11d8e "
    "11d90-11d91 11d93-11d97 11ef3-11ef6 11f00-11f01 11f03 11f34-11f3a 11f3e-11f42 11f5a 13440 13447-13455 1611e-1612f "
    "16d68-16d6a 16f4f 16f7f-16f87 16fe4 16ff0-16ff1 1ccd6-1ccf9 1cf00-1cf2d 1cf30-1cf46 1e030-1e06d 1e08f 1e130-1e136 "
    "1e2ae 1e2ec-1e2ef 1e4ec-1e4ef 1e5ee-1e5ef 1e6e3 1e6e6 1e6ee-1e6ef 1e6f5 1f16c 1fbf0-1fbf9"
)
# Marks of 9.0 that are letters now.
_MARKS_OF_9 = "\u1cf2\u1cf3"
# Punctuation that came after 8.0, and what was punctuation then.
_PUNCTUATION_AFTER_8 = (
    "61d 9fd a76 c77 c84 1b4e-1b4f 1b7d-1b7f 2e43-2e4f 2e52-2e5d 10d6e 10ead 10ed0 10f55-10f59 10f86-10f89 113d4-113d5 "
    "113d7-113d8 1144b-1144f 1145a-1145b 1145d 11660-1166c 116b9 1183b 11944-11946 119e2 11a3f-11a46 11a9a-11a9c "
    "11a9e-11aa2 11b00-11b09 11be1 11c41-11c45 11c70-11c71 11ef7-11ef8 11f43-11f4f 11fff 12ff1-12ff2 16d6d-16d6f "
    "16e97-16e9a 16fe2 1e5ff 1e95e-1e95f"
)
_PUNCTUATION_OF_8 = "\U000111c9\u166d"
# Categories that are other ones in 14.0 and in 16.0; and in 16.0 and in 17.0.
_SINCE_16 = {
    "Cf": "13439-1343f",
    "Ll": "1c8a a7cd a7db 10d70-10d85 1df25-1df2a",
    "Lm": "10d4e 10d6f 16d40-16d42 16d6b-16d6c 1e030-1e06d 1e4eb",
    "Lo": "105c0-105f3 10d4a-10d4d 10d4f 10ec2-10ec4 1123f-11240 11380-11389 1138b 1138e 11390-113b5 113b7 113d1 113d3 "
    "11bc0-11be0 11f02 11f04-11f10 11f12-11f33 1342f 13441-13446 13460-143fa 16100-1611d 16d43-16d6a 18cff 1b132 1b155 "
    "1e4d0-1e4ea 1e5d0-1e5ed 1e5f0 2b739 2ebf0-2ee5d 31350-323af",
    "Lu": "1c89 a7cb-a7cc a7da a7dc 10d50-10d65",
    "Mc": "cf3 113b8-113ba 113c2 113c5 113c7-113ca 113cc-113cd 113cf 1171e 11f03 11f34-11f35 11f3e-11f3f 11f41 "
    "1612a-1612c",
    "Mn": "897 ece 10d69-10d6d 10efc-10eff 11241 113bb-113c0 113ce 113d0 113d2 113e1-113e2 11f00-11f01 11f36-11f3a "
    "11f40 11f42 11f5a 13440 13447-13455 1611e-16129 1612d-1612f 1e08f 1e4ec-1e4ef 1e5ee-1e5ef",
    "Nd": "10d40-10d49 116d0-116e3 11bf0-11bf9 11f50-11f59 16130-16139 16d70-16d79 1ccf0-1ccf9 1e4f0-1e4f9 1e5f1-1e5fa",
    "No": "1d2c0-1d2d3",
    "Pd": "10d6e",
    "Po": "1b4e-1b4f 1b7f 113d4-113d5 113d7-113d8 11b00-11b09 11be1 11f43-11f4f 16d6d-16d6f 1e5ff",
    "Sm": "10d8e-10d8f",
    "So": "2427-2429 2ffc-2fff 31e4-31e5 31ef 1cc00-1ccef 1cd00-1ceb3 1f6dc 1f774-1f776 1f77b-1f77f 1f7d9 1f8b2-1f8bb "
    "1f8c0-1f8c1 1fa75-1fa77 1fa87-1fa89 1fa8f 1faad-1faaf 1fabb-1fabf 1fac6 1face-1facf 1fada-1fadc 1fadf 1fae8-1fae9 "
    "1faf7-1faf8 1fbcb-1fbef",
}
_SINCE_17 = {
    "Ll": "a7cf 16ebb-16ed3",
    "Lm": "a7f1 10ec5 11dd9 16ff2-16ff3 1e6ff",
    "Lo": "295 88f c5c cdc 10940-10959 10ec6-10ec7 11db0-11dd8 11dda-11ddb 187f8-187ff 18d09-18d1e 18d80-18df2 "
    "1e6c0-1e6de 1e6e0-1e6e2 1e6e4-1e6e5 1e6e7-1e6ed 1e6f0-1e6f4 1e6fe 2b73a-2b73f 2cea2-2cead 323b0-33479",
    "Lu": "a7ce a7d2 a7d4 16ea0-16eb8",
    "Mc": "11b61 11b65 11b67",
    "Mn": "1acf-1add 1ae0-1aeb 10efa-10efb 11b60 11b62-11b64 11b66 1e6e3 1e6e6 1e6ee-1e6ef 1e6f5",
    "Nd": "11de0-11de9",
    "Nl": "16ff4-16ff6",
    "Po": "10ed0",
    "Sc": "20c1",
    "Sm": "1cef0 1f8d0-1f8d8",
    "So": "2b96 fbc3-fbd2 fd90-fd91 fdc8-fdce 10ed1-10ed8 1ccfa-1ccfc 1ceba-1ced0 1cee0-1ceef 1f6d8 1f777-1f77a "
    "1fa54-1fa57 1fa8a 1fa8e 1fac8 1facd 1faea 1faef 1fbfa",
}
_LATIN_PHARYNGEAL = 0x295  # the one character of _SINCE_17 that is older: small letter in 16.0
# Capital letters that came after 14.0: first, last, and the first's small letter.
_LOWER_SINCE_14 = (
    (0x1C89, 0x1C89, 0x1C8A),
    (0xA7CB, 0xA7CB, 0x264),
    (0xA7CC, 0xA7CC, 0xA7CD),
    (0xA7CE, 0xA7CE, 0xA7CF),
    (0xA7D2, 0xA7D2, 0xA7D3),
    (0xA7D4, 0xA7D4, 0xA7D5),
    (0xA7DA, 0xA7DA, 0xA7DB),
    (0xA7DC, 0xA7DC, 0x19B),
    (0x10D50, 0x10D65, 0x10D70),
    (0x16EA0, 0x16EB8, 0x16EBB),
)
# Letters that are no letters by category, as circled ones.
_OTHER_ALPHABETIC = "24b6-24e9 1f130-1f149 1f150-1f169 1f170-1f189"

WHITE_SPACE = "\t\n\v\f\r \x85\xa0\u1680" + "".join(map(chr, range(0x2000, 0x200B))) + "\u2028\u2029\u202f\u205f\u3000"

Ranges = list[tuple[int, int]]
Form = Literal["NFC", "NFD", "NFKC", "NFKD"]


def ranges(text: str) -> Ranges:
    """Ranges of code points out of hexadecimal ones, "a-b c"."""
    pairs = (part.partition("-") for part in text.split())
    return [(int(first, 16), int(last or first, 16)) for first, _, last in pairs]


def characters(text: str) -> frozenset[str]:
    """The same as a set."""
    return frozenset(chr(c) for first, last in ranges(text) for c in range(first, last + 1))


def class_of(found: Ranges) -> str:
    """What stands for these code points inside the brackets of a regular expression."""
    return "".join(f"\\U{a:08x}" if a == b else f"\\U{a:08x}-\\U{b:08x}" for a, b in found)


_after_9 = functools.cache(lambda: characters(_AFTER_9))
_parts_of_9 = functools.cache(lambda: re.compile(f"([{class_of(ranges(_AFTER_9))}]+)"))
_punctuation_after_8 = functools.cache(lambda: characters(_PUNCTUATION_AFTER_8))


def normalized(form: Form, text: str) -> str:
    """A normal form of 9.0: NFC, NFD, NFKC or NFKD."""
    if text.isascii():
        return text
    parts = _parts_of_9().split(text)
    parts[::2] = [unicodedata.normalize(form, part) for part in parts[::2]]
    return "".join(parts)


def is_mark(character: str) -> bool:
    """Whether it is a mark in 9.0."""
    own = unicodedata.category(character)[0] == "M" and character not in _after_9()
    return own or character in _MARKS_OF_9


def is_punctuation(character: str) -> bool:
    """Whether it is punctuation in 8.0, or one of ASCII's symbols."""
    kind = unicodedata.category(character)[0]
    if character.isascii():
        return kind in "PS"
    return (kind == "P" and character not in _punctuation_after_8()) or character in _PUNCTUATION_OF_8


def is_number(character: str) -> bool:
    """Whether it is a number in 17.0."""
    return category(character)[0] == "N"


def lower(character: str) -> str:
    """The character in lower case, by itself, in 17.0."""
    code = ord(character)
    for first, last, small in _LOWER_SINCE_14:
        if first <= code <= last:
            return chr(small + code - first)
    return character.lower()


@functools.cache
def _overrides() -> tuple[list[int], list[int], list[str]]:
    found = sorted(
        (first, last, kind)
        for table in (_SINCE_16, _SINCE_17)
        for kind, text in table.items()
        for first, last in ranges(text)
    )
    return [f for f, _, _ in found], [last for _, last, _ in found], [kind for _, _, kind in found]


def category(character: str) -> str:
    """The general category in 17.0."""
    code = ord(character)
    firsts, lasts, kinds = _overrides()
    place = bisect_right(firsts, code) - 1
    if place >= 0 and code <= lasts[place]:
        return kinds[place]
    return unicodedata.category(character)


@functools.cache
def category_ranges() -> dict[str, Ranges]:
    """All code points by their general category in 16.0."""
    kinds = list(map(unicodedata.category, map(chr, range(0x110000))))
    for kind, text in _SINCE_16.items():
        for first, last in ranges(text):
            kinds[first : last + 1] = [kind] * (last + 1 - first)
    for text in _SINCE_17.values():
        for first, last in ranges(text):
            kinds[first : last + 1] = ["Cn"] * (last + 1 - first)
    kinds[_LATIN_PHARYNGEAL] = "Ll"
    found: dict[str, Ranges] = {}
    at = 0
    for kind, run in itertools.groupby(kinds):
        end = at + sum(1 for _ in run)
        found.setdefault(kind, []).append((at, end - 1))
        at = end
    return found


# These have not changed since 9.0 and may not.
_FIXED = {
    "Zs": "20 a0 1680 2000-200a 202f 205f 3000",
    "Zl": "2028",
    "Zp": "2029",
    "Cc": "0-1f 7f-9f",
    "Co": "e000-f8ff f0000-ffffd 100000-10fffd",
}


def ranges_of(name: str) -> Ranges | None:
    """The code points of a general category such as Zs, or of a group of them such as L; None for another name."""
    if name in _FIXED:
        return ranges(_FIXED[name])
    found = category_ranges()
    members = [kind for kind in found if kind == name or (len(name) == 1 and kind[0] == name)]
    return merged([pair for kind in members for pair in found[kind]]) if members else None


def word_ranges() -> Ranges:
    """What a word is made of in 16.0: letters, marks, digits and connectors."""
    found = category_ranges()
    kinds = (kind for kind in found if kind[0] in "LM" or kind in ("Nd", "Nl", "Pc"))
    return merged([*(pair for kind in kinds for pair in found[kind]), *ranges(_OTHER_ALPHABETIC)])


def merged(found: Ranges) -> Ranges:
    """The same code points in order, as few ranges as can be."""
    out: Ranges = []
    for first, last in sorted(found):
        if out and first <= out[-1][1] + 1:
            out[-1] = out[-1][0], max(last, out[-1][1])
        else:
            out.append((first, last))
    return out


def others(found: Ranges) -> Ranges:
    """All other code points."""
    out: Ranges = []
    at = 0
    for first, last in merged(found):
        if at < first:
            out.append((at, first - 1))
        at = last + 1
    return [*out, (at, 0x10FFFF)] if at <= 0x10FFFF else out
