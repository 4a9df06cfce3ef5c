"""Incremental decoding: whole characters only, whatever the tokens and the steps in which they come."""

from __future__ import annotations

import random

import pytest

from webxpu.text.stream import TextStream

TEXTS = [
    "",
    "plain words",
    "日本語 と 한국어",
    "😀🏳️‍🌈👨‍👩‍👧‍👦👍🏽🇯🇵",  # joined by U+200D, with modifiers, and a flag of two letters
    "e\u0301 \u0e01\u0e33 \u200b\ufeff\0",
    "\U0010ffff\uffff\u0800\u07ff\x7f",
]
BROKEN = [
    b"\xff\xfe",
    b"\xe6\x9d",
    b"\xf0\x9f\x98a\xf0\x9f",
    b"\xed\xa0\x80",  # a surrogate
    b"\xc0\x80\xc1\xbf",  # overlong
    b"ok \xe2\x82\xff\x80\x80 ok",
    b"\xf4\x90\x80\x80\xf5",  # past U+10FFFF
]


class Bytes:
    """A vocabulary whose token i stands for the i-th of the given chunks; -1 is a control token."""

    special_ids = frozenset((-1,))

    def __init__(self, chunks: list[bytes], strip_left: int = 0) -> None:
        self.chunks = [*chunks, b"<control>"]
        self.strip_left = strip_left

    def token_bytes(self, token_id: int) -> bytes:
        return self.chunks[token_id]


def cut(data: bytes, rng: random.Random) -> list[bytes]:
    """The bytes in random chunks, some of them empty, often in the middle of a character."""
    chunks = []
    while data:
        length = rng.choice((0, 1, 1, 1, 2, 3, 7))
        chunks.append(data[:length])
        data = data[length:]
    return chunks


def grouped(ids: list[int], rng: random.Random) -> list[list[int]]:
    groups = []
    while ids:
        length = rng.choice((0, 1, 1, 2, 8))
        groups.append(ids[:length])
        ids = ids[length:]
    return groups


@pytest.mark.parametrize("text", TEXTS, ids=ascii)
def test_pieces_are_whole_characters_and_together_the_text(text):
    rng = random.Random(1)
    for _ in range(200):
        chunks = cut(text.encode(), rng)
        stream = TextStream(Bytes(chunks))
        pieces = [stream.push(group) for group in grouped(list(range(len(chunks))), rng)]
        assert stream.finish() == ""
        assert "".join(pieces) == text
        assert "\ufffd" not in "".join(pieces)


@pytest.mark.parametrize("text", TEXTS, ids=ascii)
def test_a_character_is_given_out_with_its_last_byte(text):
    stream = TextStream(Bytes([bytes([b]) for b in text.encode()]))
    shown, sent = "", 0
    for index in range(len(text.encode())):
        shown += stream.push([index])
        sent = index + 1
        assert shown == text.encode()[:sent].decode(errors="ignore")


@pytest.mark.parametrize("data", BROKEN, ids=repr)
def test_broken_bytes_become_the_replacement_characters_of_the_whole(data):
    rng = random.Random(2)
    for _ in range(200):
        chunks = cut(data, rng)
        stream = TextStream(Bytes(chunks))
        pieces = [stream.push(group) for group in grouped(list(range(len(chunks))), rng)]
        assert "".join(pieces) + stream.finish() == data.decode(errors="replace")


def test_control_tokens_are_left_out_unless_asked_for():
    ids = [0, -1, 1, -1]
    assert TextStream(Bytes([b"a", b"b"])).push(ids) == "ab"
    assert TextStream(Bytes([b"a", b"b"]), skip_special=False).push(ids) == "a<control>b<control>"


def test_a_control_token_inside_a_character_does_not_part_it():
    stream = TextStream(Bytes([b"\xc3", b"\xa9"]))
    assert [stream.push([0]), stream.push([-1]), stream.push([1])] == ["", "", "é"]


@pytest.mark.parametrize(
    ("chunks", "text"),
    [
        ([b" ", b"a b"], "a b"),
        ([b"  a"], " a"),
        ([b"", b" ", b" a"], " a"),
        ([b"a", b" b"], "a b"),
        ([b"\n a"], "\n a"),
    ],
)
def test_the_space_that_a_tokenizer_puts_first_is_left_out_once(chunks, text):
    stream = TextStream(Bytes(chunks, strip_left=1))
    assert "".join(stream.push([i]) for i in range(len(chunks))) + stream.finish() == text


def test_a_finished_stream_starts_anew():
    stream = TextStream(Bytes([b" \xe6", b" b"], strip_left=1))
    assert (stream.push([0]), stream.finish()) == ("", "\ufffd")
    assert (stream.push([1]), stream.finish()) == ("b", "")
