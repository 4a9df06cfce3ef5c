"""A server of model files that change, break off and are counted; it serves the lab page too, from the same origin."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path

from playwright_tests.bridge.faulty import Server
from webxpu.data import data_folder
from webxpu.host.serve import MIME

BLOCK_BYTES = 1 << 16
# A browser drops what it has not read yet when a connection breaks.
BREAK_S = 0.2


@dataclass
class File:
    """headers    what names its version: ETag, Last-Modified, or nothing
    cuts       offsets at which the connection breaks, each once
    ends       the server sends nothing from here on, whatever it says
    status     answered instead of the file, where it is not 200
    pause_s    before each block of 64 KiB
    asked      the Range headers of all requests; `conditions` their If-Range
    on_cut     called when a connection was broken
    """

    data: bytes
    headers: dict[str, str] = field(default_factory=lambda: {"ETag": '"1"'})
    cuts: list[int] = field(default_factory=list)
    ends: int | None = None
    status: int = 200
    pause_s: float = 0.0
    expose: bool = True
    asked: list[str] = field(default_factory=list)
    conditions: list[str | None] = field(default_factory=list)
    new: File | None = None  # takes its place after the first cut


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    files: dict[str, File]

    def do_GET(self) -> None:
        if self.path in self.files:
            self._model(self.files[self.path])
        else:
            self._page()

    def _page(self) -> None:
        for folder in (Path(__file__).parent, data_folder("bridge")):
            path = folder / self.path.lstrip("/")
            if path.is_file():
                data = path.read_bytes()
                self._start(200, {"Content-Length": str(len(data)), "Content-Type": MIME[path.suffix]})
                self.wfile.write(data)
                return
        self._start(404, {"Content-Length": "0"})

    def _start(self, status: int, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()

    def _model(self, file: File) -> None:
        asked = re.match(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        condition = self.headers.get("If-Range")
        file.asked.append(self.headers.get("Range", ""))
        file.conditions.append(condition)
        shared = {"Access-Control-Allow-Origin": "*", "Cache-Control": "no-cache"}
        if file.expose:
            shared["Access-Control-Expose-Headers"] = "Content-Range, ETag"
        if file.status != 200:
            self._start(file.status, {**shared, "Content-Length": "0"})
            return
        if asked is None or (condition is not None and condition != file.headers.get("ETag")):
            start, end = 0, len(file.data)
            self._start(200, {**shared, **file.headers, "Content-Length": str(end)})
        elif int(asked[1]) >= len(file.data):
            self._start(
                416, {**shared, **file.headers, "Content-Range": f"bytes */{len(file.data)}", "Content-Length": "0"}
            )
            return
        else:
            start, end = int(asked[1]), min(int(asked[2]) + 1, len(file.data))
            told = {"Content-Range": f"bytes {start}-{end - 1}/{len(file.data)}", "Content-Length": str(end - start)}
            self._start(206, {**shared, **file.headers, **told})
        self._body(file, start, end)

    def _body(self, file: File, start: int, end: int) -> None:
        cut = next((at for at in file.cuts if start < at < end), None)
        stop = min(at for at in (cut, file.ends, end) if at is not None)
        for at in range(start, stop, BLOCK_BYTES):
            time.sleep(file.pause_s)
            self.wfile.write(file.data[at : min(at + BLOCK_BYTES, stop)])
        if stop < end:
            time.sleep(BREAK_S)
            self.close_connection = True
        if cut is not None and stop == cut:
            file.cuts.remove(cut)
            if file.new is not None:
                self.files[self.path] = file.new

    def log_message(self, *args: object) -> None:
        """Says nothing: the tests count what they need."""


@contextmanager
def model_server() -> Iterator[tuple[int, dict[str, File]]]:
    """Its port, and its files by path; a test puts in what it needs."""
    handler = type("Serving", (Handler,), {"files": {}})
    server = Server(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server.server_port, handler.files
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
