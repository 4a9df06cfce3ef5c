"""The model that the tests of the running engine use: `--engine-model smollm2` takes the default one, on a real GPU."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Playwright

from playwright_tests.engine.engine_page import EnginePage, longer
from playwright_tests.python_page import PythonPage
from tests.goldens import tiny_engine
from tests.llm import tiny
from webxpu.host.assets import DEFAULT_MODEL
from webxpu.host.browser import launch_options
from webxpu.host.fetch import fetch
from webxpu.host.serve import Server

GOLDENS = Path(__file__).parents[2] / "tests" / "goldens"


@dataclass(frozen=True)
class EngineModel:
    """A GGUF file, a prompt's ids, and those that follow it greedily, as transformers has them."""

    path: Path
    prompt: list[int]
    greedy: list[int]


@pytest.fixture(scope="session")
def engine_model(request: pytest.FixtureRequest) -> EngineModel:
    if request.config.getoption("--engine-model") == "tiny":
        golden = tiny.golden()
        return EngineModel(tiny.FILE, golden["prompt"].tolist(), golden["greedy"].tolist())
    golden = json.loads((GOLDENS / "smollm2.json").read_text("utf-8"))["prompts"][0]
    return EngineModel(fetch([DEFAULT_MODEL])[DEFAULT_MODEL], golden["prompt_ids"], golden["greedy_ids"])


@pytest.fixture(scope="session")
def engine(
    playwright: Playwright, site_server: Server, engine_model: EngineModel, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[EnginePage]:
    path, golden = engine_model.path, None
    if path == tiny.FILE:
        path = tmp_path_factory.mktemp("engine") / "tiny.gguf"
        golden = json.loads(tiny_engine.FILE.read_text("utf-8"))
        path.write_bytes(longer(tiny.FILE.read_bytes()))
    with playwright.chromium.launch(**launch_options()) as browser:
        python = PythonPage(browser.new_page(), site_server.url)
        cdp = browser.new_browser_cdp_session()
        page = EnginePage(
            python, site_server.share(path), engine_model.prompt, golden, lambda: cdp.send("Browser.crashGpuProcess")
        )
        page.load(context_tokens=tiny_engine.CONTEXT)
        yield page
