"""The files beside one another that make a model: which are there, and small ones read whole."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from webxpu.errors import FetchError, FormatError
from webxpu.formats.converted import ChunkHashes, verified
from webxpu.formats.json_text import json_object
from webxpu.formats.window import ReadRange, read_whole
from webxpu.gpu.seam import Bridge
from webxpu.llm.source import Source

# How a page begins that a server answers every path with. No "<" alone: templates begin with tokens such as <s>, and
# the length that begins a safetensors file may read " <".
_PAGES = (b"<!doctype", b"<html", b"<!--", b"<?xml")
_BEGIN_BYTES = 64
# Configurations, and tokenizers: that of 262,144 pieces takes 33 MB.
MAX_SMALL_BYTES = 16 * 1024 * 1024
MAX_TOKENIZER_BYTES = 64 * 1024 * 1024
MAX_VALUES = 4_000_000


class Files:
    """The files of the folder that a source names or lies in; `looked_for` are those that were asked for in vain."""

    def __init__(self, source: Source, bridge: Bridge) -> None:
        self.source = source
        self.bridge = bridge
        self.hashes: Mapping[str, ChunkHashes] = {}  # of files whose bytes are checked as they are read
        self.looked_for: list[str] = []

    def place(self, name: str) -> Source:
        return self.source.sibling(name)

    def reader(self, name: str) -> ReadRange:
        reader = self.place(name).reader(self.bridge)
        return verified(reader, name, self.hashes[name]) if name in self.hashes else reader

    async def exists(self, name: str) -> bool:
        """Whether there is such a file. Raises FetchError where that cannot be known."""
        return await self._begins(name, lambda: self.reader(name)(0, _BEGIN_BYTES))

    async def find(self, name: str, most_bytes: int = MAX_SMALL_BYTES) -> bytes | None:
        """A file's bytes, or None where there is no such file. Raises FetchError, and FormatError for a longer one."""
        found: list[bytes] = []

        async def read() -> tuple[bytes, int | None]:
            found.append(await read_whole(self.reader(name), name, most_bytes))
            return found[0], None

        return found[0] if await self._begins(name, read) else None

    async def _begins(self, name: str, read: Callable[[], Awaitable[tuple[bytes, int | None]]]) -> bool:
        """Whether a file has a beginning, noted where it has none. Where files have hashes, one without is none of
        them."""
        if self.hashes and name not in self.hashes:
            self.looked_for.append(name)
            return False
        try:
            begin = (await read())[0][:_BEGIN_BYTES]
        except FetchError as e:
            if not e.missing:
                raise
            begin = b""
        if not begin or begin.lstrip().lower().startswith(_PAGES):
            self.looked_for.append(name)
            return False
        return True

    async def find_json(self, name: str, most_bytes: int = MAX_SMALL_BYTES) -> dict[str, Any] | None:
        """The object in a JSON file, or None where there is no such file. Raises FetchError, FormatError."""
        data = await self.find(name, most_bytes)
        return None if data is None else json_object(data, name=name, most=MAX_VALUES)

    def incomplete(self, what: str) -> FormatError:
        """The error for a folder that lacks something, with what was looked for."""
        where = self.source.place.rpartition("/")[0] or self.source.place
        return FormatError(f"{where}: the folder must have {what}; looked for {', '.join(self.looked_for)}")
