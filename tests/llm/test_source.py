"""Where a model file lies, and its name and neighbours there."""

from __future__ import annotations

import asyncio
import warnings
from pathlib import Path
from typing import Any

import pytest

from tests.llm.fake_bridge import FakeBridge
from webxpu.errors import FileChanged, ShapeError, StorageWarning
from webxpu.llm.source import LoadReport, Source, loading


@pytest.mark.parametrize(
    ("text", "bridged", "name", "neighbour"),
    [
        (
            "https://host/a%20b/m-00001-of-00002.gguf?sig=1#part",
            {"url": "https://host/a%20b/m-00001-of-00002.gguf?sig=1#part"},
            "m-00001-of-00002.gguf",
            {"url": "https://host/a%20b/other.gguf?sig=1"},
        ),
        ("models/m.gguf", {"url": "models/m.gguf"}, "m.gguf", {"url": "models/other.gguf"}),
        ("m.gguf", {"url": "m.gguf"}, "m.gguf", {"url": "other.gguf"}),
        ("https://host/my%20model.gguf", {"url": "https://host/my%20model.gguf"}, "my model.gguf", None),
        ("https://host", {"url": "https://host"}, "https://host", None),
        ("file:m.gguf", {"file": "m.gguf"}, "m.gguf", {"file": "other.gguf"}),
        ("opfs:models/x/m.gguf", {"opfs": "models/x/m.gguf"}, "m.gguf", {"opfs": "models/x/other.gguf"}),
    ],
)
def test_a_source_knows_its_kind_its_name_and_its_neighbours(
    text: str, bridged: dict[str, str], name: str, neighbour: dict[str, str] | None
) -> None:
    source = Source.parse(text)
    assert source.bridged() == bridged
    assert source.name == name
    if neighbour is not None:
        assert source.sibling("other.gguf").bridged() == neighbour


@pytest.mark.parametrize(
    ("text", "config"),
    [
        ("https://host/a/onnx/m.onnx?sig=1", {"url": "https://host/a/onnx/../config.json?sig=1"}),
        ("m.onnx", {"url": "../config.json"}),
        ("opfs:models/onnx/m.onnx", {"opfs": "models/config.json"}),
        ("opfs:onnx/m.onnx", {"opfs": "config.json"}),
        ("file:/home/me/onnx/m.onnx", {"file": "/home/me/config.json"}),
        ("opfs:m.onnx", None),
        ("file:/m.onnx", None),
    ],
)
def test_a_source_knows_the_folder_above_its_own(text: str, config: dict[str, str] | None) -> None:
    above = Source.parse(text).above()
    assert (above and above.sibling("config.json").bridged()) == config


@pytest.mark.parametrize("wrong", ["", None, 7, b"m.gguf"])
def test_what_is_no_source_is_refused(wrong: Any) -> None:
    with pytest.raises(ShapeError, match=r"^load: source must be a URL, 'file:NAME' or 'opfs:PATH', got "):
        Source.parse(wrong)


@pytest.mark.parametrize("wrong", ["file:", "opfs:", "file:///home/me/m.gguf"])
def test_a_file_source_must_name_a_registered_file_not_a_file_url(wrong: str) -> None:
    with pytest.raises(ShapeError, match=rf"^load: source must name a file after .*, got '{wrong}'$"):
        Source.parse(wrong)


def test_its_reader_asks_the_bridge_for_ranges() -> None:
    class Bridge:
        async def fetch_range(self, source: dict[str, str], start: int, nbytes: int) -> dict[str, Any]:
            return {"bytes": f"{source} {start} {nbytes}".encode(), "total": 99, "etag": None}

    read = Source.parse("file:m.gguf").reader(Bridge())  # type: ignore[arg-type]
    assert asyncio.run(read(5, 7)) == (b"{'file': 'm.gguf'} 5 7", 99)


def test_a_source_of_a_load_says_so_and_so_do_its_neighbours() -> None:
    source = Source("url", "https://host/a/m.gguf", load=7, version="abc")
    assert Source.parse(source) is source
    assert source.bridged() == {"url": "https://host/a/m.gguf", "load": 7, "version": "abc"}
    assert source.sibling("n").bridged() == {"url": "https://host/a/n", "load": 7}
    assert Source("file", "m", load=7).sibling("n").bridged() == {"file": "n", "load": 7}


def load(bridge: FakeBridge, outcomes: list[Any], *, cache: bool = True) -> tuple[Any, LoadReport]:
    """One load whose work does, at each call, what comes next in `outcomes`."""

    async def work(source: Source) -> Any:
        assert source.place == "m"
        assert bridge.loads[source.load or 0] == {"cache": cache}
        outcome = outcomes.pop(0)
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    return asyncio.run(loading(Source("url", "m"), bridge, work, cache=cache))  # type: ignore[arg-type]


@pytest.mark.parametrize("cache", [True, False])
def test_a_load_ends_with_what_was_made_and_where_its_bytes_came_from(cache: bool) -> None:
    bridge = FakeBridge(Path())
    with warnings.catch_warnings(action="error"):
        assert load(bridge, ["made"], cache=cache) == ("made", LoadReport(10, 20, ()))
    assert bridge.loads == {}


def test_a_file_that_changed_is_read_once_more_and_not_twice() -> None:
    bridge, left = FakeBridge(Path()), ["made"]
    assert load(bridge, [FileChanged("first"), *left])[0] == "made"
    with pytest.raises(FileChanged, match=r"^second$"):
        load(bridge, [FileChanged("first"), FileChanged("second"), "made"])
    with pytest.raises(KeyError):
        load(bridge, [KeyError("x"), "made"])
    assert bridge.loads == {}


def test_what_cannot_be_kept_is_a_warning() -> None:
    bridge = FakeBridge(Path())
    bridge.warnings = ["m is not kept: no room"]
    with pytest.warns(StorageWarning, match=r"^m is not kept: no room$"):
        assert load(bridge, ["made"])[1].warnings == ("m is not kept: no room",)
