"""Loads in Pyodide: what comes from storage, and what is left of one that is cut, changed, cancelled or too large."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest

from playwright_tests.bridge.model_server import File, model_server
from playwright_tests.engine.conftest import EngineModel
from playwright_tests.python_page import PythonPage
from tests.llm import tiny
from webxpu.host.serve import Server

TOKENS = 4
LOOK = "bytes=0-0"  # the one request that asks whether a file is still the same
LOAD = """
import asyncio, gc, warnings
device = kept.get("loading device")
if device is None:
    device = kept["loading device"] = await webxpu.open_device()

def ledger():
    gc.collect()
    stats = device.stats()
    return [stats["bytes"], stats["buffers"], stats["programs"]]

async def load(**options):
    '''The ids of a load, or its error, what it says of itself, and what it left on the GPU.'''
    before, found = ledger(), {}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            model = await webxpu.load(given["url"], device=device, context_tokens=256, **options)
            generation = model.generate(given["prompt"], max_tokens=given["tokens"], stop_ids=[])
            async for _ in generation:
                pass
            found |= {"ids": generation.ids, **vars(model.loaded)}
            model.dispose()
        except Exception as e:
            found["error"] = [type(e).__name__, str(e)]
    said = [str(w.message) for w in caught if issubclass(w.category, webxpu.errors.StorageWarning)]
    return {**found, "said": said, "left": [b - a for a, b in zip(before, ledger())]}

async def stored():
    return [vars(file) for file in await webxpu.cached() if file.url == given["url"]]
"""


class Loads:
    """A server with the model, and a page that loads it from there."""

    def __init__(self, python: PythonPage, origin: str, files: dict[str, File], model: EngineModel) -> None:
        self.python, self.files, self.model = python, files, model
        self.data = model.path.read_bytes()
        self.url = f"{origin}/m/model.gguf"
        self.origin = str(python.page.evaluate("location.origin"))

    def put(self, **options: Any) -> File:
        self.files["/m/model.gguf"] = file = File(self.data, **options)
        return file

    def run(self, body: str, **given: Any) -> Any:
        given = {"url": self.url, "prompt": self.model.prompt, "tokens": TOKENS, **given}
        return self.python.run(LOAD + body, **given)

    def right(self, load: dict[str, Any]) -> bool:
        assert load["left"] == [0, 0, 0]
        return bool(load["ids"] == self.model.greedy[:TOKENS])


@pytest.fixture(scope="module")
def server(python: PythonPage, engine_model: EngineModel) -> Iterator[Loads]:
    with model_server() as (port, files):
        opened = Loads(python, f"http://127.0.0.1:{port}", files, engine_model)
        yield opened
        opened.run("await webxpu.forget(given['url'])\nkept.pop('loading device').close()")


@pytest.fixture
def loads(server: Loads) -> Loads:
    """Nothing of the model is stored."""
    server.put()
    server.run("await webxpu.forget(given['url'])")
    return server


def test_a_second_load_fetches_no_weights_and_a_forgotten_file_is_gone(loads: Loads) -> None:
    file, size = loads.put(), len(loads.data)
    first, stored = loads.run("return await load(), await stored()")
    assert loads.right(first)
    assert first["said"] == []
    assert first["fetched_bytes"] >= 0.99 * size
    assert stored[0]["nbytes"] == first["fetched_bytes"]
    assert stored[0]["total_bytes"] == size
    file.asked.clear()
    second, forgot, left = loads.run("return await load(), await webxpu.forget(given['url']), await stored()")
    assert loads.right(second)
    assert file.asked == [LOOK]
    assert second["fetched_bytes"] == 0
    assert second["cached_bytes"] >= 0.99 * size
    assert (forgot, left) == (1, [])


def test_a_load_past_the_quota_goes_on_without_storage_and_warns(loads: Loads) -> None:
    session = loads.python.page.context.new_cdp_session(loads.python.page)
    quota = {"origin": loads.origin, "quotaSize": len(loads.data) // 2}
    session.send("Storage.overrideQuotaForOrigin", quota)
    try:
        load, stored = loads.run("return await load(), await stored()")
    finally:
        session.send("Storage.overrideQuotaForOrigin", {"origin": loads.origin})
    assert loads.right(load)
    [said] = load["said"]
    assert said.startswith(f"{loads.url} is not kept: no room in this browser's storage (")
    assert load["warnings"] == [said]
    assert stored == []


def test_a_truncated_download_raises_and_the_next_load_goes_on_where_it_ended(loads: Loads) -> None:
    size = len(loads.data)
    file = loads.put(ends=size - 10_000)
    cut, stored = loads.run("return await load(), await stored()")
    assert cut["error"][0] == "FetchError"
    assert cut["error"][1].startswith(f"{loads.url}: at byte {size - 10_000}: the connection broke")
    assert cut["left"] == [0, 0, 0]
    assert [kept["complete"] for kept in stored] == [False]
    file.ends = None
    file.asked.clear()
    assert loads.right(loads.run("return await load()"))
    assert file.asked[0] == LOOK
    assert [asked.split("-")[0] for asked in file.asked[1:]] == [f"bytes={size - 10_000}"]


def test_a_file_that_changes_midway_is_loaded_anew(loads: Loads) -> None:
    new = File(loads.data, {"ETag": '"2"'})
    file = loads.put(cuts=[len(loads.data) * 3 // 4], new=new)
    load, stored = loads.run("return await load(), await stored()")
    assert loads.right(load)
    assert file.cuts == []
    assert new.asked[1].startswith("bytes=0-"), "from the header on"
    assert load["fetched_bytes"] == stored[0]["nbytes"]


def test_a_cancelled_load_stops_its_download_and_leaves_nothing(loads: Loads) -> None:
    file = loads.put(pause_s=0.05)
    done, after, load = loads.run("""
