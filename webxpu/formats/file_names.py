"""Names of files in a file: it may name its neighbours, and never reaches any other one by a path or an address."""

from __future__ import annotations

_SEPARATORS = frozenset("/\\:?#%")


def is_neighbour(name: object) -> bool:
    """Whether a value names a file of the same folder. Addresses lose control characters, and spaces at their end."""
    if not isinstance(name, str) or name.strip() in ("", ".", ".."):
        return False
    return name.isprintable() and not _SEPARATORS & set(name)
