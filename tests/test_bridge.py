"""The seam to JavaScript, with JavaScript's side scripted: what crosses, what comes back, which error is raised."""

from __future__ import annotations

import asyncio
import importlib
import json
import sys
import types
from typing import ClassVar

import numpy as np
import pytest

from webxpu import errors


class JsException(Exception):
    def __init__(self, name, message):
        super().__init__(f"{name}: {message}")
        self.name, self.message = name, message


class JsProxy:
    """A JavaScript object or array of which only one level is converted at a time."""

    def __init__(self, value):
        self.value = value

    def to_py(self, depth):
        assert depth == 1
        wrap = JsProxy if isinstance(self.value, dict | list) else None
        items = self.value.items() if isinstance(self.value, dict) else enumerate(self.value)
        made = {k: wrap(v) if isinstance(v, dict | list) else v for k, v in items}
        return made if isinstance(self.value, dict) else list(made.values())


class JsBuffer(JsProxy):
    def to_bytes(self):
        return self.value


class Proxy:
    """What create_proxy makes; `alive` are those that were not destroyed."""

    alive: ClassVar[list[Proxy]] = []

    def __init__(self, target):
        self.target = target
        self.alive.append(self)

    def destroy(self):
        self.alive.remove(self)


class Script(types.ModuleType):
    """The registered module: answers with what a test puts in, and notes the calls."""

    def __init__(self):
        super().__init__("webxpu_bridge")
        self.seen = []
        self.answers = {}

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)

        def call(*args):
            self.seen.append((name, args))
            answer = self.answers.get(name)
            if isinstance(answer, Exception):
                raise answer
            return answer(*args) if callable(answer) else answer

        return call


NULL = object()


@pytest.fixture
def script(monkeypatch):
    ffi = types.ModuleType("pyodide.ffi")
    ffi.__dict__.update(JsException=JsException, JsProxy=JsProxy, JsBuffer=JsBuffer, create_proxy=Proxy, jsnull=NULL)
    package = types.ModuleType("pyodide")
    package.ffi = ffi
    registered = Script()
    for name, module in (("pyodide", package), ("pyodide.ffi", ffi), ("webxpu_bridge", registered)):
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.delitem(sys.modules, "webxpu.bridge", raising=False)
    Proxy.alive.clear()
    return registered


@pytest.fixture
def bridge(script):
    return importlib.import_module("webxpu.bridge")


def promise(value):
    async def settle():
        if isinstance(value, Exception):
            raise value
        return value

    return lambda *_: settle()


@pytest.mark.parametrize(
    "name", ["OutOfMemory", "DeviceLost", "DeviceError", "KernelError", "Unsupported", "FetchError", "FileChanged"]
)
def test_an_error_of_the_bridge_is_raised_as_its_class(bridge, script, name):
    cause = JsException(name, "what happened")
    script.answers = {"createBuffer": cause, "sync": promise(cause)}
    with pytest.raises(getattr(errors, name), match=r"^what happened$") as caught:
        bridge.create_buffer(1, 16, "x")
    assert caught.value.__cause__ is cause
    with pytest.raises(getattr(errors, name), match=r"^what happened$") as caught:
        asyncio.run(bridge.sync(1))
    assert caught.value.__cause__ is cause


def test_a_fault_of_javascript_stays_what_it_is(bridge, script):
    script.answers = {"freeBuffer": JsException("TypeError", "x is undefined")}
    with pytest.raises(JsException, match=r"^TypeError: x is undefined$"):
        bridge.free_buffer(1)


def test_reports_become_dicts_and_null_becomes_none(bridge, script):
    script.answers = {
        "nextIds": promise(JsProxy({"ids": [1, 2], "done": True, "reason": NULL})),
        "stats": JsProxy({"bytes": 5, "lost": None, "inner": {"a": [NULL, {"b": NULL}]}}),
    }
    assert asyncio.run(bridge.next_ids(3)) == {"ids": [1, 2], "done": True, "reason": None}
    assert bridge.stats(3) == {"bytes": 5, "lost": None, "inner": {"a": [None, {"b": None}]}}


