"""Where a model file lies: a URL, a file that the page registered, or the origin's private file system."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import unquote, urlsplit, urlunsplit

from webxpu.errors import ShapeError
from webxpu.formats.window import ReadRange
from webxpu.gpu.seam import Bridge

KINDS = ("url", "file", "opfs")


@dataclass(frozen=True)
class Source:
    """kind "url", "file" or "opfs", and the address, registered name or path."""

    kind: str
    place: str

    @classmethod
    def parse(cls, text: object) -> Source:
        """From a URL, "file:NAME" or "opfs:PATH". Raises ShapeError."""
        if not isinstance(text, str) or not text:
            raise ShapeError(f"load: source must be a URL, 'file:NAME' or 'opfs:PATH', got {text!r}")
        kind, _, place = text.partition(":")
        if kind not in ("file", "opfs"):
            return cls("url", text)
        if not place or place.startswith("//"):
            raise ShapeError(f"load: source must name a file after {kind}:, as in {kind}:model.gguf, got {text!r}")
        return cls(kind, place)

    @property
    def name(self) -> str:
        """The file's name, for errors and for finding the other parts of a split model."""
        path = unquote(urlsplit(self.place).path) if self.kind == "url" else self.place
        return path.rpartition("/")[2] or self.place

    def sibling(self, name: str) -> Source:
        """Another file of the same folder."""
        if self.kind != "url":
            return Source(self.kind, "".join(self.place.rpartition("/")[:2]) + name)
        parts = urlsplit(self.place)
        path = "".join(parts.path.rpartition("/")[:2]) + name
        return Source("url", urlunsplit((parts.scheme, parts.netloc, path, parts.query, "")))

    def bridged(self) -> dict[str, str]:
        """As the bridge takes it."""
        return {self.kind: self.place}

    def reader(self, bridge: Bridge) -> ReadRange:
        """Reads byte ranges of it through the bridge."""

        async def read_range(start: int, nbytes: int) -> tuple[bytes, int | None]:
            found = await bridge.fetch_range(self.bridged(), start, nbytes)
            return bytes(found["bytes"]), found["total"]

        return read_range
