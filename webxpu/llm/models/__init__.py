"""Model architectures: `<architecture>.py`, found by the name that a file gives in `general.architecture`. Each has
`TRAITS`, `weights` and `forward`; files that begin with `_` are what they share."""

from __future__ import annotations

import importlib
import pkgutil
from types import ModuleType

from webxpu.errors import Unsupported


def architectures() -> list[str]:
    """The names that `find` knows."""
    return sorted(module.name for module in pkgutil.iter_modules(__path__) if not module.name.startswith("_"))


def find(name: str) -> ModuleType:
    """The module of an architecture. Raises Unsupported for one that is not here."""
    if name not in architectures():
        raise Unsupported(f"load: general.architecture must be one of {', '.join(architectures())}, got {name!r}")
    return importlib.import_module(f"{__name__}.{name}")