def test_a_range_comes_back_as_bytes(bridge, script):
    found = JsProxy({"bytes": b"", "total": 9, "etag": NULL})
    found.to_py = lambda **_: {"bytes": JsBuffer(b"GGUF"), "total": 9, "etag": NULL}
    script.answers = {"fetchRange": promise(found)}
    got = asyncio.run(bridge.fetch_range({"url": "u"}, 0, 4))
    assert got == {"bytes": b"GGUF", "total": 9, "etag": None}
    assert script.seen == [("fetchRange", ('{"url": "u"}', 0, 4))]


def test_loads_and_kept_files_cross_as_numbers_and_lists(bridge, script):
    file = {"url": "u", "bytes": 3, "total": 4, "complete": False}
    script.answers = {
        "beginLoad": 7,
        "endLoad": JsProxy({"cachedBytes": 1, "fetchedBytes": 2, "warnings": ["w"]}),
        "cached": promise(JsProxy([file])),
        "forget": promise(1),
    }
    assert bridge.begin_load({"cache": False}) == 7
    assert bridge.end_load(7) == {"cachedBytes": 1, "fetchedBytes": 2, "warnings": ["w"]}
    assert asyncio.run(bridge.cached()) == [file]
    assert (asyncio.run(bridge.forget("u")), asyncio.run(bridge.forget(None))) == (1, 1)
    called = [("beginLoad", ('{"cache": false}',)), ("endLoad", (7,)), ("cached", ()), ("forget", ("u",))]
    assert script.seen == [*called, ("forget", ())]


UNDONE = {
    "openDevice": (lambda bridge: bridge.open_device({}), JsProxy({"device": 3}), ("closeDevice", (3,))),
    "compile": (lambda bridge: bridge.compile(1, {}), 9, ("freeProgram", (9,))),
    "fetchRange": (lambda bridge: bridge.fetch_range({"url": "u", "load": 5}, 0, 4), None, ("abortLoad", (5,))),
    "upload": (
        lambda bridge: bridge.upload(1, {"source": {"url": "u", "load": 5}, "onProgress": print}),
        JsException("AbortError", "aborted"),
        ("abortLoad", (5,)),
    ),
}


@pytest.mark.parametrize("name", UNDONE)
def test_a_cancelled_task_waits_for_javascript_and_undoes_what_it_made(bridge, script, name):
    work, answer, undoing = UNDONE[name]
    proxies = []

    async def run():
        gate = asyncio.Event()

        async def settle():
            await gate.wait()
            proxies.extend(Proxy.alive)  # what JavaScript may still call
            if isinstance(answer, Exception):
                raise answer
            return answer

        script.answers = {name: lambda *_: settle()}
        task = asyncio.ensure_future(work(bridge))
        await asyncio.sleep(0.01)
        task.cancel()
        await asyncio.sleep(0.01)
        assert not task.done()
        gate.set()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(run())
    assert [call[0] for call in script.seen] == [name, undoing[0]]
    assert script.seen[1] == undoing
    assert len(proxies) == (name == "upload")
    assert Proxy.alive == []


def test_the_bytes_of_writes_cross_as_views_that_die_with_the_call(bridge, script):
    data, alive = np.arange(8, dtype=np.uint8), []
    script.answers = {"submit": lambda *_: alive.extend(Proxy.alive)}
    bridge.submit(7, [["write", np.int64(3), 0, data], ["run", 5], ["write", 4, 8, b"abcd"], ["copy", 3, 0, 4, 0, 4]])
    [(name, (device, steps, *views))] = script.seen
    assert (name, device) == ("submit", 7)
    assert json.loads(steps) == [["write", 3, 0, 0], ["run", 5], ["write", 4, 8, 1], ["copy", 3, 0, 4, 0, 4]]
    assert [view.target for view in views] == [data, b"abcd"]
    assert views[0].target is data
    assert alive == views
    assert Proxy.alive == []


