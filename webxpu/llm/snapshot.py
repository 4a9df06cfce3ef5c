"""Conversations as bytes, to be kept across page reloads.

    8 bytes   "webxpuKV"
    uint32    version
    uint32    bytes of the header
    header    JSON: the model's identity, how its cache keeps numbers, the window, counts
    int32     the ids, all of them
    pages     of each layer, by cache position, as they lie on the GPU
    32 bytes  SHA-256 of all before

Numbers are little-endian.
"""

from __future__ import annotations

import hashlib
import io
import json
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from webxpu.errors import ContextOverflow, FormatError, ShapeError, Unsupported
from webxpu.llm.engine import Engine
from webxpu.llm.ledger import Ledger
from webxpu.ops.cache import PAGE_TOKENS

MAGIC = b"webxpuKV"
VERSION = 1
_HEAD = struct.Struct("<8sII")
_DIGEST_BYTES = 32
# The most that is read back or written at once, unless a single page is larger.
PIECE_BYTES = 16 << 20


@dataclass(frozen=True)
class Snapshot:
    """What a snapshot says; `pages` is what the cache held."""

    header: dict[str, Any]
    ids: list[int]
    pages: memoryview

    @property
    def position(self) -> int:
        """Tokens in the cache."""
        return len(self.ids) - int(self.header["evicted"])


async def save(engine: Engine, ledger: Ledger) -> bytes:
    """The bytes of a sequence. Nothing of the engine may run meanwhile."""
    header = {**_about(engine), "ids": len(ledger.ids), "evicted": ledger.evicted, "pages": len(ledger.table)}
    text = json.dumps(header).encode()
    out = io.BytesIO()
    out.write(_HEAD.pack(MAGIC, VERSION, len(text)) + text)
    out.write(np.asarray(ledger.ids, "<i4").tobytes())
    for layer in engine.cache.layers:
        size = _page_bytes(layer)
        for pages in _pieces(ledger.table, size):
            gathered = engine.device.empty((len(pages) * size // 4,), "uint32")
            try:
                engine.submit(
                    [
                        ["copy", layer.handle, layer.offset + page * size, gathered.handle, i * size, size]
                        for i, page in enumerate(pages)
                    ]
                )
                piece = np.empty(len(pages) * size, np.uint8)
                await engine.device.bridge.read_into(gathered.handle, gathered.offset, piece)
            finally:
                gathered.free()
            out.write(piece.data)
    out.write(hashlib.sha256(out.getbuffer()).digest())
    return out.getvalue()


def parse(saved: bytes) -> Snapshot:
    """What bytes hold. Raises ShapeError for what are no bytes, FormatError where they are no snapshot or not whole,
    Unsupported for another version."""
    try:
        whole = memoryview(saved).cast("B")
    except TypeError as e:
        raise ShapeError(f"restore: saved must be bytes, got {saved!r}") from e
    if len(whole) < _HEAD.size or bytes(whole[:8]) != MAGIC:
        raise FormatError(f"restore: the bytes must begin with {MAGIC!r}, got {bytes(whole[:8])!r}")
    _, version, length = _HEAD.unpack(whole[: _HEAD.size])
    if version != VERSION:
        raise Unsupported(f"restore: the snapshot's version must be {VERSION}, got {version}")
    body, digest = whole[:-_DIGEST_BYTES], whole[-_DIGEST_BYTES:]
    if len(body) < _HEAD.size + length or hashlib.sha256(body).digest() != bytes(digest):
        raise FormatError(f"restore: the {len(whole)} bytes of the snapshot were cut or changed: their SHA-256 differs")
    start = _HEAD.size + length
    header = _header(bytes(body[_HEAD.size : start]), len(body) - start)
    end = start + 4 * header["ids"]
    return Snapshot(header, np.frombuffer(body[start:end], "<i4").tolist(), body[end:])


def _header(text: bytes, nbytes: int) -> dict[str, Any]:
    """The header before so many bytes. Raises FormatError where its counts do not fit each other or those."""
    try:
        header = json.loads(text)
        names = ("ids", "evicted", "pages", "sinks", "layers", "page_tokens", "page_bytes")
        counts = [header[name] for name in names]
    except (ValueError, KeyError, TypeError) as e:
        raise FormatError(f"restore: the snapshot's header must have all counts, got {text[:200]!r}") from e
    fits = all(type(count) is int and count >= 0 for count in counts)
    if fits:
        ids, evicted, pages, sinks, layers, page_tokens, page_bytes = counts
        fits = evicted == 0 or 0 < sinks <= ids - evicted
        fits = fits and page_tokens > 0 and pages == -(-(ids - evicted) // page_tokens)
        fits = fits and nbytes == 4 * ids + layers * pages * page_bytes
    if not fits:
        raise FormatError(f"restore: the snapshot's counts must fit its {nbytes} bytes, got {header!r}")
    return dict(header)


def check(found: Snapshot, engine: Engine) -> None:
    """Raises Unsupported unless a snapshot is of this model and its kind of cache, ContextOverflow where it is too long
    for the context."""
    for name, here in _about(engine).items():
        if found.header.get(name) != here:
            raise Unsupported(
                f"restore: the snapshot's {name} must be this model's {here!r}, got {found.header.get(name)!r}"
            )
    if found.position > engine.cache.capacity:
        raise ContextOverflow(found.position, engine.cache.capacity)


async def restore(found: Snapshot, engine: Engine, ledger: Ledger) -> None:
    """Puts a snapshot that was checked into pages of a sequence. Nothing of the engine may run meanwhile."""
    ledger.adopt(found.ids, found.header["evicted"])
    try:
        start = 0
        for layer in engine.cache.layers:
            size = _page_bytes(layer)
            for pages in _pieces(ledger.table, size):
                data = np.frombuffer(found.pages[start : start + len(pages) * size], np.uint8)
                start += len(data)
                engine.submit(
                    [
                        ["write", layer.handle, layer.offset + page * size, data[i * size : (i + 1) * size]]
                        for i, page in enumerate(pages)
                    ]
                )
        await engine.device.sync()
    except BaseException:
        ledger.clear()
        raise
    ledger.commit(found.ids)


def _about(engine: Engine) -> dict[str, Any]:
    """What must be equal where a snapshot is put back."""
    cache = engine.cache
    return {
        "identity": engine.identity,
        "kv": cache.kv,
        "sinks": cache.sinks,
        "layers": len(cache.layers),
        "page_tokens": PAGE_TOKENS,
        "page_bytes": _page_bytes(cache.layers[0]),
    }


def _page_bytes(layer: Any) -> int:
    return int(layer.nbytes // layer.shape[0])


def _pieces(table: list[int], size: int) -> Iterator[list[int]]:
    """The pages in runs of at most PIECE_BYTES."""
    count = max(1, PIECE_BYTES // size)
    for start in range(0, len(table), count):
        yield table[start : start + count]
