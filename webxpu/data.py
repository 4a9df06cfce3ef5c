"""Where the package's data lies: `webxpu/_data` in an installed wheel, the repository's folders in a checkout."""

from __future__ import annotations

from pathlib import Path


def data_folder(name: str) -> Path:
    """The folder `kernels`, `bridge` or `web`. Raises FileNotFoundError where the installation is broken."""
    package = Path(__file__).parent
    for folder in (package / "_data" / name, package.parent / name):
        if folder.is_dir():
            return folder
    raise FileNotFoundError(f"webxpu has no data folder {name!r} beside {package}; reinstall the package")
