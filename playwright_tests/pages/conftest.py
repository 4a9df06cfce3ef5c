"""The pages as they lie in the repository, over the real server, with a scripted client in the bridge's place."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext

from playwright_tests.pages.chat_page import ChatPage
from webxpu.data import data_folder
from webxpu.host.fetch import fetch
from webxpu.host.serve import serving

OpenChat = Callable[..., ChatPage]


@pytest.fixture(scope="session")
def pages_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a site of pages: no engine, no Pyodide, no model."""
    overlay = tmp_path_factory.mktemp("pages")
    for folder in ("vendor", "bridge"):
        (overlay / folder).mkdir()
    for path in fetch(["marked.esm.js", "purify.es.mjs"]).values():
        shutil.copy(path, overlay / "vendor")
    shutil.copy(Path(__file__).with_name("fake_client.mjs"), overlay / "bridge" / "client.mjs")
    with serving(overlay, data_folder("web")) as server:
        yield server.url


@pytest.fixture
def open_chat(browser: Browser, pages_url: str) -> Iterator[OpenChat]:
    """`open_chat(fake, path, init, **context options)` opens a page; at the end all of them must be clean."""
    contexts: list[BrowserContext] = []
    pages: list[ChatPage] = []

    def open_page(fake: dict[str, Any] | None = None, path: str = "/chat/", init: str = "", **options: Any) -> ChatPage:
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 800}, **options})
        contexts.append(context)
        page = ChatPage(context, pages_url)
        pages.append(page)
        page.page.add_init_script(f"globalThis.fake = {json.dumps(fake or {})}; {init}")
        page.open(path)
        return page

    yield open_page
    try:
        for page in pages:
            page.clean()
    finally:
        for context in contexts:
            context.close()


@pytest.fixture
def chat(open_chat: OpenChat) -> ChatPage:
    """The chat page with the served model loaded."""
    page = open_chat({"loadMs": 0, "pieceMs": 1})
    page.load()
    return page
