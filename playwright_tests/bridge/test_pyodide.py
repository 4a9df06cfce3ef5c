"""The real thing: Python in the worker that `client.mjs` starts, and Python on a page that only installed the wheel."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser

from webxpu.host.serve import Server, serving
from webxpu.host.site import build_site

TINY = Path(__file__).parents[2] / "tests" / "goldens" / "tiny_llama.gguf"


@pytest.fixture(scope="module")
def site() -> Iterator[Server]:
    with serving(build_site(model=False)) as server:
        yield server


@pytest.fixture(scope="module")
def worker(browser: Browser, site: Server) -> Iterator[Callable[..., Any]]:
    """Runs JavaScript in a page that has a `client`, under the site's Content-Security-Policy."""
    page = browser.new_page()
    faults: list[str] = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)
    page.goto(f"{site}/run/")
    page.evaluate("""async () => { globalThis.client = await (await import("../bridge/client.mjs")).start(); }""")

    def run(body: str, argument: Any = None) -> Any:
        return page.evaluate(f"async (arg) => {{ const client = globalThis.client; {body} }}", argument)

    yield run
    page.close()
    assert not [fault for fault in faults if "Content Security Policy" in fault]


def test_the_worker_opens_a_device_and_its_ops_agree_with_numpy(worker):
    got = worker("""
        const before = await client.info();
        const opened = await client.open({limits: "default"});
        const done = [];
        const onProgress = ({stage, loaded, total}) => done.push([stage, loaded, total]);
        const report = await client.check({only: ["activation", "gather", "pad", "softmax"], onProgress});
        const stats = (await client.info()).stats;
        return {before, opened, report, last: done.at(-1), buffers: stats.buffers};
    """)
    assert got["before"] == {"adapter": None, "model": None}
    assert got["opened"]["limits"]["maxStorageBuffersPerShaderStage"] == 8
    assert got["report"]["failures"] == []
    assert {row["op"] for row in got["report"]["rows"]} == {"activation", "gather", "pad", "softmax"}
    asked = got["report"]["cases"] + len(got["report"]["skipped"])
    assert got["last"] == ["check", asked, asked]
    assert got["buffers"] == 0, "tensors that nobody holds give their buffers back"


def test_a_model_that_cannot_be_loaded_is_explained(worker, site):
    got = worker(
        """
        const failed = async (source) => {
            try { await client.load(source); return null; } catch (error) { return [error.name, error.message]; }
        };
        return [await failed({url: "../models/none.gguf"}), await failed(new File(["no model at all"], "x.gguf"))];
    """
    )
    assert got[0][0] == "FetchError"
    assert got[0][1] == f"{site}/models/none.gguf: at byte 0: the server answered with HTTP status 404 Not Found"
    assert got[1][0] == "FormatError"
    assert re.match(r"x\.gguf: ", got[1][1])


def test_a_dropped_model_file_is_loaded_and_replies(worker, site):
    got = worker(
        """
        const file = new File([await (await fetch(arg)).arrayBuffer()], "tiny.gguf");
        const stages = [];
        const info = await client.load(file, {context_tokens: 128, onProgress: (p) => stages.push(p)});
        const replies = [];
        for (let turn = 0; turn < 2; turn++) {
            const reply = client.generate([5, 6, 7, 8], {max_tokens: 20, stop_ids: []});
            let tokens = 0;
            for await (const piece of reply) tokens += piece.tokens;
            replies.push({...reply.result, tokens});
        }
        const long = client.generate([9, 10, 11], {max_tokens: 100, stop_ids: []});
        await long.next();
        client.abort();
        for await (const _ of long);
        const ids = await client.tokens("ab");
        const back = await client.tokens(ids);
        await client.free();
        return {info, stages, replies, aborted: long.result, text: back, after: await client.info()};
    """,
        site.share(TINY),
    )
    size = TINY.stat().st_size
    assert got["info"]["model"]["architecture"] == "llama"
    assert got["info"]["model"]["context_tokens"] == 128
    stages = [s["stage"] for s in got["stages"]]
    assert list(dict.fromkeys(stages)) == ["python", "header", "download", "compile"]
    assert 0 < got["stages"][-1]["loaded"] == got["stages"][-1]["total"] <= size
    first, second = got["replies"]
    assert first["ids"] == second["ids"]
    assert len(first["ids"]) == first["tokens"] == 20
    assert first["finish_reason"] == "length"
    assert second["reused_tokens"] == 3
    assert got["aborted"]["finish_reason"] == "abort"
    assert len(got["aborted"]["ids"]) < 100
    assert got["text"] == "ab"
    assert got["after"] == {"adapter": None, "model": None}


BARE = """async ({wheel, body}) => {
  if (!globalThis.pyodide) {
    const { loadPyodide } = await import("/pyodide/pyodide.mjs");
    globalThis.pyodide = await loadPyodide({ indexURL: "/pyodide/" });
    await pyodide.loadPackage("micropip", { messageCallback: () => {} });
    pyodide.globals.set("wheel", wheel);
    await pyodide.runPythonAsync("import micropip\\nawait micropip.install(wheel)");
  }
  return pyodide.runPythonAsync(body);
}"""
ONE_OP = """
import json
import numpy as np
import webxpu
from webxpu import bridge

device = await webxpu.open_device()
x = np.arange(12, dtype=np.float32).reshape(3, 4)
on_gpu = await webxpu.ops.softmax(device.tensor(x)).numpy()
parts = dict.fromkeys(("normalizer", "pre_tokenizer", "post_processor", "decoder"))
model = {"type": "BPE", "vocab": {"a": 0}, "merges": []}
tokenizer = bridge.create_tokenizer(json.dumps({"added_tokens": [], **parts, "model": model}), "{}")
device.close()
json.dumps([bool(np.allclose(on_gpu, webxpu.ops.softmax(x), atol=1e-6)), bridge.encode_text(tokenizer, "aa", False)])
"""
FORBIDDEN = """
import webxpu
from webxpu import bridge

bridge._module = None
try:
    await webxpu.open_device()
    text = "opened"
except webxpu.errors.Unsupported as e:
    text = str(e)
text
"""


def test_a_page_that_only_installed_the_wheel_has_the_bridge_unless_its_policy_forbids_eval(browser):
    with serving(build_site(model=False), csp=None) as server:
        page = browser.new_page()
        page.goto(f"{server}/site.json")
        wheel = f"{server}/{json.loads(page.inner_text('body'))['wheel']}"
        assert json.loads(page.evaluate(BARE, {"wheel": wheel, "body": ONE_OP})) == [True, [0, 0]]
        page.evaluate("""() => document.head.append(Object.assign(document.createElement("meta"), {
            httpEquiv: "Content-Security-Policy", content: "script-src 'self' 'wasm-unsafe-eval'"}))""")
        text = page.evaluate(BARE, {"wheel": wheel, "body": FORBIDDEN})
        assert re.match(r"webxpu could not start its JavaScript from the wheel .*'unsafe-eval'", text)
        page.close()
