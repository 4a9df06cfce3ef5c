"""The one seam to JavaScript: `webxpu.gpu.seam.Bridge` over the modules in `bridge/`, for Pyodide 0.27.7 and later.

A worker that webxpu serves registers them as `webxpu_bridge` before Python starts. On a page that only installed the
wheel they are taken out of it at the first `await`, which needs `eval`. Structures cross as JSON and bytes as views of
Python's own memory, so no JavaScript proxy outlives a call.
"""

from __future__ import annotations

import asyncio
import importlib
import json
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any

import numpy as np
import pyodide.ffi as ffi
from numpy.typing import NDArray

from webxpu import errors
from webxpu.data import data_folder

# Calls from Python into JavaScript so far.
calls = 0

# JavaScript's null: None in older Pyodides, a value of its own in newer ones.
_NULL = getattr(ffi, "jsnull", None)
_module: Any = None
_booting: asyncio.Future[Any] | None = None

_BOOT = """
async (sources) => {
  const files = JSON.parse(sources);
  const load = async (name) => {
    const url = URL.createObjectURL(new Blob([files[name]], { type: "text/javascript" }));
    try {
      return await import(url);
    } finally {
      URL.revokeObjectURL(url);
    }
  };
  const { boot } = await load("webxpu.mjs");
  return boot(load, { tokenizers: files["tokenizers.mjs"] ? await load("tokenizers.mjs") : undefined });
}
"""


async def start() -> None:
    """Makes sure that there is a bridge, for calls that are no awaits. Raises Unsupported where it can't be."""
    await _ready()


async def open_device(options: Mapping[str, Any]) -> dict[str, Any]:
    await _ready()
    opening = _await("openDevice", json.dumps(dict(options)))
    report: dict[str, Any] = await _to_its_end(opening, undo=lambda opened: close_device(opened["device"]))
    return report


def close_device(device: int) -> None:
    _call("closeDevice", device)


def stats(device: int) -> dict[str, Any]:
    counted: dict[str, Any] = _plain(_call("stats", device))
    return counted


async def sync(device: int) -> None:
    await _await("sync", device)


def create_buffer(device: int, nbytes: int, label: str) -> int:
    return int(_call("createBuffer", device, nbytes, label))


def free_buffer(buffer: int) -> None:
    _call("freeBuffer", buffer)


async def read_into(buffer: int, offset: int, target: NDArray[np.uint8]) -> None:
    """Fills `target` with the bytes of a buffer from `offset` on."""
    proxy = ffi.create_proxy(target)
    try:
        await _await("read", buffer, offset, target.nbytes, proxy)
    finally:
        proxy.destroy()


async def compile(device: int, program: Mapping[str, Any]) -> int:
    compiling = _await("compile", device, json.dumps(program, default=_number))
    return int(await _to_its_end(compiling, undo=free_program))


def run_now(device: int, program: Mapping[str, Any]) -> None:
    _call("runNow", device, json.dumps(program, default=_number))


def free_program(program: int) -> None:
    _call("freeProgram", program)


def submit(device: int, steps: Sequence[Sequence[Any]]) -> None:
    """Steps ["write", buffer, offset, bytes], ["copy", ...] and ["run", program] in one call; bytes are not copied."""
    data: list[Any] = []
    named: list[Sequence[Any]] = []
    for step in steps:
        if step[0] == "write":
            named.append([*step[:3], len(data)])
            data.append(step[3])
        else:
            named.append(step)
    proxies = [ffi.create_proxy(item) for item in data]
    try:
        _call("submit", device, json.dumps(named, default=_number), *proxies)
    finally:
        for proxy in proxies:
            proxy.destroy()


async def profile(program: int, repeats: int) -> dict[str, Any]:
    return await _report("profile", program, repeats)


def open_loop(device: int, options: Mapping[str, Any]) -> int:
    return int(_call("openLoop", device, json.dumps(options, default=_number)))


async def next_ids(loop: int) -> dict[str, Any]:
    return await _report("nextIds", loop)


def abort_loop(loop: int) -> None:
    _call("abortLoop", loop)


async def close_loop(loop: int) -> dict[str, Any]:
    return await _report("closeLoop", loop)


def begin_load(options: Mapping[str, Any]) -> int:
    """A load: sources with this handle as "load" are read in one version and, where "cache" is true, kept."""
    return int(_call("beginLoad", json.dumps(dict(options))))


def end_load(load: int) -> dict[str, Any]:
    """{"cachedBytes", "fetchedBytes", "warnings"}."""
    report: dict[str, Any] = _plain(_call("endLoad", load))
    return report


async def cached() -> list[dict[str, Any]]:
    """{"url", "bytes", "total", "complete"} of each file that is kept."""
    await _ready()
    files: list[dict[str, Any]] = await _await("cached")
    return files


async def forget(url: str | None) -> int:
    """Removes one kept file or, for None, all; how many those were."""
    await _ready()
    return int(await _await("forget", url) if url is not None else await _await("forget"))


