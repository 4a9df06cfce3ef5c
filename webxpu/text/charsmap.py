"""SentencePiece's compiled normalisation rules: a double-array trie over UTF-8 and the replacements it points to.

The trie is Darts-clone's: https://github.com/s-yata/darts-clone
"""

from __future__ import annotations

import struct

from webxpu.errors import FormatError

# A unit: bit 31 says that the rest is a value; else bits 0 to 7 are its label, bit 8 says that a value hangs below it,
# bit 9 that the offset counts 256s, and the rest is the offset.
_IS_VALUE, _LABEL, _HAS_VALUE = 1 << 31, 0x800000FF, 1 << 8
_BLOCK_UNITS = 256
# So many matches are compared at one place, the shortest first.
_MAX_MATCHES = 32
# A walk that is longer goes round in a broken trie.
_MAX_RULE_CHARACTERS = 1000


def _offset(unit: int) -> int:
    return (unit >> 10) << ((unit & 0x200) >> 6)


class Charsmap:
    """Rules "these characters become those"; `longest` applies the longest one at a place.

    blob      `normalizer_spec.precompiled_charsmap`
    name, at  the file and where in it the blob begins, for messages
    Raises FormatError for a trie that leaves its own bytes or points outside the replacements.
    """

    def __init__(self, blob: bytes, name: str, at: int) -> None:
        self._blob, self._name, self._at = blob, name, at
        size = int.from_bytes(blob[:4], "little")
        if len(blob) < 5 or size % (4 * _BLOCK_UNITS) or not 0 < size < len(blob) - 4:
            rule = f"a multiple of {4 * _BLOCK_UNITS} bytes below {len(blob) - 4}"
            raise self._error(0, "the charsmap's trie", rule, size)
        if blob[-1]:
            raise self._error(len(blob) - 1, "the charsmap's last byte", "0", blob[-1])
        self._units = struct.unpack_from(f"<{size // 4}I", blob, 4)
        self._texts_at = 4 + size
        self._replacements: dict[int, str] = {}
        self._check()
        self._first = _offset(self._units[0])

    def _error(self, at: int, what: str, rule: str, got: object) -> FormatError:
        found = self._blob[at : at + 4].hex(" ")
        return FormatError(f"{self._name}: {what} at byte {self._at + at} must be {rule}, got {got} (bytes {found})")

    def _check(self) -> None:
        """Every unit points inside: no walk needs a check of its own."""
        units, count = self._units, len(self._units)
        texts = len(self._blob) - self._texts_at
        root = units[0]
        if root & _LABEL or root & _HAS_VALUE or not _offset(root):
            raise self._error(4, "the charsmap's root", "a unit with children and no value", f"{root:#x}")
        for index, unit in enumerate(units):
            if unit & _IS_VALUE:
                if unit ^ _IS_VALUE >= texts:
                    raise self._error(4 + 4 * index, "a charsmap value", f"below {texts}", unit ^ _IS_VALUE)
                continue
            child = index ^ _offset(unit)
            if child | 0xFF >= count:
                raise self._error(4 + 4 * index, "a charsmap unit's child", f"below {count}", child)
            if unit & _HAS_VALUE and not units[child] & _IS_VALUE:
                raise self._error(4 + 4 * index, "what a charsmap unit points to", "a value", f"{units[child]:#x}")

    def longest(self, text: str, at: int) -> tuple[tuple[str, int] | None, int]:
        """The replacement of the longest rule that matches at a place of the text and the number of characters that it
        stands for, or None; and how many characters were looked at (one past the text's end counts)."""
        units = self._units
        node = self._first
        best: tuple[int, int, bool] | None = None
        matches = 0
        for index in range(at, len(text)):
            length = index - at + 1
            if length > _MAX_RULE_CHARACTERS:
                raise self._error(
                    4, "the charsmap's trie", f"of rules up to {_MAX_RULE_CHARACTERS} characters", "a longer one"
                )
            encoded = text[index].encode()
            for place, byte in enumerate(encoded, 1):
                node ^= byte
                unit = units[node]
                if unit & _LABEL != byte:
                    return self._found(best), length
                node ^= _offset(unit)
                if unit & _HAS_VALUE and matches < _MAX_MATCHES:
                    matches += 1
                    best = (units[node] ^ _IS_VALUE, length, place == len(encoded))
        return self._found(best), len(text) - at + 1

    def shortest(self, text: str) -> str | None:
        """The replacement of the shortest rule that matches at the text's beginning, or None."""
        units, node = self._units, self._first
        for character in text:
            encoded = character.encode()
            for place, byte in enumerate(encoded, 1):
                node ^= byte
                unit = units[node]
                if unit & _LABEL != byte:
                    return None
                node ^= _offset(unit)
                if unit & _HAS_VALUE:
                    found = self._found((units[node] ^ _IS_VALUE, 1, place == len(encoded)))
                    return None if found is None else found[0]
        return None

    def _found(self, best: tuple[int, int, bool] | None) -> tuple[str, int] | None:
        if best is None:
            return None
        value, length, whole = best
        if not whole:
            raise self._error(self._texts_at + value, "what the charsmap replaces", "whole characters", "half of one")
        text = self._replacements.get(value)
        if text is None:
            start = self._texts_at + value
            raw = self._blob[start : self._blob.index(0, start)]
            try:
                text = self._replacements[value] = raw.decode()
            except UnicodeDecodeError as e:
                raise self._error(start + e.start, "a charsmap replacement", "UTF-8", e.reason) from e
        return text, length
