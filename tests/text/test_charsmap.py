"""Compiled normalisation rules: each bit of a unit, and tries that leave their bytes."""

from __future__ import annotations

import re

import pytest

from tests.text.sentencepiece_files import HEAD, NORMAL, charsmap, field, message, model
from webxpu.errors import FormatError
from webxpu.text.charsmap import Charsmap
from webxpu.text.sentencepiece import SentencePiece

VALUE = 1 << 31
LEAF = 1 << 8
TEXTS = b"\0X\0\xc3\xa9\xc3\xa9\0\xff\0"  # at 0 nothing, at 1 X, at 3 two letters, at 8 no UTF-8


def unit(label: int, offset: int, leaf: int = 0) -> int:
    """A unit whose offset is written in ones, or in 256s where that is so large."""
    return label | leaf | (offset >> 8 << 10 | 1 << 9 if offset >= 1 << 21 else offset << 10)


def trie(*rules: tuple[bytes, int]) -> list[int]:
    """Units of a trie in which each node has a block of its own."""
    nodes = {b"": 0}
    for key, _ in rules:
        for end in range(1, len(key) + 1):
            nodes.setdefault(key[:end], len(nodes))
    values = dict(rules)
    # The children of node n stand at 256 (n + 1) ^ byte, its value at 256 (n + 1).
    units = [VALUE] * (256 * (len(nodes) + 1))
    for key, number in nodes.items():
        place = 256 * (nodes[key[:-1]] + 1) ^ key[-1] if key else 0
        units[place] = unit(key[-1] if key else 0, place ^ 256 * (number + 1), LEAF if key in values else 0)
        if key in values:
            units[256 * (number + 1)] = VALUE | values[key]
    return units


def made(*rules, texts: bytes = TEXTS) -> Charsmap:
    return Charsmap(charsmap(trie(*rules), texts), "t.model", 1000)


def test_the_longest_rule_counts_and_how_far_was_looked_is_told():
    rules = made((b"a", 1), (b"abc", 3), ("é".encode(), 0))
    assert rules.longest("xabx", 1) == (("X", 1), 3)  # b goes on, x does not
    assert rules.longest("abc", 0) == (("éé", 3), 4)
    assert rules.longest("ab", 0) == (("X", 1), 3)
    assert rules.longest("é", 0) == (("", 1), 2)
    assert rules.longest("è", 0) == (None, 1)
    assert rules.longest("\0", 0) == (None, 1)


def test_a_rule_may_have_a_nul_in_no_text():
    assert made((b"a", 1)).longest("a\0", 0) == (("X", 1), 2)


def test_32_rules_are_compared_at_one_place_as_sentencepiece_does():
    rules = made(*[(b"a" * length, 1) for length in range(1, 41)])
    assert rules.longest("a" * 31, 0) == (("X", 31), 32)
    assert rules.longest("a" * 40, 0) == (("X", 32), 41)


def test_an_offset_may_count_256s():
    units = trie((b"a", 1))
    place = 256 ^ ord("a")
    units[place] = ord("a") | LEAF | ((place ^ 512) >> 8 << 10) | 1 << 9
    # Such an offset has no low bits, so the node's value stands where the node's own low bits say.
    units += [VALUE] * 256
    units[place ^ (place ^ 512) >> 8 << 8] = VALUE | 1
    assert Charsmap(charsmap(units, TEXTS), "t.model", 0).longest("a", 0) == (("X", 1), 2)


def changed(place: int, to: int) -> bytes:
    units = trie((b"a", 1))
    units[place] = to
    return charsmap(units, TEXTS)


