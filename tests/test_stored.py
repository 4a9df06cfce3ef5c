"""What `webxpu.cached` and `webxpu.forget` say of the bridge's answers."""

from __future__ import annotations

import asyncio
import sys
import types
from typing import Any

import pytest

import webxpu
from webxpu.errors import ShapeError
from webxpu.stored import StoredFile


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    bridge, seen = types.ModuleType("webxpu.bridge"), []

    async def cached() -> list[dict[str, Any]]:
        return [{"url": "https://m", "bytes": 3, "total": 4, "complete": False}]

    async def forget(url: str | None) -> int:
        seen.append(url)
        return 2

    bridge.cached, bridge.forget = cached, forget  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "webxpu.bridge", bridge)
    return seen


def test_kept_files_are_listed_and_removed(asked: list[Any]) -> None:
    assert asyncio.run(webxpu.cached()) == [StoredFile("https://m", 3, 4, complete=False)]
    assert asyncio.run(webxpu.forget("https://m")) == 2
    assert asyncio.run(webxpu.forget()) == 2
    assert asked == ["https://m", None]


@pytest.mark.parametrize("wrong", ["", 7, b"https://m"])
def test_what_is_no_address_forgets_nothing(asked: list[Any], wrong: Any) -> None:
    with pytest.raises(ShapeError, match=r"^forget: url must be an address or None, got "):
        asyncio.run(webxpu.forget(wrong))
    assert asked == []
