"""A localhost server for the site folder: byte ranges, right MIME types, a strict Content-Security-Policy.

`with serving(folder) as server: page.goto(server.url)` runs it in a thread of its own. Files outside the folder
are served only where `share` was called for one, under a path nobody can guess. With `blobs=True` a page may put and
take bytes under `/blobs/<name>`, which are `server.blobs`: that is how tests hand data over.
"""

from __future__ import annotations

import asyncio
import secrets
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from aiohttp import web
from aiohttp.abc import AbstractStreamWriter

# Pages load nothing from elsewhere. 'wasm-unsafe-eval' compiles WebAssembly (Pyodide) and allows no other eval. Models
# are the one thing a user brings from anywhere: an address is typed in, perhaps of a machine on the same network, and a
# download may be redirected to another host. So connections may go anywhere; what arrives is data, never script.
CSP = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self' 'wasm-unsafe-eval'",
        "worker-src 'self'",
        "connect-src 'self' https: http:",
        "style-src 'self'",
        "img-src 'self' data: blob:",
        "font-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)
# Written out, because the machine's own tables differ: a module is refused unless it is JavaScript.
MIME = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".mjs": "text/javascript; charset=utf-8",
    ".json": "application/json; charset=utf-8",
    ".wgsl": "text/plain; charset=utf-8",
    ".txt": "text/plain; charset=utf-8",
    ".wasm": "application/wasm",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".webmanifest": "application/manifest+json",
    ".whl": "application/zip",
    ".zip": "application/zip",
}
_BLOB_BYTES = 1 << 30
_START_S = 10


