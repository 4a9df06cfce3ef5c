"""The chat page with everything behind it: the worker, Python, the engine, a model on the GPU."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Playwright, expect

from playwright_tests.pages.chat_page import ChatPage
from webxpu.host.browser import launch
from webxpu.host.serve import serving
from webxpu.host.site import build_site

GOLDENS = Path(__file__).parents[2] / "tests" / "goldens"
TINY = GOLDENS / "tiny_llama.gguf"
SLOW_MS = 240_000  # SwiftShader: half a second a token and more, on two processors that others may share
GROWTH = """() => {
  globalThis.seen = [];
  new MutationObserver(() => {
    const text = document.querySelector(".reply .prose")?.textContent;
    if (text && text !== seen.at(-1)) seen.push(text);
  }).observe(document.getElementById("thread"), { childList: true, characterData: true, subtree: true });
}"""


@pytest.fixture(scope="module")
def site_url() -> Iterator[str]:
    with serving(build_site()) as server:
        yield server.url


def golden_answer(question: str) -> str:
    """What the model answers, greedily: see `how` in the golden file."""
    prompts = json.loads((GOLDENS / "smollm2.json").read_text("utf-8"))["prompts"]
    [prompt] = [p for p in prompts if question in json.dumps(p)]
    return str(prompt["text_skip_special"])


def test_the_model_of_the_site_answers_streams_stops_and_comes_back_after_a_reload(
    browser: Browser, site_url: str
) -> None:
    context = browser.new_context()
    context.set_default_timeout(SLOW_MS)
    expect.set_options(timeout=SLOW_MS)
    try:
        chat = ChatPage(context, site_url)
        chat.open()
        chat.page.evaluate(GROWTH)
        chat.ask("What is the capital of Japan?")
        expect(chat.page.locator("#progress-figures")).to_have_text(re.compile(r"^[\d.]+ MB of 98\.\d MB · \d+ %$"))
        chat.answered()
        expect(chat.replies).to_have_text(golden_answer("What is the capital of Japan?"))
        assert len(chat.page.evaluate("seen")) > 2, "the reply came in pieces"
        expect(chat.page.locator("#speed")).to_have_text(re.compile(r"tokens/s$"))
        expect(chat.page.locator("#adapter")).to_contain_text(re.compile(r"\w"))

        chat.ask("Count from one to one hundred.")
        expect(chat.replies.last).to_have_text(re.compile(r"\w"))
        chat.page.get_by_role("button", name="Stop").click()
        chat.answered(2)
        expect(chat.page.locator(".reply .meta").last).to_contain_text("Stopped")

        chat.page.reload()
        chat.ready()
        expect(chat.replies.first).to_have_text(golden_answer("What is the capital of Japan?"))
        chat.ask("Go on.")
        expect(chat.replies.last).to_have_text(re.compile(r"\w"))
        chat.prompt.press("Escape")
        chat.answered(3)
        chat.clean()
    finally:
        expect.set_options(timeout=5000)
        context.close()


def test_a_bad_file_and_a_crashed_gpu_leave_a_page_that_goes_on(playwright: Playwright, site_url: str) -> None:
    """A browser of its own: its GPU process is crashed, and every page of a browser shares that."""
    browser = launch(playwright)
    expect.set_options(timeout=SLOW_MS)
    try:
        context = browser.new_context()
        context.set_default_timeout(SLOW_MS)
        chat = ChatPage(context, site_url)
        chat.open()
        chat.page.locator("#model-file").set_input_files(TINY)
        chat.ready()
        expect(chat.page.locator("#model-name")).to_have_text("tiny_llama")
        chat.ask("One?")
        chat.answered()

        bad = {"name": "notes.gguf", "mimeType": "text/html", "buffer": b"<!DOCTYPE html><p>not a model</p>"}
        chat.page.locator("#model-file").set_input_files(bad)
        expect(chat.notice).to_contain_text("This file isn't a model webxpu can read")
        expect(chat.notice.locator("[data-part=detail]")).to_contain_text("notes.gguf")
        chat.ask("Two?")
        chat.answered(2)

        browser.new_browser_cdp_session().send("Browser.crashGpuProcess")
        expect(chat.notice.filter(has_text="The GPU stopped")).to_be_visible()
        chat.page.get_by_role("button", name="Reload model").click()
        chat.ready()
        expect(chat.notice).to_have_count(0)
        chat.ask("Three?")
        chat.answered(3)
        chat.clean()
    finally:
        expect.set_options(timeout=5000)
        browser.close()
