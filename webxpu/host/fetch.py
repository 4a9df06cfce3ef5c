"""Brings the third-party files of the lock to this machine: the first source that answers wins, all is checked.

A source is given 10 seconds to answer. A host (or `pip`, or `npm`) that could not be reached once is not asked again in
the same run.
"""

from __future__ import annotations

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
from collections.abc import Callable, Iterable
from pathlib import Path
from urllib.parse import urlsplit

from webxpu.errors import FetchError
from webxpu.host.assets import Asset, Lock, cached, offline_folder, read_lock, store, temporary_folder

ANSWER_S = 10
_CHUNK_BYTES = 1 << 18
_POLL_S = 0.2
# What pip and npm print when the network, not the package, is the trouble.
_UNREACHABLE = re.compile(
    r"NewConnectionError|Connection ?Timeout|ReadTimeout|Max retries|NameResolutionError|Failed to establish|"
    r"ENOTFOUND|ETIMEDOUT|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ENETUNREACH|ProxyError",
    re.IGNORECASE,
)

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
        client = archive.partition(":")[0]
        if client in self.failed_hosts:
            raise FetchError(f"{source}: not asked, {client} failed before ({self.failed_hosts[client]})")
        if archive in self.failed_archives:
            raise FetchError(f"{source}: not asked again ({self.failed_archives[archive]})")
        with temporary_folder() as folder:
            try:
                path = self._run_client(archive, asset, Path(folder))
                self._unpack(archive, path, Path(folder))
            except FetchError as error:
                self.failed_archives[archive] = str(error)
                raise
        found = cached(asset)
        if found is None:
            raise FetchError(f"{source}: the archive did not hold {asset.file}")
        return found

    def _unpack(self, archive: str, path: Path, folder: Path) -> None:
        for asset in self.lock.assets.values():
            for source in asset.sources:
                name, _, member = source.partition("!")
                if name == archive and cached(asset) is None:
                    out = folder / "member"
                    _extract(path, member, out, source)
                    store(asset, out, source)

    def _run_client(self, archive: str, asset: Asset, folder: Path) -> Path:
        client, _, spec = archive.partition(":")
        downloads, scratch = folder / "downloads", folder / "scratch"
        downloads.mkdir()
        scratch.mkdir()
        command = _client_command(client, spec, asset, downloads)
        with _Watch(folder, f"{client} {spec}", self.lock.archive_bytes.get(archive), self.report):
            try:
                done = subprocess.run(
                    command, capture_output=True, text=True, env={**os.environ, "TMPDIR": str(scratch)}, check=False
                )
            except FileNotFoundError as error:
                self.failed_hosts[client] = f"{command[0]} is not installed"
                raise FetchError(f"{archive}: {command[0]} is not installed") from error
        if done.returncode != 0:
            output = done.stderr + done.stdout
            lines = (
                [line for line in output.splitlines() if "error" in line.lower()]
                or output.splitlines()
                or ["no output"]
            )
            if _UNREACHABLE.search(output):
                self.failed_hosts[client] = "no network"
            raise FetchError(f"{archive}: {' '.join(command[:4])} failed: {lines[-1].strip()}")
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
            sizes = [0]
            for path in self.folder.rglob("*"):
                try:
                    sizes.append(path.stat().st_size)
                except FileNotFoundError:  # the client removed it between the listing and the look
                    continue
            done = max(sizes)
            self.report(self.label, done if self.total is None else min(done, self.total), self.total)


def _silent(_label: str, _done: int, _total: int | None) -> None:
    """The report of a run that nobody watches."""


def _client_command(client: str, spec: str, asset: Asset, folder: Path) -> list[str]:
    if client == "npm":
        fast = ["--fetch-retries=1", f"--fetch-timeout={ANSWER_S * 1000}"]
        return [shutil.which("npm") or "npm", "pack", spec, "--silent", f"--pack-destination={folder}", *fast]
    if client == "pip":
        package = spec.partition("==")[0]
        kind = ["--only-binary=:all:"]
        if asset.file.endswith(".tar.gz"):  # without build isolation pip downloads no build tools to look inside
            kind = ["--no-binary", package, "--no-build-isolation"]
        pip = [sys.executable, "-m", "pip", "download", spec, "--no-deps", "--quiet", "--disable-pip-version-check"]
        return [*pip, *kind, f"--timeout={ANSWER_S}", "--retries=1", f"--dest={folder}"]
    raise FetchError(f"the lock names a source that is neither a URL nor pip nor npm: {client}:{spec}")


def _extract(archive: Path, member: str, out: Path, source: str) -> None:
    """Writes one member of a wheel or an npm archive to a file; without a member the archive itself is the file."""
    if not member:
        shutil.copyfile(archive, out)
        return
    try:
        if archive.suffix == ".whl":
            with zipfile.ZipFile(archive) as wheel, wheel.open(member) as inside, out.open("wb") as file:
                shutil.copyfileobj(inside, file)
            return
        with tarfile.open(archive) as package, out.open("wb") as file:
            packed = package.extractfile(f"package/{member}")
            if packed is None:
                raise KeyError(member)
            shutil.copyfileobj(packed, file)
    except (KeyError, zipfile.BadZipFile, tarfile.TarError) as error:
        raise FetchError(f"{source}: {archive.name} does not hold it ({error})") from error