seen = []
before = ledger()
task = asyncio.ensure_future(webxpu.load(given["url"], device=device, progress=lambda *at: seen.append(at)))
while not seen:
    await asyncio.sleep(0.005)
task.cancel()
try:
    await task
except asyncio.CancelledError:
    seen.append("cancelled")
return seen[-1], [b - a for a, b in zip(before, ledger())], seen[-2]
""")
    assert done == "cancelled"
    assert after == [0, 0, 0]
    assert load[0] < load[1]
    file.pause_s = 0
    assert loads.right(loads.run("return await load()"))


def huge(path: Path) -> Path:
    """The tiny model with a feed-forward layer that no buffer of WebGPU's least size holds; the file is a hole."""
    reader = gguf.GGUFReader(tiny.FILE)
    writer = gguf.GGUFWriter(path, "llama")
    wide = 600_000
    for field in reader.fields.values():
        if field.name.startswith(("GGUF.", "general.architecture")):
            continue
        value = wide if field.name == "llama.feed_forward_length" else field.contents()
        writer.add_key_value(field.name, value, *field.types[:2])
    for tensor in reader.tensors:
        shape = [wide if size == 512 else int(size) for size in reversed(tensor.shape.tolist())]
        writer.add_tensor_info(tensor.name, shape, np.dtype(np.float32), 4 * math.prod(shape))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_ti_data_to_file()
    writer.close()
    with path.open("r+b") as file:
        file.truncate(8 << 30)
    return path


def test_a_model_that_does_not_fit_raises_and_gives_all_memory_back(
    python: PythonPage, site_server: Server, tmp_path: Path
) -> None:
    error, counts = python.run(
        """
device = await webxpu.open_device(limits="default")
before = device.stats()
try:
    await webxpu.load(given["url"], device=device, cache=False)
    error = None
except webxpu.errors.OutOfMemory as e:
    error = str(e)
after = device.stats()
device.close()
return error, [[s["bytes"], s["buffers"], s["programs"]] for s in (before, after)] + [after["peakBytes"]]
""",
        url=site_server.share(huge(tmp_path / "huge.gguf")),
    )
    assert "are over the device's maxBufferSize of" in error
    assert counts[0] == counts[1] == [0, 0, 0]
    assert counts[2] > 0, "some of it had been allocated"
