"""The two wheels that are made on this machine: our own, and MarkupSafe without its C part.

Both are built without a network and without build isolation; their tools are in the `host` extra.
"""

from __future__ import annotations

import base64
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from importlib.metadata import distribution
from pathlib import Path

import webxpu
from webxpu.host.assets import cache_folder, read_lock
from webxpu.host.exits import BuildError
from webxpu.host.fetch import asset

# The first moment a zip file can hold: equal sources give equal bytes, and so an equal sha256 in the site's lock.
_EPOCH_S = "315532800"
_EPOCH_ZIP = (1980, 1, 1, 0, 0, 0)
_SHOWN_CHARACTERS = 2000
_WHEEL_RECORDS = {"RECORD", "INSTALLER", "REQUESTED", "direct_url.json", "uv_cache.json"}


def package_folder() -> Path:
    """The folder of the package `webxpu`."""
    return Path(webxpu.__path__[0])


def checkout() -> Path | None:
    """The repository this package runs from, or None where it was installed from a wheel."""
    root = package_folder().parent
    return root if (root / "hatch_build.py").is_file() and (root / "kernels").is_dir() else None


def build_wheel(folder: Path) -> Path:
    """Our wheel: built by hatchling in a checkout, put together again from the installed files elsewhere."""
    root = checkout()
    if root is None:
        return _repack(folder)
    asset("tokenizers.mjs")
    asset("tokenizers.LICENSE")
    return _build([sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory"], [], folder, root)


def build_markupsafe() -> Path:
    """MarkupSafe as a pure wheel: its build drops the C part where no compiler works. Built once a locked source."""
    kept = cache_folder() / "built" / read_lock()["markupsafe"].sha256
    found = sorted(kept.glob("*.whl"))
    if found:
        return found[0]
    options = ["--quiet", "--no-deps", "--no-index", "--no-cache-dir", "--no-build-isolation", "--wheel-dir"]
    kept.mkdir(parents=True, exist_ok=True)
    return _build([sys.executable, "-m", "pip", "wheel", *options], [str(asset("markupsafe"))], kept, kept)


def _build(command: list[str], arguments: list[str], folder: Path, where: Path) -> Path:
    """Runs `command FOLDER arguments` with a folder of its own and moves the one pure wheel that comes to `folder`."""
    environment = {**os.environ, "CC": shutil.which("false") or "/bin/false", "SOURCE_DATE_EPOCH": _EPOCH_S}
    with tempfile.TemporaryDirectory(prefix="wheel-", dir=folder) as empty:
        command = [*command, empty, *arguments]
        done = subprocess.run(command, cwd=where, env=environment, capture_output=True, text=True, check=False)
        wheels = sorted(Path(empty).glob("*.whl"))
        if done.returncode != 0 or len(wheels) != 1:
            raise BuildError(f"{' '.join(command)} failed:\n{(done.stdout + done.stderr).strip()[-_SHOWN_CHARACTERS:]}")
        if not wheels[0].name.endswith("-py3-none-any.whl"):
            raise BuildError(f"{' '.join(command)}: the wheel must be pure (py3-none-any), got {wheels[0].name}")
        return wheels[0].replace(folder / wheels[0].name)


def _repack(folder: Path) -> Path:
    """The wheel this package was installed from, as far as the installed files tell."""
    installed = distribution("webxpu")
    files = [f for f in installed.files or () if ".." not in f.parts and "__pycache__" not in f.parts]
    files = [f for f in files if f.name not in _WHEEL_RECORDS]
    info = next(f.parts[0] for f in files if f.parts[0].endswith(".dist-info"))
    wheel = folder / f"webxpu-{installed.version}-py3-none-any.whl"
    record = []
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as out:
        for file in sorted(files, key=str):
            data = Path(str(file.locate())).read_bytes()
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            record.append(f"{file.as_posix()},sha256={digest},{len(data)}")
            out.writestr(zipfile.ZipInfo(file.as_posix(), _EPOCH_ZIP), data, zipfile.ZIP_DEFLATED)
        lines = "\n".join([*record, f"{info}/RECORD,,", ""])
        out.writestr(zipfile.ZipInfo(f"{info}/RECORD", _EPOCH_ZIP), lines, zipfile.ZIP_DEFLATED)
    return wheel
