"""The bridge alone in a page: no Pyodide, its modules as they lie in the repository."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from webxpu.data import data_folder
from webxpu.host.browser import launch_options
from webxpu.host.serve import serving

Lab = Callable[..., Any]
PRELUDE = 'const { make, boot, caught, wait, bytesOf, scale, counter, idAt, drain } = await import("/toy.mjs");'


def lab_of(page: Page, url: str) -> Lab:
    """A function that runs JavaScript in a page: `lab(body, argument)`, with `bridge` and `device` open."""
    page.goto(f"{url}/lab.html")

    def lab(body: str, argument: Any = None, options: str = "{}") -> Any:
        opened = f"const bridge = await make(); const opened = await bridge.openDevice({options});"
        close = "try { return await run(); } finally { try { bridge.closeDevice(device); } catch {} }"
        script = f"async (arg) => {{ {PRELUDE} {opened} const device = opened.device; "
        return page.evaluate(f"{script} const run = async () => {{ {body} }}; {close} }}", argument)

    return lab


@pytest.fixture(scope="session")
def prelude() -> str:
    return PRELUDE


@pytest.fixture(scope="session")
def lab_url() -> Iterator[str]:
    with serving(Path(__file__).parent, data_folder("bridge")) as server:
        yield server.url


@pytest.fixture(scope="session")
def lab(browser: Browser, lab_url: str) -> Iterator[Lab]:
    page = browser.new_page()
    yield lab_of(page, lab_url)
    page.close()


@pytest.fixture
def crashing(playwright, lab_url):
    """A page in a browser of its own, because a crash takes the devices of every page with it."""
    with playwright.chromium.launch(**launch_options()) as browser:
        page = browser.new_page()
        page.goto(f"{lab_url}/lab.html")
        yield page, lambda: browser.new_browser_cdp_session().send("Browser.crashGpuProcess")
