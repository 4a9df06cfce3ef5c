"""Fields of protocol-buffer messages, one after the other, without a schema."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from webxpu.errors import FormatError

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
_FIXED_BYTES = {FIXED64: 8, FIXED32: 4}
_QUOTED_BYTES = 16


class Field(NamedTuple):
    """A field: its number and wire type, where its contents lie, and the number that a varint is."""

    number: int
    wire: int
    start: int
    stop: int
    value: int


class Reader:
    """The bytes of a file, read as varints; `name` is for messages."""

    def __init__(self, data: bytes, name: str) -> None:
        self.data, self.name = data, name

    def error(self, at: int, what: str, rule: str, got: object) -> FormatError:
        """`{file}: {what} at byte {at} must be {rule}, got {got} (bytes ...)`."""
        quoted = self.data[at : at + _QUOTED_BYTES].hex(" ")
        return FormatError(f"{self.name}: {what} at byte {at} must be {rule}, got {got} (bytes {quoted or 'none'})")

    def varint(self, at: int, end: int) -> tuple[int, int]:
        """A number and where it ends. Negative ones come as 64 bits. Raises FormatError where it passes `end`."""
        if at < end and self.data[at] < 0x80:
            return self.data[at], at + 1
        value = shift = 0
        for place in range(at, min(at + 10, end)):
            byte = self.data[place]
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value & 0xFFFF_FFFF_FFFF_FFFF, place + 1
            shift += 7
        rule = "at most 10 bytes long" if at + 10 <= end else f"complete before byte {end}"
        raise self.error(at, "a varint", rule, "a longer one")


class Message(Reader):
    """A message in bytes `start` to `stop` of a file. Raises FormatError, quoting offset and bytes, as it is read."""

    def __init__(self, data: bytes, name: str, start: int = 0, stop: int | None = None) -> None:
        super().__init__(data, name)
        self.start = start
        self.stop = len(data) if stop is None else stop

    def __iter__(self) -> Iterator[Field]:
        at = self.start
        while at < self.stop:
            key, start = self.varint(at, self.stop)
            number, wire = key >> 3, key & 7
            if not 0 < number < 1 << 29 or wire not in (VARINT, FIXED64, BYTES, FIXED32):
                raise self.error(
                    at, "a field", "a varint, 32-bit, 64-bit or bytes", f"number {number}, wire type {wire}"
                )
            value = 0
            if wire == VARINT:
                value, stop = self.varint(start, self.stop)
            else:
                length = _FIXED_BYTES.get(wire, 0)
                if wire == BYTES:
                    length, start = self.varint(start, self.stop)
                stop = start + length
            if stop > self.stop:
                raise self.error(at, f"field {number}", f"complete before byte {self.stop}", f"an end at byte {stop}")
            yield Field(number, wire, start, stop, value)
            at = stop

    def inner(self, field: Field) -> Message:
        """The message that a field is."""
        self._of_bytes(field)
        return Message(self.data, self.name, field.start, field.stop)

    def text(self, field: Field) -> str:
        """The text that a field is."""
        self._of_bytes(field)
        try:
            return self.data[field.start : field.stop].decode()
        except UnicodeDecodeError as e:
            raise self.error(field.start + e.start, f"field {field.number}", "UTF-8", e.reason) from e

    def integers(self, field: Field) -> list[int]:
        """The signed numbers that a field is: one, or several packed into bytes."""
        if field.wire == VARINT:
            return [_signed(field.value)]
        self._of_bytes(field)
        found, at = [], field.start
        while at < field.stop:
            value, at = self.varint(at, field.stop)
            found.append(_signed(value))
        return found

    def _of_bytes(self, field: Field) -> None:
        if field.wire != BYTES:
            raise self.error(field.start, f"field {field.number}", "bytes", f"wire type {field.wire}")


def _signed(value: int) -> int:
    return value - (1 << 64) if value >> 63 else value