@pytest.mark.parametrize("fails", [False, True])
def test_views_and_callbacks_are_released_whatever_happens(bridge, script, fails):
    seen, target = [], np.zeros(4, np.uint8)
    answer = promise(JsException("DeviceError", "no")) if fails else promise(None)
    script.answers = {"read": lambda *_: (seen.extend(Proxy.alive), answer())[1], "upload": answer}

    async def use():
        await bridge.read_into(1, 0, target)
        await bridge.upload(1, {"source": {"url": "u"}, "pieces": [], "onProgress": print})

    if fails:
        with pytest.raises(errors.DeviceError):
            asyncio.run(use())
        with pytest.raises(errors.DeviceError):
            asyncio.run(bridge.upload(1, {"pieces": [], "onProgress": print}))
    else:
        asyncio.run(use())
        name, (device, options, progress) = script.seen[1]
        assert (name, device, json.loads(options)) == ("upload", 1, {"source": {"url": "u"}, "pieces": []})
        assert progress.target is print
    assert seen[0].target is target
    assert Proxy.alive == []


def test_programs_cross_as_json_with_numpys_numbers(bridge, script):
    script.answers = {"compile": promise(9)}
    program = {
        "label": "p",
        "commands": [np.int64(1), np.uint32(2)],
        "pipelines": [{"constants": {"EPS": np.float32(0.5)}}],
    }
    assert asyncio.run(bridge.compile(1, program)) == 9
    bridge.run_now(1, program)
    for _, (_, text) in script.seen:
        assert json.loads(text) == {"label": "p", "commands": [1, 2], "pipelines": [{"constants": {"EPS": 0.5}}]}
    with pytest.raises(TypeError, match=r"does not cross the bridge$"):
        bridge.run_now(1, {"label": object()})


def test_every_call_into_javascript_is_counted(bridge, script):
    script.answers = {"openDevice": promise(JsProxy({"device": 1})), "sync": promise(None), "createTokenizer": 4}
    script.answers["encodeText"] = JsProxy([5, 6])
    before = bridge.calls
    asyncio.run(bridge.open_device({"adapter": None}))
    asyncio.run(bridge.sync(1))
    assert bridge.create_tokenizer("{}", "{}") == 4
    assert bridge.encode_text(4, "hi", True) == [5, 6]
    bridge.free_program(3)
    bridge.abort_loop(3)
    assert bridge.calls - before == len(script.seen) == 6


def test_without_a_registered_module_a_device_must_be_opened_first(bridge, monkeypatch):
    monkeypatch.setitem(sys.modules, "webxpu_bridge", None)
    with pytest.raises(
        errors.DeviceError, match=r"^stats: the bridge to JavaScript is not started; await webxpu\.open_d"
    ):
        bridge.stats(1)


@pytest.fixture
def bare(bridge, script, monkeypatch):
    """A page that registered nothing; a test sets what evaluating our boot script gives."""
    monkeypatch.delitem(sys.modules, "webxpu_bridge")
    code = types.ModuleType("pyodide.code")
    monkeypatch.setitem(sys.modules, "pyodide.code", code)
    return code


def test_a_bare_page_boots_the_modules_of_the_wheel_once(bridge, script, bare):
    started = []
    script.answers = {"openDevice": promise(JsProxy({"device": 1}))}

    async def boot(files):
        started.append(json.loads(files))
        await asyncio.sleep(0)
        return script

    bare.run_js = lambda _: boot

    async def use():
        await asyncio.gather(bridge.open_device({}), bridge.open_device({}))

    asyncio.run(use())
    [files] = started
    assert {"webxpu.mjs", "device.mjs", "loop.mjs", "weights.mjs"} <= files.keys()
    assert "export async function boot" in files["webxpu.mjs"]


def test_a_start_makes_calls_that_are_no_awaits_possible(bridge, script, bare):
    script.answers = {"createTokenizer": 7}

    async def boot(_):
        return script

    bare.run_js = lambda _: boot
    with pytest.raises(errors.DeviceError, match=r"^createTokenizer: the bridge to JavaScript is not started"):
        bridge.create_tokenizer("{}", "{}")
    asyncio.run(bridge.start())
    assert bridge.create_tokenizer("{}", "{}") == 7


def test_a_policy_that_forbids_eval_is_explained(bridge, bare):
    def refuse(text):
        raise JsException("EvalError", "Refused to evaluate a string as JavaScript")

    bare.run_js = refuse
    for _ in range(2):
        with pytest.raises(
            errors.Unsupported, match=r"^webxpu could not start its JavaScript from the wheel.*unsafe-eval"
        ):
            asyncio.run(bridge.open_device({}))
