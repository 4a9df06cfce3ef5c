"""A server that answers byte ranges badly on purpose. It stands on another origin than the page."""

from __future__ import annotations

import re
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

FILE = bytes((i * i * 31 + (i >> 8) * 7 + 11) & 255 for i in range(20_000))
LARGE = bytes(range(251)) * 12_000  # 3 MB, to have gaps that are not worth reading


class Handler(BaseHTTPRequestHandler):
    """/<mode>/<argument>: dribble/<bytes>, norange/, break/<at byte>, broken/<at byte>, changed/<at byte>,
    status/<code>, capped/<bytes>, nocors/, shifted/, large/, private/."""

    protocol_version = "HTTP/1.1"
    seen: Counter[str]
    ranges: list[str]

    def do_HEAD(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_GET(self) -> None:
        _, mode, argument, *_ = [*self.path.split("/"), ""]
        self.seen[self.path] += 1
        asked = re.match(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        self.ranges.append(f"{mode} {self.headers.get('Range')}")
        if mode == "status":
            self.send_response(int(argument))
            self._headers(mode, 0, None)
            return
        data = LARGE if mode == "large" else FILE
        start, end = (int(asked[1]), min(int(asked[2]) + 1, len(data))) if asked else (0, len(data))
        if mode == "norange":
            start, end, asked = 0, len(data), None
        if start >= len(data):
            self.send_response(416)
            self._headers(mode, 0, f"bytes */{len(data)}")
            return
        if mode == "capped":
            end = min(end, start + int(argument))
        told = start + 1 if mode == "shifted" else start
        self.send_response(206 if asked else 200)
        self._headers(mode, end - start, f"bytes {told}-{end - 1}/{len(data)}" if asked else None)
        self._body(mode, argument, data, start, end)

    def _headers(self, mode: str, length: int, content_range: str | None) -> None:
        self.send_header("Content-Length", str(length))
        self.send_header("Cache-Control", "no-store")
        self.send_header("ETag", f'"{self.seen[self.path] if mode == "changed" else 1}"')
        if content_range:
            self.send_header("Content-Range", content_range)
        if mode != "nocors":
            self.send_header("Access-Control-Allow-Origin", "*")
            if mode != "private":
                self.send_header("Access-Control-Expose-Headers", "Content-Range, ETag")
        self.end_headers()

    def _body(self, mode: str, argument: str, data: bytes, start: int, end: int) -> None:
        breaks = mode == "broken" or (mode in ("break", "changed") and self.seen[self.path] == 1)
        stop = min(end, int(argument)) if breaks and argument else end
        step = int(argument) if mode == "dribble" else 1 << 16
        for at in range(start, stop, step):
            self.wfile.write(data[at : min(at + step, stop)])
            if mode == "dribble":
                self.wfile.flush()
                time.sleep(0.0005)
        if stop < end:
            time.sleep(0.2)  # a browser drops what it has not read yet when the connection breaks
            self.close_connection = True

    def log_message(self, *args: object) -> None:
        """Says nothing: the tests count what they need."""


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        if not isinstance(sys.exc_info()[1], ConnectionError):  # a browser may hang up when it has enough
            super().handle_error(request, client_address)


@contextmanager
def faulty_server() -> Iterator[tuple[str, type[Handler]]]:
    handler = type("Counting", (Handler,), {"seen": Counter(), "ranges": []})
    server = Server(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://localhost:{server.server_port}", handler
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
