"""Files of a converted checkpoint, hashed by chunks as they are written."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from webxpu.formats.converted import CHUNK_BYTES


class HashedFile:
    """A file that is written from its start to its end, with a hash for every chunk."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("xb")
        self._hash = hashlib.sha256()
        self._sums: list[str] = []
        self.nbytes = 0

    def __enter__(self) -> HashedFile:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def write(self, data: bytes) -> None:
        self._file.write(data)
        left = memoryview(data)
        while left:
            room = CHUNK_BYTES - self.nbytes % CHUNK_BYTES
            part = left[:room]
            self._hash.update(part)
            self.nbytes += len(part)
            left = left[room:]
            if self.nbytes % CHUNK_BYTES == 0:
                self._sums.append(self._hash.hexdigest())
                self._hash = hashlib.sha256()

    def fill(self, nbytes: int) -> None:
        """Zeros."""
        self.write(bytes(nbytes))

    def entry(self) -> dict[str, Any]:
        """What the manifest says of the file."""
        rest = [self._hash.hexdigest()] if self.nbytes % CHUNK_BYTES else []
        return {"bytes": self.nbytes, "sha256": self._sums + rest}
