"""The Python half of the worker, with a scripted model: answers as JSON, pieces as they come, errors as data."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType, SimpleNamespace
from typing import Any

import pytest

from webxpu import worker
from webxpu.errors import FormatError
from webxpu.gpu.target import Gpu
from webxpu.llm.dry import Dry
from webxpu.llm.generate import Logprobs
from webxpu.llm.lookup import Speculation
from webxpu.llm.source import LoadReport
from webxpu.stored import StoredFile

HELLO = [{"role": "user", "content": "Hello"}]


@dataclass
class FakeDevice:
    options: dict[str, Any]
    closed: bool = False
    gpu: Gpu = field(default_factory=lambda: Gpu({"maxBufferSize": 9}, frozenset({"subgroups"}), info={"vendor": "v"}))

    def stats(self):
        return {"buffers": 0}

    def close(self):
        self.closed = True


class FakeTokenizer:
    """One id a character; id 0 begins a text. Every id decodes to its own character."""

    special_ids = frozenset({0})
    special_names: Mapping[str, int] = MappingProxyType({})
    strip_left = 0

    def encode(self, text, *, add_special=False):
        return [0] * add_special + [ord(c) for c in text]

    def encode_parts(self, parts):
        return [i for part in parts for i in ([part] if isinstance(part, int) else self.encode(part))]

    def decode(self, ids, *, skip_special):
        assert not skip_special
        return "".join(chr(i) for i in ids)

    def token_bytes(self, token_id):
        return chr(token_id).encode()


class FakeGeneration:
    """Gives ids two at a time, and stops when it is aborted."""

    def __init__(self, prompt, options):
        self.prompt_ids, self.ids, self.options = list(prompt), [], options
        self.finish_reason, self.timings, self.reused_tokens = None, None, 3
        self.logprobs, self.speculation = [Logprobs(-1.5, [(97, -1.0)])] * options.get("logprobs", 0), None
        if options.get("prompt_lookup"):
            self.speculation = Speculation(steps=3, drafted=4, accepted=2)
        self.aborted = False

    def abort(self):
        self.aborted = True

    def __aiter__(self):
        return self

    async def __anext__(self):
        await asyncio.sleep(0)
        if self.aborted or len(self.ids) >= self.options.get("max_tokens", 4):
            self.finish_reason = "abort" if self.aborted else "length"
            raise StopAsyncIteration
        if self.options.get("fails"):
            raise FormatError("generate: it broke")
        self.ids += [ord("a"), ord("b")]
        return self.ids[-2:]


class FakeModel:
    def __init__(self, source, device, options):
        self.source, self.device, self.options = source, device, options
        self.config, self.capacity = SimpleNamespace(architecture="llama"), 64
        self.tokenizer, self.load_ms = FakeTokenizer(), 12.5
        self.template = SimpleNamespace(
            source="{{ content }}", render=lambda messages, **_: "".join(m["content"] for m in messages)
        )
        self.loaded = LoadReport(3, 4, ("no room",))
        self.freed = self.was_reset = False

    def generate(self, ids, **options):
        self.asked = options
        return FakeGeneration(ids, options)

    async def reset(self):
        self.was_reset = True

    def dispose(self):
        assert not self.device.closed
        self.freed = True


@pytest.fixture
def made(monkeypatch):
    """Devices and models in the order in which they were made."""
    found = SimpleNamespace(devices=[], models=[])

    async def open_device(**options):
        found.devices.append(FakeDevice(options))
        return found.devices[-1]

    async def load(source, *, device, progress, **options):
        progress(5, 10)
        if source.endswith("bad"):
            raise FormatError("m: no GGUF")
        progress(10, 10)
        found.models.append(FakeModel(source, device, options))
        return found.models[-1]

    for name, value in {"open_device": open_device, "load": load, "_model": None, "_device": None}.items():
        monkeypatch.setattr(worker, name, value)
    return found


def ask(message, progress=lambda *_: None):
    return json.loads(asyncio.run(worker.request(json.dumps(message), progress)))


def stream(message):
    async def collect():
        return [json.loads(piece) async for piece in worker.stream(json.dumps(message))]

    return asyncio.run(collect())


def load(source="https://m", **options):
    return ask({"type": "load", "source": source, "device": {"limits": "default"}, "options": options})


def test_a_model_is_loaded_with_its_options_and_described(made):
    stages = []
    message = {
        "type": "load",
        "source": "https://m",
        "device": {"limits": "default"},
        "options": {"context_tokens": 64},
    }
    got = ask(message, lambda *stage: stages.append(stage))
    assert stages == [("header", 0, 0), ("download", 5, 10), ("download", 10, 10), ("compile", 10, 10)]
    model = {"architecture": "llama", "context_tokens": 64, "load_ms": 12.5, "chats": True}
    report = {"cached_bytes": 3, "fetched_bytes": 4, "warnings": ["no room"]}
    assert got["value"]["model"] == {**model, **report}
    assert got["value"]["adapter"] == {"vendor": "v"}
    assert got["value"]["limits"] == {"maxBufferSize": 9}
    assert made.devices[0].options == {"limits": "default"}
    assert made.models[0].options == {"context_tokens": 64}


def test_the_next_model_takes_the_place_of_the_first_and_a_bad_one_does_not(made):
    load()
    assert load("https://bad") == {"error": {"name": "FormatError", "message": "m: no GGUF"}}
    assert (made.devices[1].closed, made.models[0].freed) == (True, False)
    assert ask({"type": "tokens", "of": "A", "add_special": True}) == {"value": [0, 65]}
    load()
    assert (made.models[0].was_reset, made.models[0].freed, made.devices[0].closed) == (True, True, True)
    assert (made.models[1].freed, made.devices[2].closed) == (False, False)


def test_free_gives_everything_back(made):
    load()
    assert ask({"type": "free"}) == {"value": None}
    assert (made.models[0].freed, made.devices[0].closed) == (True, True)
    assert ask({"type": "info"}) == {"value": {"adapter": None, "model": None}}
    assert ask({"type": "tokens", "of": [1], "add_special": False})["error"]["name"] == "ShapeError"


def test_a_device_can_be_opened_without_a_model(made):
    got = ask({"type": "open", "device": {"adapter": "low-power"}})
    assert got["value"]["model"] is None
    assert got["value"]["adapter"] == {"vendor": "v"}
    ask({"type": "open", "device": {}})
    assert [d.closed for d in made.devices] == [True, False]


def test_check_runs_on_the_open_device(made, monkeypatch):
    async def check(device, *, quick, only, progress):
        from webxpu.report import Failure, Report

        assert device is made.devices[0]
        progress(1, 2)
        return Report(failures=[Failure("softmax", "softmax-2x8", "softmax/kernel", f"{quick=} {only=}")])

    monkeypatch.setattr(worker, "check", check)
    ask({"type": "open", "device": {}})
    stages = []
    got = ask({"type": "check", "quick": False, "only": ["pad"]}, lambda *stage: stages.append(stage))
    assert got["value"]["passed"] is False
    assert [f["text"] for f in got["value"]["failures"]] == ["softmax-2x8 by softmax/kernel: quick=False only=['pad']"]
    assert stages == [("check", 1, 2)]


@pytest.mark.parametrize(
    ("message", "prompt"),
    [
        ({"type": "generate", "prompt": "hi"}, [0, 104, 105]),
        ({"type": "generate", "prompt": [7, 8]}, [7, 8]),
        ({"type": "chat", "messages": [{"role": "user", "content": "yo"}]}, [121, 111]),
    ],
)
def test_a_reply_streams_its_pieces_and_then_its_result(made, message, prompt):
    load()
    *pieces, last = stream({"id": 1, "options": {"max_tokens": 4}, **message})
    assert pieces == [{"text": "ab", "tokens": 2}] * 2
    assert last["value"] == {
        "text": "abab",
        "prompt_ids": prompt,
        "ids": [97, 98, 97, 98],
        "finish_reason": "length",
        "reused_tokens": 3,
    }
    assert worker._replies == {}


@pytest.mark.parametrize("message", [{"type": "generate", "prompt": "hi"}, {"type": "chat", "messages": HELLO}])
def test_options_that_json_does_not_know_and_what_they_give(made, message):
    load()
    options = {
        "max_tokens": 8, "stop": ["ba"], "logit_bias": {"5": 1.5, "6": None}, "dry": {"multiplier": 2.0},
        "logprobs": 1, "prompt_lookup": True,
    }  # fmt: skip
    *pieces, last = stream({"id": 1, "options": options, **message})
    assert "".join(piece["text"] for piece in pieces) == "a"
    asked = made.models[0].asked
    assert asked["logit_bias"] == {5: 1.5, 6: -math.inf}
    assert asked["dry"] == Dry(multiplier=2.0)
    assert "stop" not in asked
    value = last["value"]
    assert (value["finish_reason"], value["stop_string"]) == ("stop", "ba")
    assert value["logprobs"] == [{"logprob": -1.5, "top": [[97, -1.0]]}]
    assert value["speculation"] == {"steps": 3, "drafted": 4, "accepted": 2, "switched_off": False}


def test_a_reply_that_fails_ends_with_the_error(made):
    assert stream({"id": 1, "type": "generate", "prompt": "x", "options": {}}) == [
        {"error": {"name": "ShapeError", "message": "this worker has no model; load one first"}}
    ]
    load()
    got = stream({"id": 1, "type": "generate", "prompt": "x", "options": {"fails": True}})
    assert got == [{"error": {"name": "FormatError", "message": "generate: it broke"}}]
    got = stream({"id": 1, "type": "chat", "messages": [], "options": {}})
    assert got[0]["error"]["name"] == "ShapeError"
    assert worker._replies == {}


def test_abort_ends_only_the_reply_of_that_number(made):
    load()

    async def both():
        async def collect(number):
            found = []
            message = {"id": number, "type": "generate", "prompt": "x", "options": {"max_tokens": 40}}
            async for piece in worker.stream(json.dumps(message)):
                found.append(json.loads(piece))
                if number == 1 and len(found) == 2:
                    worker.abort(1)
                    worker.abort(99)
            return found[-1]["value"]["finish_reason"]

        return await asyncio.gather(collect(1), collect(2))

    assert asyncio.run(both()) == ["abort", "length"]


def test_an_unknown_request_and_a_fault_are_errors_too(made, capsys):
    assert ask({"type": "dance"})["error"]["message"].endswith("got 'dance'")
    assert ask({"type": "load"})["error"] == {"name": "KeyError", "message": "'source'"}
    assert "Traceback" in capsys.readouterr().err


def test_a_load_is_aborted_by_its_number_and_the_model_before_stays(made, monkeypatch):
    load()

    async def run():
        async def endless(source, *, device, progress, **options):
            await asyncio.Event().wait()

        monkeypatch.setattr(worker, "load", endless)
        message = {"id": 7, "type": "load", "source": "https://n", "device": {}, "options": {}}
        asked = asyncio.ensure_future(worker.request(json.dumps(message), lambda *_: None))
        await asyncio.sleep(0.01)
        worker.abort(6)
        await asyncio.sleep(0.01)
        assert not asked.done()
        worker.abort(7)
        return json.loads(await asked)

    assert asyncio.run(run()) == {"error": {"name": "AbortError", "message": "load: it was aborted"}}
    assert [device.closed for device in made.devices] == [False, True]
    assert worker._loads == {}
    assert ask({"type": "info"})["value"]["model"] is not None


def test_kept_files_are_listed_and_forgotten(monkeypatch):
    async def cached():
        return [StoredFile("https://m", 3, 4, complete=False)]

    async def forget(url):
        return 1 if url == "https://m" else 0

    monkeypatch.setattr(worker, "cached", cached)
    monkeypatch.setattr(worker, "forget", forget)
    file = {"url": "https://m", "nbytes": 3, "total_bytes": 4, "complete": False}
    assert ask({"type": "cached"}) == {"value": [file]}
    assert ask({"type": "forget", "url": "https://m"}) == {"value": 1}
