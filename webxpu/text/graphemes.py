"""Extended grapheme clusters of several characters in less than 6 bytes of UTF-8, as Unicode 17.0 says.

https://www.unicode.org/reports/tr29/tr29-47.html. No longer ones are wanted, so rules that only make clusters longer
are here only as far as a short one must not be seen inside a long one. One of them is left out: that for emoji joined
to a copyright sign or a registered one, `UNSURE`, the only emoji of 2 bytes.
"""

from __future__ import annotations

import re

from webxpu.text.unicode_versions import category, characters

MAX_BYTES = 5
UNSURE = "\xa9\xae"

_PREPEND = characters(
    "600-605 6dd 70f 890-891 8e2 d4e 110bd 110cd 111c2-111c3 113d1 1193f 11941 11a84-11a89 11d46 11f02"
)
_CONTROL = characters(
    "0-9 b-c e-1f 7f-9f ad 61c 180e 200b 200e-200f 2028-202e 2060-206f feff fff0-fffb 13430-1343f 1bca0-1bca3 "
    "1d173-1d17a e0000-e001f e0080-e00ff e01f0-e0fff"
)
# What continues a cluster: marks but for some, and some that are no marks.
_NOT_JOINED = characters(
    "102b-102c 1038 1062-1064 1067-106d 1083 1087-108c 108f 109a-109c 1a61 1a63-1a64 aa7b aa7d 11720-11721"
)
_JOINED = characters("e33 eb3 200c-200d ff9e-ff9f 1f3fb-1f3ff e0020-e007f")
# Consonants that make a conjunct, what links them, and what may not stand in one: spacing marks but for some.
_CONSONANT = characters(
    "915-939 958-95f 978-97f 995-9a8 9aa-9b0 9b2 9b6-9b9 9dc-9dd 9df 9f0-9f1 a95-aa8 aaa-ab0 ab2-ab3 ab5-ab9 af9 "
    "b15-b28 b2a-b30 b32-b33 b35-b39 b5c-b5d b5f b71 c15-c28 c2a-c39 c58-c5a d15-d3a 1000-102a 103f 1050-1055 "
    "105a-105d 1061 1065-1066 106e-1070 1075-1081 108e 1780-17b3 1a20-1a54 1b0b-1b0c 1b13-1b33 1b45-1b4c 1b83-1ba0 "
    "1bae-1baf 1bbb-1bbd a989-a98b a98f-a9b2 a9e0-a9e4 a9e7-a9ef a9fa-a9fe aa60-aa6f aa71-aa73 aa7a aa7e-aa7f "
    "aae0-aaea abc0-abda 10a00 10a10-10a13 10a15-10a17 10a19-10a35 11103-11126 11144 11147 11380-11389 1138b 1138e "
    "11390-113b5 11900-11906 11909 1190c-11913 11915-11916 11918-1192f 11a00 11a0b-11a32 11a50 11a5c-11a83 11f04-11f10 "
    "11f12-11f33"
)
_LINKER = characters(
    "94d 9cd acd b4d c4d d4d 1039 17d2 1a60 1b44 1bab a9c0 aaf6 10a3f 11133 113d0 1193e 11a47 11a99 11f42"
)
_IN_CONJUNCT = characters(
    "9be 9d7 b3e b57 bbe bd7 cc0 cc2 cc7-cc8 cca-ccb cd5-cd6 d3e d57 dcf ddf 1715 1734 1b35 1b3b 1b3d 1b43-1b44 1baa "
    "1bf2-1bf3 302e-302f a953 a9c0 111c0 11235 1133e 1134d 11357 113b8 113c2 113c5 113c7-113c9 113cf 114b0 114bd 115af "
    "116b6 11930 1193d 11f41 16ff0-16ff1 1d165-1d166 1d16d-1d172"
)
_NOT_IN_CONJUNCT = characters("e33 eb3 200c")
_LEADING = characters("1100-115f a960-a97c")
_VOWEL = characters("1160-11a7 d7b0-d7c6 16d63 16d67-16d6a")
_TRAILING = characters("11a8-11ff d7cb-d7fb")
_SYLLABLES = range(0xAC00, 0xD7A4)
_TRAILS = 28  # syllables with one leading consonant and one vowel

# One letter a class: carriage return, line feed, control, Prepend, joined (inside a conjunct and not), consonant,
# linker; L, V, T, and W for a syllable of L and V, X for one of L, V and T; else o.
_JOINS = "[ejl]"
_CLUSTER = re.compile(
    r"rn|[rnc]|p*(?:L*(?:V+|WV*|X)T*|L+|T+|k(?:[el]*l[el]*k)*|[ko])" + _JOINS + "*|p+" + _JOINS + "*|" + _JOINS + "+"
)


class _Classes(dict[int, str]):
    """The class of each code point that was asked for."""

    def __missing__(self, code: int) -> str:
        found = self[code] = _class_of(chr(code))
        return found


def _class_of(c: str) -> str:
    tables = (
        (_PREPEND, "p"),
        (_CONTROL, "c"),
        (_CONSONANT, "k"),
        (_LINKER, "l"),
        (_LEADING, "L"),
        (_VOWEL, "V"),
        (_TRAILING, "T"),
    )
    if c in "\r\n":
        return "r" if c == "\r" else "n"
    found = next((letter for table, letter in tables if c in table), None)
    if found is not None:
        return found
    if ord(c) in _SYLLABLES:
        return "X" if (ord(c) - _SYLLABLES.start) % _TRAILS else "W"
    kind = category(c)
    if c not in _JOINED and (kind[0] != "M" or c in _NOT_JOINED):
        return "o"
    in_conjunct = (kind != "Mc" and c not in _NOT_IN_CONJUNCT) or c in _IN_CONJUNCT
    return "e" if in_conjunct else "j"


_classes = _Classes()


def short_clusters(text: str) -> list[tuple[int, int]]:
    """Begins and ends of the clusters of at least two characters and at most MAX_BYTES bytes."""
    if text.isascii() and "\r\n" not in text:
        return []
    return [
        match.span()
        for match in _CLUSTER.finditer(text.translate(_classes))
        if 1 < match.end() - match.start() <= MAX_BYTES and len(text[match.start() : match.end()].encode()) <= MAX_BYTES
    ]