class _File(web.FileResponse):
    """A file whose ranges obey an If-Range of its ETag; aiohttp knows only dates there and would send the range."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, headers={"Content-Type": MIME.get(path.suffix, "application/octet-stream")})
        self._file = path

    async def prepare(self, request: web.BaseRequest) -> AbstractStreamWriter | None:
        condition = request.headers.get("If-Range", "")
        if '"' in condition and condition != _etag(self._file):
            request = request.clone(headers={name: value for name, value in request.headers.items() if name != "Range"})
        return await super().prepare(request)


def _etag(path: Path) -> str:
    """As aiohttp makes it: another after each write, and a strong one."""
    found = path.stat()
    return f'"{found.st_mtime_ns:x}-{found.st_size:x}"'


class Server:
    """A running server. `url` is its address without a trailing slash; `str(server)` is the same."""

    def __init__(
        self,
        folders: Sequence[Path],
        csp: str | None,
        origin: str | None,
        blobs: bool,
        mounts: Mapping[str, Path] | None = None,
    ) -> None:
        self.folders = [folder.resolve(strict=True) for folder in folders]
        self.mounts = {name: folder.resolve(strict=True) for name, folder in (mounts or {}).items()}
        self.headers = {
            "Cache-Control": "no-cache",
            "X-Content-Type-Options": "nosniff",
            "Referrer-Policy": "no-referrer",
        }
        if csp is not None:
            self.headers["Content-Security-Policy"] = csp
        if origin is not None:
            self.headers["Access-Control-Allow-Origin"] = origin
            self.headers["Access-Control-Expose-Headers"] = "Content-Range, ETag, Accept-Ranges"
        self.url = ""
        self.blobs: dict[str, bytes] | None = {} if blobs else None
        self.requests: list[tuple[str, str, int]] = []
        self._shared: dict[str, Path] = {}

    def __str__(self) -> str:
        return self.url

    def share(self, path: Path) -> str:
        """Serves one file from anywhere, or the files of a folder; returns its URL, which holds a random token. That of
        a folder ends with a "/"."""
        token = secrets.token_urlsafe(16)
        whole = self._shared[token] = path.resolve(strict=True)
        return f"{self.url}/shared/{token}/{quote(whole.name)}{'/' if whole.is_dir() else ''}"

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        if self.blobs is not None and request.path.startswith("/blobs/"):
            return await self._blob(request, self.blobs)
        if request.method not in ("GET", "HEAD"):
            raise web.HTTPMethodNotAllowed(request.method, ["GET", "HEAD"])
        if request.path.startswith("/shared/"):
            path = self._find_shared(*request.path.split("/", 4)[2:])
        else:
            path = self._find(request.path)
        if path is None:
            raise web.HTTPNotFound(text=f"404: {request.path} is not here\n")
        if path.is_dir():
            raise web.HTTPMovedPermanently(f"{quote(request.path)}/")
        return _File(path)

    def _find_shared(self, token: str, name: str = "", inside: str = "") -> Path | None:
        """A file that is shared, or one of a folder that is. Beside it, under other names, there is nothing."""
        path = self._shared.get(token)
        if path is None or name != path.name:
            return None
        if not path.is_dir():
            return path
        found = path / inside
        return found.resolve() if "/" not in inside and "\\" not in inside and found.is_file() else None

    def _find(self, url_path: str) -> Path | None:
        """The file or folder a path names. What resolves outside its root (`..`, a symbolic link) is not found."""
        relative = url_path.lstrip("/")
        if "\0" in relative or "\\" in relative:
            return None
        first, _, rest = relative.partition("/")
        places = [(root, relative) for root in self.folders]
        if first in self.mounts:
            places.insert(0, (self.mounts[first], rest))
        for root, below in places:
            path = (root / below).resolve()
            if url_path.endswith("/"):
                path = path / "index.html"
            if path.is_relative_to(root) and path.exists():
                return path
        return None

    async def _blob(self, request: web.Request, blobs: dict[str, bytes]) -> web.StreamResponse:
        name = request.path.removeprefix("/blobs/")
        if request.method in ("PUT", "POST"):
            blobs[name] = await request.read()
            return web.Response(status=204)
        if request.method != "GET" or name not in blobs:
            raise web.HTTPNotFound(text=f"404: no blob {name!r}\n")
        return web.Response(body=blobs[name], content_type="application/octet-stream")

    def application(self) -> web.Application:
        """The aiohttp application; every answer, errors too, carries the headers and is noted in `requests`."""

        async def prepare(request: web.Request, response: web.StreamResponse) -> None:
            response.headers.update(self.headers)
            self.requests.append((request.method, request.path, response.status))

        application = web.Application(client_max_size=_BLOB_BYTES)
        application.router.add_route("*", "/{path:.*}", self._handle)
        application.on_response_prepare.append(prepare)
        return application


@contextmanager
def serving(
    *folders: Path,
    port: int = 0,
    host: str = "127.0.0.1",
    csp: str | None = CSP,
    allow_origin: str | None = None,
    blobs: bool = False,
    mounts: Mapping[str, Path] | None = None,
) -> Iterator[Server]:
    """Serves folders (the first that has a file wins) until the block ends. Port 0 takes any free one.

    `mounts` serves a folder under a name of the first level, `{"bridge": ...}` as `/bridge/`;
    `csp` None sends no Content-Security-Policy; `allow_origin` sets the CORS header; `blobs` opens `/blobs/`. Raises
    OSError where the port is taken.
    """
    server = Server(folders, csp, allow_origin, blobs, mounts)
    loop = asyncio.new_event_loop()
    started = threading.Event()
    failure: list[BaseException] = []

    async def start() -> web.AppRunner:
        runner = web.AppRunner(server.application(), access_log=None, shutdown_timeout=0.5)
        await runner.setup()
        site = web.TCPSite(runner, host, port)
        await site.start()
        server.url = f"http://{host}:{runner.addresses[0][1]}"
        return runner

    def run() -> None:
        asyncio.set_event_loop(loop)
        try:
            runner = loop.run_until_complete(start())
        except BaseException as error:  # handed to the caller's thread below, whatever it is
            failure.append(error)
            started.set()
            return
        started.set()
        loop.run_forever()
        loop.run_until_complete(runner.cleanup())

    thread = threading.Thread(target=run, name="webxpu-server", daemon=True)
    thread.start()
    try:
        if not started.wait(_START_S):
            raise TimeoutError(f"the server did not start within {_START_S} s")
        if failure:
            raise failure[0]
        yield server
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