A_PLACE = 256 ^ ord("a")
GOOD = charsmap(trie((b"a", 1)), TEXTS)
BROKEN = [
    (
        GOOD[:4],
        "the charsmap's trie at byte 1000 must be a multiple of 1024 bytes below 0, got 3072 (bytes 00 0c 00 00)",
    ),
    (GOOD[:2], "the charsmap's trie at byte 1000 must be a multiple of 1024 bytes below -2, got 3072 (bytes 00 0c)"),
    (GOOD[: 4 + 3072], "the charsmap's trie at byte 1000 must be a multiple of 1024 bytes below 3072, got 3072"),
    (b"\x04" + GOOD[1:], "the charsmap's trie at byte 1000 must be a multiple of 1024 bytes below 3082, got 3076"),
    (b"\0\0\0\0" + GOOD[4:], "the charsmap's trie at byte 1000 must be a multiple of 1024 bytes below 3082, got 0"),
    (GOOD[:-1], "the charsmap's last byte at byte 4084 must be 0, got 255 (bytes ff)"),
    (changed(0, VALUE), "the charsmap's root at byte 1004 must be a unit with children and no value, got 0x80000000"),
    (
        changed(0, unit(1, 256)),
        "the charsmap's root at byte 1004 must be a unit with children and no value, got 0x40001",
    ),
    (changed(0, unit(0, 256, LEAF)), "the charsmap's root at byte 1004 must be a unit with children and no value"),
    (changed(0, 0), "the charsmap's root at byte 1004 must be a unit with children and no value, got 0x0"),
    (changed(A_PLACE, unit(97, 1 << 20)), "a charsmap unit's child at byte 2416 must be below 768, got 1048929"),
    (changed(A_PLACE, unit(97, 1 << 21)), "a charsmap unit's child at byte 2416 must be below 768, got 2097505"),
    (changed(0, unit(0, 768)), "a charsmap unit's child at byte 1004 must be below 768, got 768"),
    (changed(512, VALUE | 10), "a charsmap value at byte 3052 must be below 10, got 10 (bytes 0a 00 00 80)"),
    (changed(512, unit(5, 512)), "what a charsmap unit points to at byte 2416 must be a value, got 0x80005"),
]


@pytest.mark.parametrize(("blob", "message"), BROKEN, ids=[message[12:90] for _, message in BROKEN])
def test_a_trie_that_leaves_its_bytes_is_refused(blob, message):
    with pytest.raises(FormatError, match=f"^t.model: {re.escape(message)}"):
        Charsmap(blob, "t.model", 1000)


def test_rules_for_half_a_character_and_to_half_a_character_are_refused():
    with pytest.raises(FormatError, match=r"^t.model: what the charsmap replaces at byte \d+ must be whole characters"):
        made((b"\xc3", 1)).longest("é", 0)
    with pytest.raises(FormatError, match=r"^t.model: a charsmap replacement at byte \d+ must be UTF-8, got invalid"):
        made((b"a", 8)).longest("a", 0)


def test_a_trie_that_goes_round_is_refused_and_not_walked_for_ever():
    rules = Charsmap(changed(A_PLACE, unit(97, 97)), "t.model", 1000)
    assert rules.longest("a" * 1000, 0) == (None, 1001)
    with pytest.raises(
        FormatError, match=r"^t.model: the charsmap's trie at byte 1004 must be of rules up to 1000 char"
    ):
        rules.longest("a" * 1001, 0)


def test_messages_give_the_place_in_the_file():
    data = model([*HEAD, ("a", 0.0, NORMAL)], {}, {2: GOOD[:-1]})
    with pytest.raises(FormatError) as e:
        SentencePiece.from_bytes(data, "t.model")
    place = int(re.search(r"at byte (\d+)", str(e.value)).group(1))
    assert data[place : place + 1] == b"\xff"


def test_rules_are_used_and_symbols_are_not_touched():
    pieces = [*HEAD, ("X", 0.0, NORMAL), ("a", 0.0, NORMAL), ("aa", 0.0, 4)]
    tokenizer = SentencePiece.from_bytes(model(pieces, {}, {3: 0}, field(3, message({2: GOOD}))))
    assert [tokenizer.normalize(text) for text in ("a", "aa", "aaa", "ab")] == ["X", "aa", "aaX", "Xb"]


def test_a_symbol_is_found_where_its_beginning_was_seen_without_it():
    tokenizer = SentencePiece.from_bytes(model([*HEAD, ("aaa", 0.0, 4)], {}, {3: 0}, field(3, message({2: GOOD}))))
    assert [tokenizer.normalize(text) for text in ("aab", "aaa", "aab")] == ["XXb", "aaa", "XXb"]
