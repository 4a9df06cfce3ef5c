"""Files read by growing ranges: all of a small one, or the beginning as a parser asks for it.

A parser's errors quote offset and bytes.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from webxpu.errors import FormatError

ReadRange = Callable[[int, int], Awaitable[tuple[bytes, "int | None"]]]
"""`await read_range(start, nbytes)` gives the bytes (fewer only where the file ends) and the file's size, if known."""

FIRST_READ_BYTES = 256 * 1024
# Tokenizers of 256k entries make headers of 16 MB; what is far past that is no header.
MAX_HEADER_BYTES = 64 * 1024 * 1024
MAX_NAME_BYTES = 65_535
_QUOTED_BYTES = 16
_HEAD_BYTES = 64

_T = TypeVar("_T")


class Short(Exception):
    """The thing that begins at `at` needs bytes up to `end`, which were not read yet."""

    def __init__(self, at: int, end: int) -> None:
        self.at, self.end = at, end


class Window:
    """`data` is the file up to `len(data)`, `pos` the cursor, `what` names what is being parsed, for messages."""

    def __init__(self, read_range: ReadRange, name: str) -> None:
        self.read_range = read_range
        self.name = name
        self.data = b""
        self.size: int | None = None
        self.pos = 0
        self.what = "the file"

    async def step(self, parse: Callable[[], _T]) -> _T:
        """Parses one thing; where it needs more bytes than were read, reads on and starts it again."""
        while True:
            start = self.pos
            try:
                return parse()
            except Short as short:
                self.pos = start
                await self._grow(short)

    async def _grow(self, short: Short) -> None:
        """Doubles what was read (more where that is too little), so a header costs a few requests."""
        end = short.end
        if self.size is not None and end > self.size:
            raise self._truncated(short)
        if end > MAX_HEADER_BYTES:
            raise self.error(short.at, self.what, f"in the file's first {MAX_HEADER_BYTES} bytes", f"an end at {end}")
        have = len(self.data)
        goal = max(2 * have, FIRST_READ_BYTES, end)
        goal = min(goal, MAX_HEADER_BYTES, goal if self.size is None else self.size)
        more, size = await self.read_range(have, goal - have)
        self.data += more[: goal - have]
        if size is not None:
            self.size = size
        if len(self.data) < min(goal, goal if self.size is None else self.size):
            self.size = len(self.data)  # the file ends here; what needs more is refused the next time

    def error(self, at: int, what: str, rule: str, got: object) -> FormatError:
        """`{file}: {what} at byte {at} must be {rule}, got {got} (bytes ...)`."""
        quoted = self.data[at : at + _QUOTED_BYTES].hex(" ")
        return FormatError(f"{self.name}: {what} at byte {at} must be {rule}, got {got} (bytes {quoted or 'none'})")

    def _truncated(self, short: Short) -> FormatError:
        size = len(self.data) if self.size is None else self.size
        return self.error(short.at, self.what, f"complete, to byte {short.end}", f"a file of {size} bytes")

    def take(self, nbytes: int) -> int:
        """Moves the cursor over bytes and returns where they start."""
        start = self.pos
        if start + nbytes > len(self.data):
            raise Short(start, start + nbytes)
        self.pos = start + nbytes
        return start

    def u32(self) -> int:
        at = self.take(4)
        return int.from_bytes(self.data[at : at + 4], "little")

    def u64(self) -> int:
        at = self.take(8)
        return int.from_bytes(self.data[at : at + 8], "little")

    def count(self, what: str, least_bytes: int, most: int) -> int:
        """A 64-bit count of things that take at least so many bytes each: all of them must fit into the header."""
        at = self.pos
        count = self.u64()
        end = self.pos + count * least_bytes
        limit = MAX_HEADER_BYTES if self.size is None else min(self.size, MAX_HEADER_BYTES)
        if count > most:
            raise self.error(at, what, f"at most {most}", count)
        if end > limit:
            raise self.error(at, what, f"small enough to end before byte {limit}", count)
        return count

    def short_string(self, what: str) -> str:
        """A name: 64-bit length, then UTF-8."""
        at = self.pos
        length = self.u64()
        if length > MAX_NAME_BYTES:
            raise self.error(at, f"the length of {what}", f"at most {MAX_NAME_BYTES}", length)
        start = self.take(length)
        try:
            return self.data[start : start + length].decode()
        except UnicodeDecodeError as e:
            raise self.error(start + e.start, what, "UTF-8", e.reason) from e


async def read_whole(read_range: ReadRange, name: str, most_bytes: int) -> bytes:
    """A whole file. Raises FormatError for one of more than `most_bytes`, or one that ends before its size."""
    data, size, wanted = b"", None, min(FIRST_READ_BYTES, most_bytes + 1)
    while True:
        more, told = await read_range(len(data), wanted)
        data += more[:wanted]
        size = size if told is None else told
        if max(len(data), size or 0) > most_bytes:
            raise FormatError(f"{name}: must be at most {most_bytes} bytes long, got {max(len(data), size or 0)}")
        if len(more) < wanted or (size is not None and len(data) >= size):
            break
        wanted = (min(2 * len(data) + FIRST_READ_BYTES, most_bytes + 1) if size is None else size) - len(data)
    if size is not None and len(data) < size:
        raise FormatError(f"{name}: must be complete, to byte {size}, got {len(data)} bytes")
    return data


async def begun(read_range: ReadRange) -> tuple[ReadRange, bytes]:
    """A reader that has the file's beginning already, and the first bytes of it, which tell what it is."""
    begin, size = await read_range(0, FIRST_READ_BYTES)

    async def read(start: int, nbytes: int) -> tuple[bytes, int | None]:
        if start + nbytes <= len(begin) or len(begin) < FIRST_READ_BYTES:
            return begin[start : start + nbytes], size if len(begin) == FIRST_READ_BYTES else len(begin)
        return await read_range(start, nbytes)

    return read, begin[:_HEAD_BYTES]
