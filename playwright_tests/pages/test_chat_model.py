"""The chat page with everything behind it: the worker, Python, the engine, a model on the GPU."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Playwright, expect

from playwright_tests.pages.chat_page import ChatPage
from webxpu.host.browser import launch
from webxpu.host.serve import Server, serving
from webxpu.host.site import build_site

GOLDENS = Path(__file__).parents[2] / "tests" / "goldens"
SLOW_MS = 240_000  # SwiftShader: half a second a token and more, on two processors that others may share
WATCH = """() => {
  globalThis.seen = { reply: [], progress: [] };
  const note = (list, text) => text && text !== list.at(-1) && list.push(text);
  new MutationObserver(() => {
    note(seen.reply, document.querySelector(".reply .prose")?.textContent);
    note(seen.progress, document.getElementById("progress-figures").textContent);
  }).observe(document.body, { childList: true, characterData: true, subtree: true });
}"""


@pytest.fixture(scope="module")
def site() -> Iterator[Server]:
    with serving(build_site()) as server:
        yield server


@pytest.fixture
def patient() -> Iterator[None]:
    """Expectations wait for what SwiftShader computes."""
    expect.set_options(timeout=SLOW_MS)
    yield
    expect.set_options(timeout=5000)


def golden_answer(question: str) -> str:
    """What the model answers, greedily: see `how` in the golden file."""
    prompts = json.loads((GOLDENS / "smollm2.json").read_text("utf-8"))["prompts"]
    [prompt] = [p for p in prompts if question in json.dumps(p)]
    return str(prompt["text_skip_special"])


def test_the_model_of_the_site_answers_streams_stops_and_comes_back_after_a_reload(
    browser: Browser, site: Server, patient: None
) -> None:
    context = browser.new_context()
    context.set_default_timeout(SLOW_MS)
    try:
        chat = ChatPage(context, site.url)
        chat.open()
        chat.page.evaluate(WATCH)
        chat.ask("What is the capital of Japan?")
        chat.answered()
        expect(chat.replies).to_have_text(golden_answer("What is the capital of Japan?"))
        seen = chat.page.evaluate("seen")
        assert len(seen["reply"]) > 2, "the reply came in pieces"
        assert all(re.fullmatch(r"[\d.]+ MB of 9\d\.\d MB · \d+ %", figures) for figures in seen["progress"])
        assert len(seen["progress"]) > 2, "the load was shown as it went"
        expect(chat.page.locator("#speed")).to_have_text(re.compile(r"tokens/s$"))

        chat.ask("Count from one to one hundred.")
        expect(chat.replies.last).to_have_text(re.compile(r"\w"))
        chat.page.get_by_role("button", name="Stop").click()
        chat.answered(2)
        expect(chat.page.locator(".reply .meta").last).to_contain_text("Stopped")

        chat.page.reload()
        chat.ready()
        expect(chat.replies.first).to_have_text(golden_answer("What is the capital of Japan?"))
        expect(chat.prompt).to_be_focused()
        chat.clean()
    finally:
        context.close()


def open_tiny(context: BrowserContext, url: str, model: str) -> ChatPage:
    """The page with a small model loaded by its address, and replies kept short."""
    chat = ChatPage(context, url)
    chat.open()
    chat.page.get_by_role("button", name="Settings").click()
    chat.page.get_by_label("Longest reply, in tokens").fill("8")
    chat.page.keyboard.press("Escape")
    chat.page.get_by_role("button", name="Choose a model").click()
    chat.page.get_by_label("From an address").fill(model)
    chat.page.keyboard.press("Enter")
    chat.ready()
    expect(chat.page.locator("#model-name")).to_have_text("tiny_llama")
    return chat


def test_a_second_tab_a_bad_file_a_reload_and_a_crashed_gpu_leave_pages_that_answer(
    playwright: Playwright, site: Server, patient: None
) -> None:
    """A browser of its own: its GPU process is crashed, and every page of a browser shares that."""
    browser = launch(playwright)
    try:
        context = browser.new_context()
        context.set_default_timeout(SLOW_MS)
        model = site.share(GOLDENS / "tiny_llama.gguf")
        chat = open_tiny(context, site.url, model)
        other = open_tiny(context, site.url, model)
        chat.ask("One?")
        other.ask("At the same time?")
        chat.answered()
        other.answered()
        other.clean()
        other.page.close()

        bad = {"name": "notes.gguf", "mimeType": "text/html", "buffer": b"<!DOCTYPE html><p>not a model</p>"}
        chat.page.locator("#model-file").set_input_files(bad)
        expect(chat.notice).to_contain_text("This file isn't a model webxpu can read")
        expect(chat.notice.locator("[data-part=detail]")).to_contain_text("notes.gguf")
        chat.ask("Two?")
        chat.answered(2)

        chat.page.reload()
        chat.ready()
        chat.ask("Three?")
        chat.answered(3)

        browser.new_browser_cdp_session().send("Browser.crashGpuProcess")
        expect(chat.notice.filter(has_text="The GPU stopped")).to_be_visible()
        chat.page.get_by_role("button", name="Reload model").click()
        chat.ready()
        expect(chat.notice).to_have_count(0)
        chat.ask("Four?")
        chat.answered(4)
        chat.clean()
    finally:
        browser.close()
