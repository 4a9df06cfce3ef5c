"""Where a model file lies, and its name and neighbours there."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from webxpu.errors import ShapeError
from webxpu.llm.source import Source


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
