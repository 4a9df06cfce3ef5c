"""One browser for all the tests; its flags come from `CHROME_FLAGS`, or are SwiftShader's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, Playwright, sync_playwright

from playwright_tests.python_page import PythonPage
from webxpu.host.browser import launch
from webxpu.host.gpu_page import GpuPage, serving_cases
from webxpu.host.serve import Server, serving
from webxpu.host.site import build_site

# How many op cases ran, by kernel variant and device limits; shown at the end.
RAN: Counter[tuple[str, str]] = Counter()
# Times that are worth seeing and are held to nothing; shown at the end.
SEEN: list[str] = []


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--engine-model",
        choices=("tiny", "smollm2"),
        default="tiny",
        help="the model of playwright_tests/engine: a tiny random one, or the default model, for a real GPU",
    )


@pytest.fixture(scope="session")
def playwright() -> Iterator[Playwright]:
    with sync_playwright() as started:
        yield started


@pytest.fixture(scope="session")
def browser(playwright: Playwright) -> Iterator[Browser]:
    started = launch(playwright)
    yield started
    started.close()


@pytest.fixture(scope="session")
def op_server() -> Iterator[Server]:
    """Serves the page that runs op cases."""
    with serving_cases() as server:
        yield server


@pytest.fixture(scope="session")
def op_page(browser: Browser) -> Iterator[Page]:
    page = browser.new_page()
    yield page
    page.close()


@pytest.fixture(scope="session", params=["adapter", "default"])
def gpu_page(request: pytest.FixtureRequest, op_page: Page, op_server: Server) -> Iterator[GpuPage]:
    """A device with all that the adapter offers, then one with WebGPU's least limits."""
    opened = GpuPage(op_page, op_server, request.param)
    yield opened
    opened.close()


@pytest.fixture(scope="session")
def site_server() -> Iterator[Server]:
    with serving(build_site()) as server:
        yield server


@pytest.fixture(scope="session")
def python(browser: Browser, site_server: Server) -> Iterator[PythonPage]:
    """A page with Python and the package in it."""
    page = browser.new_page()
    yield PythonPage(page, site_server.url)
    page.close()


@pytest.fixture
def count_run() -> Counter[tuple[str, str]]:
    return RAN


@pytest.fixture
def seen() -> list[str]:
    """Takes lines for the end of the report."""
    return SEEN


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if SEEN:
        terminalreporter.section("seen on this machine, with this adapter")
        for line in SEEN:
            terminalreporter.write_line(line)
    if not RAN:
        return
    terminalreporter.section("op cases on the GPU")
    for (variant, limits), count in sorted(RAN.items()):
        terminalreporter.write_line(f"{count:6}  {variant}  (limits: {limits})")
    terminalreporter.write_line(f"{RAN.total():6}  in all")
