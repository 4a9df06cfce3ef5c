"""The site folder: everything that a browser loads, in one place, so that any static server can offer it.

    /                 the pages of `web/`: index.html, chat/, run/
    /bridge/          the bridge's modules
    /pyodide/         Pyodide's core, the packages webxpu needs, our wheel, and a lock file that names them
    /vendor/          third-party modules that pages and the bridge import
    /models/          the default model
    /site.json        the version, and where the wheel, the model and Pyodide lie

A site is made for one state of the sources and never changed: it lies in the cache under a hash of all of them.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
import time
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path
from typing import Any

from webxpu.data import data_folder
from webxpu.host.assets import DEFAULT_MODEL, LOCK, cache_folder, read_lock
from webxpu.host.fetch import Report, fetch
from webxpu.host.wheels import build_markupsafe, build_wheel, checkout, package_folder

PYODIDE_CORE = ("pyodide.mjs", "pyodide.asm.js", "pyodide.asm.wasm", "python_stdlib.zip")
PYODIDE_PACKAGES = ("numpy", "micropip", "packaging", "jinja2")
VENDOR = ("tokenizers.mjs", "tokenizers.LICENSE", "marked.esm.js", "purify.es.mjs")
# Sites of earlier sources are removed a day after their last use: another process may be serving one.
_KEEP_S = 24 * 3600


def build_site(report: Report | None = None, *, model: bool = True) -> Path:
    """The site for the sources as they are now, made where it is missing. Without `model` /models/ may stay empty."""
    paths = fetch([*PYODIDE_CORE, *PYODIDE_PACKAGES, *VENDOR, "pyodide-lock.json", "markupsafe"], report)
    if model:
        paths.update(fetch([DEFAULT_MODEL], report))
    sites = cache_folder() / "site"
    sites.mkdir(parents=True, exist_ok=True)
    while not ((site := sites / fingerprint()) / "site.json").is_file():
        _make(site, paths)
    if model:
        _add_model(site, paths[DEFAULT_MODEL])
    os.utime(site)
    return site


def _make(site: Path, paths: dict[str, Path]) -> None:
    """Lays a site out aside and renames it into place, unless the sources changed meanwhile: then nothing is kept."""
    _prune(site.parent)
    partial = Path(tempfile.mkdtemp(prefix="partial-", dir=site.parent))
    try:
        _lay_out(partial, paths)
        if fingerprint() == site.name:
            partial.rename(site)
    except OSError:
        if not (site / "site.json").is_file():  # unless another process was quicker
            raise
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _lay_out(site: Path, paths: dict[str, Path]) -> None:
    site.chmod(0o755)  # mkdtemp's 0700 would keep another user's web server out
    shutil.copytree(data_folder("web"), site, dirs_exist_ok=True)
    shutil.copytree(data_folder("bridge"), site / "bridge")
    for folder in ("pyodide", "vendor", "models"):
        (site / folder).mkdir()
    for name in (*PYODIDE_CORE, *PYODIDE_PACKAGES):
        _place(paths[name], site / "pyodide")
    for name in VENDOR:
        _place(paths[name], site / "vendor")
    markupsafe = _place(build_markupsafe(), site / "pyodide")
    wheel = build_wheel(site / "pyodide")
    lock = json.loads(paths["pyodide-lock.json"].read_text("utf-8"))
    extend_lock(lock, jinja2=paths["jinja2"], markupsafe=markupsafe, webxpu=wheel)
    (site / "pyodide" / "pyodide-lock.json").write_text(json.dumps(lock), "utf-8")
    about = {
        "version": version("webxpu"),
        "pyodide": "pyodide/",
        "wheel": f"pyodide/{wheel.name}",
        "tokenizers": "vendor/tokenizers.mjs",
        "model": f"models/{read_lock()[DEFAULT_MODEL].file}",
    }
    (site / "site.json").write_text(json.dumps(about, indent=1) + "\n", "utf-8")


def extend_lock(lock: dict[str, Any], *, jinja2: Path, markupsafe: Path, webxpu: Path) -> None:
    """Upstream's Pyodide lock with its jinja2 and markupsafe replaced by ours and our wheel added."""
    packages = lock["packages"]
    packages["jinja2"] = _locked("Jinja2", jinja2, ["markupsafe"], "jinja2")
    packages["markupsafe"] = _locked("MarkupSafe", markupsafe, [], "markupsafe")
    packages["webxpu"] = _locked("webxpu", webxpu, ["numpy", "jinja2"], "webxpu")


def _locked(name: str, wheel: Path, depends: list[str], module: str) -> dict[str, Any]:
    return {
        "name": name,
        "version": wheel.name.split("-")[1],
        "file_name": wheel.name,
        "install_dir": "site",
        "sha256": hashlib.sha256(wheel.read_bytes()).hexdigest(),
        "package_type": "package",
        "imports": [module],
        "depends": depends,
        "unvendored_tests": False,
    }


def _place(path: Path, folder: Path) -> Path:
    """A file of the cache in the site: a hard link where both lie on one file system, else a copy."""
    target = folder / path.name
    try:
        os.link(path.resolve(), target)  # not a link to a link: the server follows none out of the site
    except OSError:
        shutil.copyfile(path, target)
    return target


def _add_model(site: Path, path: Path) -> None:
    if not (site / "models" / path.name).exists():
        try:
            _place(path, site / "models")
        except FileExistsError:
            return


def _sources() -> Iterable[tuple[str, Path]]:
    """Every file that a site is made of, with the name that goes into the fingerprint."""
    root = checkout()
    folders = [package_folder(), *(data_folder(name) for name in ("kernels", "bridge", "web"))]
    for folder in folders:
        for path in sorted(folder.rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                yield f"{folder.name}/{path.relative_to(folder).as_posix()}", path
    if root is not None:
        yield from ((name, root / name) for name in ("pyproject.toml", "hatch_build.py", "README.md", "LICENSE"))


def fingerprint() -> str:
    """A short hash of the lock and of every source file that a site is made of."""
    digest = hashlib.sha256(LOCK.read_bytes())
    for name, path in _sources():
        content = path.read_bytes()
        digest.update(f"{name}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()[:16]


def _prune(sites: Path) -> None:
    for old in sites.iterdir():
        if time.time() - old.stat().st_mtime > _KEEP_S:
            shutil.rmtree(old, ignore_errors=True)
