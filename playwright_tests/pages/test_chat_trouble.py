"""Models chosen, dropped and refused, and every trouble the chat page explains; against the scripted client."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from playwright_tests.pages.chat_page import ChatPage

OpenChat = Callable[..., ChatPage]
NO_WEBGPU = "Object.defineProperty(Navigator.prototype, 'gpu', {value: undefined});"
NO_ADAPTER = "GPU.prototype.requestAdapter = async () => null;"
BAD_GGUF = {"name": "FormatError", "message": 'notes.gguf: offset 0 must be 47 47 55 46 ("GGUF"), got 3c 21 44 4f'}


# Models


def drop(chat: ChatPage, name: str, content: str) -> None:
    chat.page.evaluate(
        """([name, content]) => {
          const dataTransfer = new DataTransfer();
          dataTransfer.items.add(new File([content], name));
          for (const type of ["dragover", "drop"]) {
            document.body.dispatchEvent(new DragEvent(type, { dataTransfer, bubbles: true, cancelable: true }));
          }
        }""",
        [name, content],
    )


def test_a_bad_file_dropped_is_explained_and_the_model_before_it_still_answers(chat: ChatPage) -> None:
    chat.script(loadError=BAD_GGUF)
    drop(chat, "notes.gguf", "<!DOCTYPE html>")
    expect(chat.notice).to_contain_text("This file isn't a model webxpu can read")
    expect(chat.notice).to_contain_text("SmolLM2 135M Instruct is still loaded")
    expect(chat.notice.get_by_text(BAD_GGUF["message"])).to_be_visible()
    assert chat.calls("load")[1] == [{"file": "notes.gguf"}]
    expect(chat.page.locator("#model-name")).to_have_text("SmolLM2 135M Instruct")
    chat.ask("Are you there?")
    chat.answered()
    chat.page.get_by_role("button", name="Dismiss").click()
    expect(chat.notice).to_have_count(0)
    expect(chat.prompt).to_be_focused()


def test_a_bad_first_file_leaves_a_page_that_can_load_another(open_chat: OpenChat) -> None:
    chat = open_chat({"loadError": BAD_GGUF, "loadMs": 0})
    drop(chat, "notes.gguf", "x")
    expect(chat.notice).to_contain_text("This file isn't a model")
    expect(chat.notice).not_to_contain_text("still loaded")
    chat.load()
    expect(chat.notice).to_have_count(0)


def test_a_file_is_chosen_or_dropped_and_named_in_the_bar(open_chat: OpenChat) -> None:
    chat = open_chat({"loadMs": 0})
    chat.page.get_by_role("button", name="Choose a model").click()
    with chat.page.expect_file_chooser() as chooser:
        chat.page.get_by_role("button", name="Choose file…").click()
    chooser.value.set_files({"name": "tiny.Q8_0.gguf", "mimeType": "application/octet-stream", "buffer": b"GGUF"})
    chat.ready()
    expect(chat.page.locator("#model-name")).to_have_text("tiny.Q8_0")
    expect(chat.page.locator("#models")).to_be_hidden()
    drop(chat, "other.gguf", "GGUF")
    expect(chat.page.locator("#model-name")).to_have_text("other")
    assert chat.calls("load") == [[{"file": "tiny.Q8_0.gguf"}], [{"file": "other.gguf"}]]


@pytest.mark.parametrize(
    ("typed", "asked"),
    [
        ("https://models.example/a/b.gguf?download=1", "https://models.example/a/b.gguf?download=1"),
        ("https://huggingface.co/o/r/blob/main/x.gguf", "https://huggingface.co/o/r/resolve/main/x.gguf"),
        ("models.example/b.gguf", "https://models.example/b.gguf"),
        ("http://localhost:8080/b.gguf", "http://localhost:8080/b.gguf"),
    ],
)
def test_an_address_is_taken_as_typed_or_mended(open_chat: OpenChat, typed: str, asked: str) -> None:
    chat = open_chat({"loadMs": 0})
    chat.page.get_by_role("button", name="Choose a model").click()
    chat.page.get_by_label("From an address").fill(typed)
    chat.page.get_by_label("From an address").press("Enter")
    chat.ready()
    assert chat.calls("load") == [[{"url": asked}]]


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        ("ftp://models.example/b.gguf", "The address must begin with https:// or http://"),
        ("http://models.example/b.gguf", "An http address works only on this computer. Use https://"),
        ("https://", "That isn't an address. It begins with https://"),
    ],
)
def test_an_address_that_cannot_work_is_refused_in_the_field(open_chat: OpenChat, typed: str, message: str) -> None:
    chat = open_chat()
    chat.page.get_by_role("button", name="Choose a model").click()
    field = chat.page.get_by_label("From an address")
    field.fill(typed)
    field.press("Enter")
    assert field.evaluate("input => input.validationMessage") == message
    assert chat.calls("load") == []
    field.fill("https://models.example/b.gguf")
    assert field.evaluate("input => input.validity.valid")


# Errors


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("FetchError", "The model could not be downloaded"),
        ("Unsupported", "This model needs something that isn't supported here"),
        ("OutOfMemory", "The model doesn't fit into this GPU's memory"),
        ("SomethingElse", "Something went wrong"),
    ],
)
def test_a_load_that_fails_says_why_in_words(open_chat: OpenChat, name: str, title: str) -> None:
    chat = open_chat({"loadError": {"name": name, "message": "the detail"}, "loadMs": 0})
    chat.page.get_by_role("button", name="Load model").click()
    expect(chat.notice.locator("[data-part=title]")).to_have_text(title)
    expect(chat.notice.locator("[data-part=detail]")).to_have_text("the detail")
    expect(chat.page.get_by_role("button", name="Load model")).to_be_enabled()


def test_a_reply_that_breaks_off_stays_and_says_so(chat: ChatPage) -> None:
    chat.script(replies=[["Half a "]], chatError={"name": "DeviceError", "message": "validation"})
    chat.ask("Well?")
    chat.answered()
    expect(chat.replies).to_have_text("Half a")
    expect(chat.page.locator(".reply .meta")).to_contain_text("Broke off")
    expect(chat.notice).to_contain_text("The GPU refused a step")
    chat.script(replies=[["Whole."]])
    chat.ask("Again?")
    chat.answered(2)
    expect(chat.notice).to_have_count(0)


def test_a_conversation_that_outgrew_the_model_is_told_from_a_fault(chat: ChatPage) -> None:
    message = "generate: ids must leave room in the context of 512 tokens, got 600. Load the model with larger"
    chat.script(replies=[[]], chatError={"name": "ContextOverflow", "message": message})
    chat.ask("One more?")
    expect(chat.notice).to_contain_text("The conversation no longer fits into the model's context")
    expect(chat.prompt).to_have_value("One more?")


def test_a_lost_gpu_is_told_and_one_button_brings_the_model_back(chat: ChatPage) -> None:
    chat.ask("One?")
    chat.answered()
    chat.page.evaluate("fake.client.lose('the GPU process crashed')")
    expect(chat.notice).to_contain_text("The GPU stopped and took the model with it")
    expect(chat.notice).to_contain_text("the GPU process crashed")
    expect(chat.page.locator("#model-dot")).to_have_attribute("data-state", "lost")
    chat.page.get_by_role("button", name="Reload model").click()
    chat.ready()
    expect(chat.notice).to_have_count(0)
    chat.ask("Two?")
    chat.answered(2)
    loads = chat.calls("load")
    assert loads[1] == loads[0]
    assert [message["content"] for message in chat.calls("chat")[1][0]][0::2] == ["One?", "Two?"]


def test_a_gpu_that_is_lost_in_the_middle_of_a_reply_is_told_once(chat: ChatPage) -> None:
    chat.script(replies=[["Half a "]], chatError={"name": "DeviceLost", "message": "gone"})
    chat.ask("Well?")
    chat.answered()
    chat.page.evaluate("fake.client.lose('gone')")
    expect(chat.notice).to_have_count(1)
    expect(chat.notice).to_contain_text("The GPU stopped and took the model with it")
    chat.script(replies=[["Whole."]])
    chat.ask("Again?")  # asking is enough: the model is loaded again first
    chat.answered(2)
    expect(chat.replies.last).to_have_text("Whole.")
    expect(chat.notice).to_have_count(0)
    assert len(chat.calls("load")) == 2


def test_a_worker_that_ended_is_replaced_by_a_new_one(chat: ChatPage) -> None:
    chat.script(chatError={"name": "Error", "message": "out of memory"})
    chat.ask("One?")
    chat.answered()
    expect(chat.notice).to_contain_text("The part of this page that runs the model has stopped")
    chat.page.get_by_role("button", name="Reload model").click()
    chat.ready()
    assert len(chat.calls("start")) == 2
    chat.ask("Two?")
    chat.answered(2)


def test_a_load_that_nobody_waits_for_any_more_still_tells_of_its_failure(open_chat: OpenChat) -> None:
    chat = open_chat({"loadMs": 6000, "loadError": BAD_GGUF})
    chat.ask("Too slow?")
    expect(chat.page.locator(".reply .waiting")).to_have_text("Waiting for the model")
    chat.prompt.press("Escape")
    expect(chat.prompt).to_have_value("Too slow?")
    expect(chat.page.locator(".turn")).to_have_count(0)
    expect(chat.notice).to_contain_text("This file isn't a model")


@pytest.mark.parametrize(
    ("reason", "text"), [("length", "Reached the longest reply"), ("context", "The model's context is full")]
)
def test_the_foot_says_why_a_reply_ended_and_how_fast_it_was(chat: ChatPage, reason: str, text: str) -> None:
    chat.script(finishReason=reason, rate=123.4)
    chat.ask("Long?")
    chat.answered()
    expect(chat.page.locator(".reply .meta")).to_have_text(f"{text} · 3 tokens · 123 tokens/s")
    expect(chat.page.locator("#speed")).to_have_text("123 tokens/s")


@pytest.mark.parametrize(
    ("init", "title"), [(NO_WEBGPU, "This browser has no WebGPU"), (NO_ADAPTER, "No GPU adapter was found")]
)
def test_without_webgpu_both_pages_say_what_to_do(open_chat: OpenChat, init: str, title: str) -> None:
    chat = open_chat(init=init)
    expect(chat.notice).to_contain_text(title)
    expect(chat.prompt).to_be_disabled()
    expect(chat.page.get_by_role("button", name="Load model")).to_be_disabled()
    front = open_chat(path="/", init=init)
    expect(front.page.locator("#verdict")).to_have_text(title)
    expect(front.page.locator("#advice")).not_to_be_empty()


def test_an_insecure_page_is_told_apart_from_a_browser_without_webgpu(chat: ChatPage) -> None:
    call = "async (secure) => (await (await import('../adapter.mjs')).adapterStatus({}, secure)).title"
    assert chat.page.evaluate(call, False) == "WebGPU needs a secure page"
    assert chat.page.evaluate(call, True) == "This browser has no WebGPU"


def test_a_bridge_that_is_missing_is_explained(open_chat: OpenChat) -> None:
    chat = open_chat()
    chat.page.route("**/bridge/client.mjs", lambda route: route.fulfill(status=404, body=""))
    chat.page.get_by_role("button", name="Load model").click()
    expect(chat.notice).to_contain_text("webxpu could not start")
    chat.complaints.clear()  # the browser's own words about the missing file


def test_a_load_is_cancelled_and_another_one_works(open_chat: OpenChat) -> None:
    chat = open_chat({"loadMs": 60_000})
    chat.page.get_by_role("button", name="Load model").click()
    chat.page.get_by_role("button", name="Cancel").click()
    expect(chat.page.locator("#progress")).to_be_hidden(timeout=10_000)
    expect(chat.notice).to_have_count(0)
    expect(chat.prompt).to_be_focused()
    chat.script(loadMs=0)
    chat.load()


def test_what_the_browser_keeps_is_told_and_removed(open_chat: OpenChat) -> None:
    file = {"url": "https://m/a.gguf", "nbytes": 98_362_432, "total_bytes": 98_362_432, "complete": True}
    chat = open_chat({"loadMs": 0, "stored": [file], "model": {"cached_bytes": 98_362_432, "fetched_bytes": 0}})
    stored = chat.page.locator("#stored")
    chat.page.get_by_role("button", name="Other model…").click()
    expect(stored).to_be_hidden()
    chat.page.keyboard.press("Escape")
    chat.load()
    chat.page.locator("#model-button").click()
    expect(stored).to_contain_text("98.4 MB in 1 file")
    expect(stored).to_contain_text("The model that is loaded came from here.")
    stored.get_by_role("button", name="Remove").click()
    expect(stored).to_be_hidden()
    assert chat.calls("forget") == [[None]]
    expect(chat.page.locator("#announce")).to_have_text("1 file was removed")
    chat.page.keyboard.press("Escape")
    expect(chat.page.locator("#models")).to_be_hidden()


def test_a_model_that_cannot_be_kept_is_told_and_answers(open_chat: OpenChat) -> None:
    chat = open_chat({"loadMs": 0, "warning": "https://m/a.gguf is not kept: no room in this browser's storage"})
    chat.load()
    expect(chat.notice).to_contain_text("This browser could not keep the model")
    expect(chat.notice).to_contain_text("no room in this browser's storage")
    chat.ask("Hello?")
    chat.answered()