async def fetch_range(source: Mapping[str, Any], start: int, nbytes: int) -> dict[str, Any]:
    """{"bytes", "total", "etag"}: fewer bytes where the source ends before; total and etag are None where not told."""
    await _ready()
    fetching = _await("fetchRange", json.dumps(dict(source)), start, nbytes)
    found: dict[str, Any] = await _to_its_end(fetching, abort=_aborting(source))
    return found


async def upload(device: int, options: Mapping[str, Any]) -> None:
    """`onProgress` in options is called with (bytes loaded, bytes in all)."""
    progress = options.get("onProgress")
    proxy = None if progress is None else ffi.create_proxy(progress)
    plain = {key: value for key, value in options.items() if key != "onProgress"}
    try:
        uploading = _await("upload", device, json.dumps(plain, default=_number), proxy)
        await _to_its_end(uploading, abort=_aborting(options.get("source", {})))
    finally:
        if proxy is not None:
            proxy.destroy()


def create_tokenizer(tokenizer_json: str, config_json: str) -> int:
    return int(_call("createTokenizer", tokenizer_json, config_json))


def encode_text(tokenizer: int, text: str, add_special: bool) -> list[int]:
    return [int(i) for i in _plain(_call("encodeText", tokenizer, text, add_special))]


def _call(name: str, *args: Any) -> Any:
    global calls
    if _module is None and not _registered():
        raise errors.DeviceError(f"{name}: the bridge to JavaScript is not started; await webxpu.open_device() first")
    calls += 1
    try:
        return getattr(_module, name)(*args)
    except ffi.JsException as e:
        kind = _class_of(e)
        if kind is None:
            raise
        raise kind(str(e.message)) from e


async def _await(name: str, *args: Any) -> Any:
    promise = _call(name, *args)
    try:
        return _plain(await promise)
    except ffi.JsException as e:
        kind = _class_of(e)
        if kind is None:
            raise
        error = kind(str(e.message))
        if isinstance(error, errors.FetchError):
            error.missing = bool(getattr(e, "missing", False))
        raise error from e


async def _report(name: str, *args: Any) -> dict[str, Any]:
    found: dict[str, Any] = await _await(name, *args)
    return found


async def _to_its_end(
    work: Coroutine[Any, Any, Any],
    *,
    abort: Callable[[], None] | None = None,
    undo: Callable[[Any], None] | None = None,
) -> Any:
    """Awaits work in JavaScript, which a cancelled task can't stop: it is aborted, awaited, and what it made undone
    before the cancellation goes on, so that nothing writes into what is freed next."""
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        if abort is not None:
            abort()
        await asyncio.wait([task])
        if task.exception() is None and undo is not None:
            undo(task.result())
        raise


def _aborting(source: Mapping[str, Any]) -> Callable[[], None] | None:
    """Ends all that the load of a source reads."""
    load = source.get("load")
    return None if load is None else lambda: _call("abortLoad", load)


def _class_of(error: Any) -> type[Exception] | None:
    """The class of webxpu.errors that a JavaScript error's name says; None for a fault of JavaScript's own."""
    kind = getattr(errors, str(error.name), None)
    return kind if isinstance(kind, type) and issubclass(kind, Exception) else None


def _plain(value: Any) -> Any:
    """A JavaScript value as Python's own: dicts, lists, numbers, None for null and undefined."""
    if value is None or value is _NULL:
        return None
    if isinstance(value, ffi.JsBuffer):
        return value.to_bytes()
    if isinstance(value, ffi.JsProxy):
        value = value.to_py(depth=1)
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list) else value


def _number(value: Any) -> int | float:
    """NumPy's numbers as JSON's."""
    if isinstance(value, np.integer):
        return int(value)
    if isinstance(value, np.floating):
        return float(value)
    raise TypeError(f"{value!r} does not cross the bridge")


def _registered() -> bool:
    """Takes up the bridge that the page has registered, if it has."""
    global _module
    try:
        _module = importlib.import_module("webxpu_bridge")
    except ModuleNotFoundError as e:
        if e.name != "webxpu_bridge":
            raise
        return False
    return True


async def _ready() -> None:
    """Makes sure that there is a bridge. Raises Unsupported where the page's policy forbids to start it."""
    global _module, _booting
    if _module is not None or _registered():
        return
    if _booting is None:
        _booting = asyncio.ensure_future(_boot())
    try:
        _module = await _booting
    finally:
        _booting = None


async def _boot() -> Any:
    from pyodide.code import run_js

    folder = data_folder("bridge")
    files = {path.name: path.read_text("utf-8") for path in folder.glob("*.mjs")}
    vendored = folder.parent / "vendor" / "tokenizers.mjs"
    if vendored.is_file():
        files[vendored.name] = vendored.read_text("utf-8")
    try:
        return await run_js(_BOOT)(json.dumps(files))
    except ffi.JsException as e:
        raise errors.Unsupported(
            f"webxpu could not start its JavaScript from the wheel ({e}). A page whose Content-Security-Policy allows "
            "neither 'unsafe-eval' nor blob: scripts must register it instead: registerJsModule('webxpu_bridge', "
            "await boot(...)) with the files of webxpu/_data/bridge, as bridge/worker.mjs does."
        ) from e
