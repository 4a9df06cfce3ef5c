"""Where a model file lies: a URL, a file that the page registered, or the origin's private file system.

`loading` is one load: it reads one version of each file, and keeps files from the network in the browser's storage.
"""

from __future__ import annotations

import warnings
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import TypeVar
from urllib.parse import unquote, urlsplit, urlunsplit

from webxpu.errors import FileChanged, ShapeError, StorageWarning
from webxpu.formats.window import ReadRange
from webxpu.gpu.seam import Bridge

KINDS = ("url", "file", "opfs")

_T = TypeVar("_T")


@dataclass(frozen=True)
class Source:
    """kind "url", "file" or "opfs", and the address, registered name or path.

    load      the bridge's handle of the load that it belongs to, see `loading`
    version   names the content where something else than its server does, such as the hash in a manifest
    """

    kind: str
    place: str
    load: int | None = None
    version: str | None = None

    @classmethod
    def parse(cls, text: object) -> Source:
        """From a URL, "file:NAME" or "opfs:PATH"; a Source is one already. Raises ShapeError."""
        if isinstance(text, Source):
            return text
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
            return Source(self.kind, "".join(self.place.rpartition("/")[:2]) + name, self.load)
        parts = urlsplit(self.place)
        path = "".join(parts.path.rpartition("/")[:2]) + name
        return Source("url", urlunsplit((parts.scheme, parts.netloc, path, parts.query, "")), self.load)

    def above(self) -> Source | None:
        """The folder around its own, None for the top of registered files or the private file system: there ".." is no
        folder."""
        if self.kind == "url":
            return self.sibling("../")
        *outer, folder, _ = ["", *self.place.split("/")]
        return replace(self, place="/".join([*outer[1:], ""])) if folder else None

    def bridged(self) -> dict[str, str | int]:
        """As the bridge takes it."""
        more = {"load": self.load, "version": self.version}
        return {self.kind: self.place, **{name: value for name, value in more.items() if value is not None}}

    def reader(self, bridge: Bridge) -> ReadRange:
        """Reads byte ranges of it through the bridge."""

        async def read_range(start: int, nbytes: int) -> tuple[bytes, int | None]:
            found = await bridge.fetch_range(self.bridged(), start, nbytes)
            return bytes(found["bytes"]), found["total"]

        return read_range


@dataclass(frozen=True)
class LoadReport:
    """Where the bytes of a load came from.

    cached_bytes    from the browser's storage
    fetched_bytes   from the network
    warnings        why files were not kept, at most one text
    """

    cached_bytes: int
    fetched_bytes: int
    warnings: tuple[str, ...]


async def loading(
    source: Source, bridge: Bridge, work: Callable[[Source], Awaitable[_T]], *, cache: bool
) -> tuple[_T, LoadReport]:
    """Does what reads a model's files, with a source whose files are all read in one version.

    work    is given `source` as it must read it. Where the server changes a file meanwhile, it is called once more
    cache   whether files from the network are read from the browser's storage, and kept there

    Warns with StorageWarning where a file can't be kept. Raises FileChanged where it changed in the second try too.
    """
    for last in (False, True):
        handle = bridge.begin_load({"cache": cache})
        try:
            made = await work(replace(source, load=handle))
        except FileChanged:
            if last:
                raise
            continue
        finally:
            found = bridge.end_load(handle)
        report = LoadReport(found["cachedBytes"], found["fetchedBytes"], tuple(found["warnings"]))
        for text in report.warnings:
            warnings.warn(text, StorageWarning, stacklevel=3)
        return made, report
    raise AssertionError("unreachable")
