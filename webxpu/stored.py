"""Model files that `load` has kept in the browser's storage."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any

from webxpu.errors import ShapeError


@dataclass(frozen=True)
class StoredFile:
    """url, the bytes of it that are kept, those that it has in all, and whether nothing is missing."""

    url: str
    nbytes: int
    total_bytes: int
    complete: bool


async def cached() -> list[StoredFile]:
    """The files that `load` keeps in this browser, by address. A load that ended early leaves one that is not complete
    and goes on there. Raises Unsupported where the browser has no private file system."""
    found = await _bridge().cached()
    return [StoredFile(file["url"], file["bytes"], file["total"], file["complete"]) for file in found]


async def forget(url: str | None = None) -> int:
    """Removes the file of an address from the browser's storage or, for None, all that `load` keeps there. Returns how
    many files those were. A model that is loaded goes on working. Raises ShapeError, and Unsupported as `cached`."""
    given: object = url
    if given is not None and (not isinstance(given, str) or not given):
        raise ShapeError(f"forget: url must be an address or None, got {url!r}")
    return int(await _bridge().forget(url))


def _bridge() -> Any:
    return importlib.import_module("webxpu.bridge")
