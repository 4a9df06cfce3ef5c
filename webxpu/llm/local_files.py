"""Files of the machine that Python runs on, read as the bridge reads those of a browser."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from webxpu.errors import FetchError
from webxpu.gpu.seam import Bridge
from webxpu.llm.source import Source


class LocalBridge:
    """Of a bridge, what opening files asks: ranges."""

    async def fetch_range(self, source: Mapping[str, Any], start: int, nbytes: int) -> dict[str, Any]:
        path = Path(source["file"])
        if not path.is_file():
            error = FetchError(f"no file {path}")
            error.missing = True
            raise error
        return {"bytes": self.read(path, start, nbytes), "total": path.stat().st_size, "etag": None}

    def read(self, path: Path, start: int, nbytes: int) -> bytes:
        with path.open("rb") as file:
            file.seek(start)
            return file.read(nbytes)


def as_bridge(bridge: object) -> Bridge:
    """What has `fetch_range` alone, for a function that reads files by it."""
    seam: Any = bridge
    opened: Bridge = seam
    return opened


def local_source(path: Path) -> Source:
    """A file or a folder of this machine."""
    return Source("file", f"{path.absolute()}{'/' if path.is_dir() else ''}")
