"""JSON inside model files, read so that no text costs more than its length: depth, values and digits have limits.

Unlike `json.loads` it refuses a name that an object has twice, and text that is no valid Unicode.
"""

from __future__ import annotations

import json
import re
from typing import Any

from webxpu.errors import FormatError
from webxpu.formats.window import ReadRange, read_whole

# No header or configuration nests deeper than a few; the limit keeps the parser far from the end of its stack.
MAX_DEPTH = 32
_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+"', re.DOTALL)
# What transformers writes for "no limit", int(1e30), has 31.
_MAX_DIGITS = 31
# Python reads -0 as 0, other parsers as the float it is.
_NUMBER = re.compile(rb"[0-9]{%d,}|-0(?![0-9.eE])" % (_MAX_DIGITS + 1))
_QUOTED_BYTES = 16


def parse_json(data: bytes, *, name: str, what: str, at: int = 0, most: int) -> Any:
    """The value of a JSON text that begins at byte `at` of file `name`; `what` names the text.

    most   values that it may have, counted generously: brackets, commas and colons outside of strings

    Raises FormatError, quoting the offset and the bytes.
    """

    def refuse(where: int, rule: str, got: object) -> FormatError:
        quoted = data[where : where + _QUOTED_BYTES].hex(" ")
        found = f"got {got} (bytes {quoted or 'none'})"
        return FormatError(f"{name}: {what} at byte {at + where} must be {rule}, {found}")

    try:
        text = data.decode()
    except UnicodeDecodeError as e:
        raise refuse(e.start, "UTF-8", e.reason) from e
    bare = _STRING.sub(b"", data)
    found = sum(map(bare.count, (b"[", b"{", b",", b":")))
    if found > most:
        raise refuse(0, f"of at most {most} values", found)
    if _depth(bare) > MAX_DEPTH:
        raise refuse(0, f"nested at most {MAX_DEPTH} deep", "more")
    number = _NUMBER.search(bare)
    if number is not None:
        digits = number[0]
        rule = f"with whole numbers of at most {_MAX_DIGITS} digits"
        raise refuse(max(0, data.find(digits)), rule, digits[:40].decode())
    try:
        return json.loads(text, object_pairs_hook=_object)
    except json.JSONDecodeError as e:
        raise refuse(len(text[: e.pos].encode()), "JSON", e.msg) from e
    except _Wrong as e:
        where = data.find(e.quoted)
        raise refuse(max(0, where), e.rule, e.got) from e


class _Wrong(Exception):
    """A value that JSON allows and no model file needs; `quoted` is how the text writes it."""

    def __init__(self, quoted: bytes, rule: str, got: str) -> None:
        self.quoted, self.rule, self.got = quoted, rule, got


def _depth(bare: bytes) -> int:
    """How deep brackets nest in a text without its strings."""
    depth = deepest = 0
    for bracket in re.findall(rb"[][{}]", bare):
        if bracket in b"[{":
            depth += 1
            deepest = max(deepest, depth)
        else:
            depth -= 1
    return deepest


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for key, value in pairs:
        for text in (key, value):
            if isinstance(text, str) and not text.isascii() and any("\ud800" <= c <= "\udfff" for c in text):
                raise _Wrong(b"\\u", "Unicode", f"half a surrogate pair in {ascii(text)[:80]}")
        if key in made:
            raise _Wrong(quoted(key), "without a name twice in one object", repr(key)[:80])
        made[key] = value
    return made


def quoted(text: str) -> bytes:
    """A text as most writers put it into JSON, to find it again."""
    return json.dumps(text, ensure_ascii=False).encode(errors="replace")


async def read_json(read_range: ReadRange, *, name: str, most_bytes: int, most: int) -> dict[str, Any]:
    """A file that is one JSON object, read whole. Raises FormatError."""
    return json_object(await read_whole(read_range, name, most_bytes), name=name, most=most)


def json_object(data: bytes, *, name: str, most: int) -> dict[str, Any]:
    """The object that a JSON file is. Raises FormatError."""
    value = parse_json(data, name=name, what="the text", most=most)
    if not isinstance(value, dict):
        start = data[:_QUOTED_BYTES].hex(" ")
        raise FormatError(f"{name}: the text at byte 0 must be a JSON object, got {_kind(value)} (bytes {start})")
    return value


def _kind(value: object) -> str:
    """What JSON calls a value, for messages."""
    kinds = {dict: "an object", list: "an array", str: "a string", bool: "a truth value", type(None): "null"}
    return kinds.get(type(value), "a number")
