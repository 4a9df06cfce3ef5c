"""Brings the third-party files of the lock to this machine: the first source that answers wins, all is checked.

A source is given 10 seconds to answer. A host (or `pip`, or `npm`) that could not be reached once is not asked again in
the same run. An archive is downloaded once for all the locked files in it.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
import threading
import urllib.error
import urllib.request
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Set
from pathlib import Path
from typing import IO
from urllib.parse import urlsplit

from webxpu.errors import FetchError
from webxpu.host.assets import Asset, Lock, cached, offline_folder, read_lock, store, temporary_folder

ANSWER_S = 10
_CHUNK_BYTES = 1 << 18
_POLL_S = 0.2
# The program that is asked for a kind of source.
_PROGRAMS = {"pip": "pip", "sdist": "pip", "npm": "npm"}
# What pip and npm print when the network, not the package, is the trouble.
_UNREACHABLE = re.compile(
    r"NewConnectionError|Connection ?Timeout|ReadTimeout|Max retries|NameResolutionError|Failed to establish|"
    r"ENOTFOUND|ETIMEDOUT|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ENETUNREACH|ProxyError",
    re.IGNORECASE,
)

# Around the output of a step that pip runs apart: what it was, and where its output ends.
_STEP = re.compile(r"[×x] (.* did not run successfully\.)")
_STEP_END = "[end of output]"

Report = Callable[[str, int, "int | None"], None]
"""Called with a label, the bytes so far and the bytes to come (None where that is unknown)."""


def asset(name: str, report: Report | None = None) -> Path:
    """The path of a locked file on this machine, downloaded first where it is missing."""
    return fetch([name], report)[name]


def fetch(
    names: Iterable[str] | None = None, report: Report | None = None, lock: Lock | None = None
) -> dict[str, Path]:
    """The paths of locked files (all of them without `names`), each downloaded first where it is missing.

    Raises FetchError, with every source and why it failed, where a file cannot be had.
    """
    lock = lock or read_lock()
    wanted = [lock[name] for name in (lock.assets if names is None else names)]
    return {asset.name: path for asset, path in Fetcher(lock, report).fetch(wanted).items()}


class Fetcher:
    """One run of downloads; it remembers the hosts that failed and the archives that came."""

    def __init__(self, lock: Lock, report: Report | None = None, answer_s: float = ANSWER_S) -> None:
        self.lock = lock
        self.report = report or _silent
        self.answer_s = answer_s
        self.failed_hosts: dict[str, str] = {}
        self.failed_archives: dict[str, str] = {}

    def fetch(self, wanted: Iterable[Asset]) -> dict[Asset, Path]:
        return {asset: cached(asset) or self._download(asset) for asset in wanted}

    def _download(self, asset: Asset) -> Path:
        folder = offline_folder()
        if folder is not None:
            raise FetchError(f"{asset.file} is not in WEBXPU_ASSETS={folder}, which is used instead of the network")
        reasons = []
        for source in asset.sources:
            try:
                return self._from_url(asset, source) if "://" in source else self._from_archive(asset, source)
            except FetchError as error:
                reasons.append(f"  {error}")
        raise FetchError(f"{asset.file} could not be fetched from any of its sources:\n" + "\n".join(reasons))

    def _from_url(self, asset: Asset, url: str) -> Path:
        host = urlsplit(url).netloc
        if host in self.failed_hosts:
            raise FetchError(f"{url}: not asked, {host} failed before ({self.failed_hosts[host]})")
        with temporary_folder() as folder:
            path = Path(folder) / asset.file
            try:
                self._stream(asset, url, path)
            except urllib.error.HTTPError as error:
                raise FetchError(f"{url}: HTTP {error.code} {error.reason}") from error
            except OSError as error:
                if isinstance(error, FetchError):
                    raise
                reason = str(getattr(error, "reason", error)) or type(error).__name__
                self.failed_hosts[host] = reason
                raise FetchError(f"{url}: {reason}") from error
            return store(asset, path, url)

    def _stream(self, asset: Asset, url: str, path: Path) -> None:
        request = urllib.request.Request(url, headers={"User-Agent": "webxpu"})
        with urllib.request.urlopen(request, timeout=self.answer_s) as answer, path.open("wb") as file:
            announced = answer.headers.get("Content-Length")
            if announced is not None and int(announced) != asset.size_bytes:
                raise FetchError(
                    f"{url}: must have {asset.size_bytes:,} bytes, the server announces {int(announced):,}"
                )
            done = 0
            while chunk := answer.read(_CHUNK_BYTES):
                done += file.write(chunk)
                if done > asset.size_bytes:
                    raise FetchError(f"{url}: must have {asset.size_bytes:,} bytes, the server sends more")
                self.report(asset.file, done, asset.size_bytes)

    def _from_archive(self, asset: Asset, source: str) -> Path:
        """Downloads an archive by its own client and keeps every locked file in it, so that it is fetched once."""
        archive, _, _ = source.partition("!")
        program = _program(archive)
        if program in self.failed_hosts:
            raise FetchError(f"{source}: not asked, {program} failed before ({self.failed_hosts[program]})")
        if archive in self.failed_archives:
            raise FetchError(f"{source}: not asked again ({self.failed_archives[archive]})")
        with temporary_folder() as folder:
            try:
                path = self._run_client(archive, Path(folder))
                self._unpack(archive, path, Path(folder))
            except FetchError as error:
                self.failed_archives[archive] = str(error)
                raise
        found = cached(asset)
        if found is None:
            raise FetchError(f"{source}: the archive did not hold {asset.file}")
        return found

    def _unpack(self, archive: str, path: Path, folder: Path) -> None:
        wanted: dict[str, tuple[Asset, str]] = {}
        for asset in self.lock.assets.values():
            for source in asset.sources:
                name, _, member = source.partition("!")
                if name == archive and cached(asset) is None:
                    wanted[member] = asset, source
        out = folder / "member"
        for member, inside in _members(archive, path, set(wanted)):
            asset, source = wanted.pop(member)
            with out.open("wb") as file:
                shutil.copyfileobj(inside, file)
            store(asset, out, source)
        for _, source in wanted.values():
            raise FetchError(f"{source}: {path.name} does not hold it")

    def _run_client(self, archive: str, folder: Path) -> Path:
        client, _, spec = archive.partition(":")
        downloads, scratch = folder / "downloads", folder / "scratch"
        downloads.mkdir()
        scratch.mkdir()
        program = _program(archive)
        command = _client_command(client, spec, downloads)
        with _Watch(folder, f"{client} {spec}", self.lock.archive_bytes.get(archive), self.report):
            try:
                done = subprocess.run(
                    command, capture_output=True, text=True, env={**os.environ, "TMPDIR": str(scratch)}, check=False
                )
            except FileNotFoundError as error:
                self.failed_hosts[program] = f"{command[0]} is not installed"
                raise FetchError(f"{archive}: {command[0]} is not installed") from error
        if done.returncode != 0:
            output = done.stderr + done.stdout
            reason = _reason(output)
            if _UNREACHABLE.search(output):
                self.failed_hosts[program] = "no network"
                reason += f" ({program} could not reach its server)"
            raise FetchError(f"{archive}: {' '.join(command[:4])} failed: {reason}")
        files = sorted(downloads.iterdir())
        if len(files) != 1:
            raise FetchError(f"{archive}: one file must come, got {[f.name for f in files]}")
        return files[0]


class _Watch:
    """Reports the growing size of a folder while a client that shows no progress of its own fills it."""

    def __init__(self, folder: Path, label: str, total: int | None, report: Report) -> None:
        self.folder, self.label, self.total, self.report = folder, label, total, report
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> None:
        self.thread.start()

    def __exit__(self, *_: object) -> None:
        self.ended.set()
        self.thread.join()

    def _watch(self) -> None:
        while not self.ended.wait(_POLL_S):
            done = _largest(self.folder)
            self.report(self.label, done if self.total is None else min(done, self.total), self.total)


def _largest(folder: Path) -> int:
    """Bytes of the largest file. What the client removes while this looks does not count."""
    largest = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(FileNotFoundError):
                largest = max(largest, os.stat(os.path.join(parent, name)).st_size)
    return largest


def _silent(_label: str, _done: int, _total: int | None) -> None:
    """The report of a run that nobody watches."""


def _program(archive: str) -> str:
    """The program that fetches an archive."""
    kind = archive.partition(":")[0]
    if kind not in _PROGRAMS:
        raise FetchError(f"the lock names a source that is neither a URL nor {', '.join(_PROGRAMS)}: {archive}")
    return _PROGRAMS[kind]


def _client_command(client: str, spec: str, folder: Path) -> list[str]:
    if client == "npm":
        fast = ["--fetch-retries=1", f"--fetch-timeout={ANSWER_S * 1000}"]
        return [shutil.which("npm") or "npm", "pack", spec, "--silent", f"--pack-destination={folder}", *fast]
    # pip looks inside an sdist by the package's own build tools, which it downloads for this.
    kind = ["--no-binary", spec.partition("==")[0]] if client == "sdist" else ["--only-binary=:all:"]
    pip = [sys.executable, "-m", "pip", "download", spec, "--no-deps", "--quiet", "--disable-pip-version-check"]
    return [*pip, *kind, f"--timeout={ANSWER_S}", "--retries=1", f"--dest={folder}"]


def _reason(output: str) -> str:
    """Why a client failed, in its own words; of a step that pip runs apart, which one and the last line of that."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    end = lines.index(_STEP_END) if _STEP_END in lines else 0
    steps = [found[1] for line in lines[:end] if (found := _STEP.match(line))]
    if steps:
        return f"{steps[0]} {lines[end - 1]}"
    return ([line for line in lines if "error" in line.lower()] or lines or ["no output"])[-1]


def _members(archive: str, path: Path, wanted: Set[str]) -> Iterator[tuple[str, IO[bytes]]]:
    """Those of the files that are there, in one pass; without a name the archive itself is the file.

    All that an npm archive or an sdist holds is in one folder, which the names leave out.
    """
    if "" in wanted:
        with path.open("rb") as whole:
            yield "", whole
    if not any(wanted):
        return
    try:
        if path.suffix == ".whl":
            with zipfile.ZipFile(path) as wheel:
                for name in wanted & set(wheel.namelist()):
                    with wheel.open(name) as inside:
                        yield name, inside
            return
        with tarfile.open(path) as package:
            for entry in package:
                name = entry.name.partition("/")[2]
                packed = package.extractfile(entry) if name in wanted else None
                if packed is not None:
                    yield name, packed
    except (zipfile.BadZipFile, tarfile.TarError, EOFError, zlib.error) as error:
        raise FetchError(f"{archive}: {path.name} cannot be read as an archive ({error})") from error
