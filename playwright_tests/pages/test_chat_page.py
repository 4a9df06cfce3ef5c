"""The chat page as a person uses it, against a scripted client: no model and no GPU work, so each test is quick."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from playwright_tests.pages.chat_page import ChatPage

OpenChat = Callable[..., ChatPage]
SERVED = "models/SmolLM2-135M-Instruct.Q4_1.gguf"


def letters(text: str) -> list[str]:
    return list(text)


# Sending and streaming


def test_a_question_is_answered_with_the_model_of_the_site(chat: ChatPage) -> None:
    chat.ask("What is the capital of Japan?")
    chat.answered()
    expect(chat.replies).to_have_text("The capital of Japan is Tokyo.")
    assert chat.calls("load")[0][0]["url"] == f"{chat.url}/{SERVED}"
    assert chat.calls("chat")[0][0] == [{"role": "user", "content": "What is the capital of Japan?"}]
    expect(chat.page.locator(".reply .meta")).to_contain_text(re.compile(r"^3 tokens · [\d.]+ tokens/s$"))
    expect(chat.page.locator("#speed")).to_have_text(re.compile(r"^[\d.]+ tokens/s$"))
    expect(chat.page.locator("#adapter")).to_have_text("Fake GPU")


def test_a_question_asked_before_any_model_is_there_loads_the_model_of_the_site_first(open_chat: OpenChat) -> None:
    chat = open_chat()
    chat.page.get_by_role("button", name="What is the capital of Japan?").click()
    expect(chat.page.locator(".reply .waiting")).to_have_text("Waiting for the model")
    chat.answered()
    expect(chat.replies).to_have_text("The capital of Japan is Tokyo.")
    assert chat.calls("load")[0][0]["url"] == f"{chat.url}/{SERVED}"


def test_the_next_question_carries_the_conversation(chat: ChatPage) -> None:
    chat.script(replies=[["Tokyo."], ["Paris."]])
    chat.ask("Capital of Japan?")
    chat.answered()
    chat.ask("And of France?")
    chat.answered(2)
    assert chat.calls("chat")[1][0] == [
        {"role": "user", "content": "Capital of Japan?"},
        {"role": "assistant", "content": "Tokyo."},
        {"role": "user", "content": "And of France?"},
    ]


def test_load_progress_is_told_in_bytes_and_per_cent(open_chat: OpenChat) -> None:
    chat = open_chat({"loadMs": 2000})
    chat.page.get_by_role("button", name="Load model").click()
    figures = chat.page.locator("#progress-figures")
    expect(figures).to_have_text(re.compile(r"^[\d.]+ MB of 98\.4 MB · \d+ %$"))
    expect(chat.page.locator("#progress-title")).to_have_text("Loading SmolLM2 135M Instruct")
    per_cent = float((figures.text_content() or "").split("· ")[1].rstrip(" %"))
    bar = chat.page.get_by_role("progressbar", name="Loading SmolLM2 135M Instruct")
    assert per_cent <= float(bar.evaluate("bar => 100 * bar.value / bar.max")) <= 100
    chat.ready()
    expect(chat.page.locator("#progress")).to_be_hidden()


# What a reply may do to the page

HOSTILE = """Look: <img src=x onerror="globalThis.broken = 1"> and <script>globalThis.broken = 2</script>

[click](javascript:globalThis.broken=3) ![picture](https://example.com/p.png)
<b onclick="globalThis.broken = 4">bold</b>

<form action="https://example.com"><input name=q autofocus onfocus="globalThis.broken = 5"></form>
<style>body { display: none }</style><svg onload="globalThis.broken = 6"></svg><iframe src="https://example.com"></iframe>

<a href="https://example.com" target="_self" id="prompt" class="notice">home</a>

"""
FENCE = "```html\n<img src=x onerror=globalThis.broken=7>\nan unclosed fence"


def test_markup_in_a_reply_is_shown_and_never_runs(chat: ChatPage) -> None:
    chat.script(replies=[letters(HOSTILE + FENCE)], pieceMs=0)
    chat.ask("Break out.")
    chat.answered()
    assert chat.page.evaluate("globalThis.broken") is None
    for selector in ("img", "script", "style", "form", "input", "svg", "iframe", "[onclick]", "[id]", ".notice"):
        expect(chat.replies.locator(selector)).to_have_count(0)
    expect(chat.replies).to_contain_text('<img src=x onerror="globalThis.broken = 1">')
    assert chat.replies.get_by_text("click", exact=True).evaluate("a => a.closest('a')?.href ?? null") in (None, "")
    picture = chat.replies.get_by_role("link", name="picture")
    expect(picture).to_have_attribute("href", "https://example.com/p.png")
    expect(picture).to_have_attribute("rel", re.compile("noopener"))
    expect(picture).to_have_attribute("target", "_blank")
    code = chat.replies.locator("pre code")
    assert code.text_content() == "<img src=x onerror=globalThis.broken=7>\nan unclosed fence"
    expect(chat.replies.locator(".code-head span")).to_have_text("html")


SANITIZED = """async (html) => {
  const { default: purify } = await import("../vendor/purify.es.mjs");
  const { SANITIZER } = await import("./markdown.mjs");
  const box = document.createElement("div");
  box.append(purify.sanitize(html, SANITIZER));
  const bad = "img,script,style,form,input,svg,iframe,[onclick],[id],[class],[target],a[href^=javascript]";
  return [[...box.querySelectorAll(bad)].map((e) => e.outerHTML), [...box.children].map((e) => e.localName)];
}"""


def test_the_sanitizer_alone_would_hold_were_the_parser_to_let_markup_through(chat: ChatPage) -> None:
    bad, kept = chat.page.evaluate(SANITIZED, HOSTILE + '<a href="javascript:globalThis.broken=8">x</a>')
    assert bad == []
    assert kept == ["b", "a", "a"]
    assert chat.page.evaluate("globalThis.broken") is None
    chat.complaints.clear()  # Chromium tells of each handler that it refused, even in a document that runs nothing
    chat.page.evaluate("violations.splice(0)")


DOCUMENTS = [
    "# Title\n\nA paragraph\nwith two lines.\n\n## Next\n\n---\n\nEnd",
    "1. one\n\n2. two\n\n   more of two\n\n3. three\n   - a\n   - b\n\nafter",
    "- a\n\n- b\n\n      code\n\n* c\n+ d",
    "| a | b |\n| --- | ---: |\n| 1 | 2 |\n\ntext | not a table",
    "```python\nprint('``')\n```\n\ntext `x` **b** *i* ~~s~~\n\n~~~\nraw ``` fence\n~~~\nend",
    "Setext\n===\n\nand [a link][late], then\n\n> quote\n> more\n\n- [x] done\n- [ ] open\n\n[late]: https://example.com",
    "```\r\na\r\nb\r\nc\r\nd\r\n```\r\n\r\ne <br> f\r\n\r\nH<sub>2</sub>O\r\n\r\nend",
    "```js\nlet a = 1;\n\n\nlet b = `<b>`;\n",
]
STREAM_AND_WHOLE = """async (text) => {
  const { MarkdownView } = await import("./markdown.mjs");
  const html = (pieces, draw) => {
    const root = document.createElement("div");
    const view = new MarkdownView(root);
    for (const piece of pieces) {
      view.append(piece);
      if (draw) view.render();
    }
    view.finish();
    return root.innerHTML.replace("<!--open end-->", "");
  };
  return [html([...text], true), html(text.match(/[^]{1,7}/g), true), html([text], false)];
}"""


@pytest.mark.parametrize("text", DOCUMENTS)
def test_a_streamed_reply_ends_up_as_the_whole_text_would(chat: ChatPage, text: str) -> None:
    by_letter, by_seven, whole = chat.page.evaluate(STREAM_AND_WHOLE, text)
    assert by_letter == whole
    assert by_seven == whole


def test_markdown_becomes_structure(chat: ChatPage) -> None:
    chat.script(replies=[["## Head\n\n1. one\n2. two\n\n", "| a | b |\n| --- | ---: |\n| 1 | 2 |\n\n", "`x` **b**"]])
    chat.ask("Structure, please.")
    chat.answered()
    expect(chat.replies.get_by_role("heading", name="Head")).to_be_visible()
    expect(chat.replies.get_by_role("listitem")).to_have_text(["one", "two"])
    expect(chat.replies.get_by_role("cell", name="2")).to_have_css("text-align", re.compile("right"))
    expect(chat.replies.locator("strong")).to_have_text("b")


# Stop, again, new, reload


def test_stop_keeps_what_was_said_and_the_page_goes_on(chat: ChatPage) -> None:
    chat.script(replies=[[f"word{i} " for i in range(2000)], ["Done."]], pieceMs=4)
    chat.ask("Count.")
    expect(chat.replies).to_contain_text("word5")
    chat.page.get_by_role("button", name="Stop").click()
    chat.answered()
    said = chat.replies.text_content() or ""
    assert "word1999" not in said
    expect(chat.page.locator(".reply .meta")).to_contain_text("Stopped")
    chat.ask("Go on.")
    chat.answered(2)
    assert chat.calls("chat")[1][0][1]["content"].strip() == said.strip()


def test_a_question_stopped_before_any_answer_is_given_back(chat: ChatPage) -> None:
    chat.script(replies=[["late"]], pieceMs=400)
    chat.ask("Too slow?")
    expect(chat.page.get_by_role("button", name="Stop")).to_be_visible()
    chat.prompt.press("Escape")
    expect(chat.prompt).to_have_value("Too slow?")
    expect(chat.page.locator(".turn")).to_have_count(0)
    expect(chat.page.locator("#welcome")).to_be_visible()


def test_an_empty_reply_is_shown_as_one(chat: ChatPage) -> None:
    chat.script(replies=[[], ["Something."]])
    chat.ask("Nothing?")
    chat.answered()
    expect(chat.page.locator(".reply .meta")).to_have_text("The model ended its reply at once")
    chat.page.get_by_role("button", name="Regenerate").click()
    expect(chat.replies).to_have_text("Something.")


def test_regenerate_asks_the_same_again_and_stands_at_the_last_reply_only(chat: ChatPage) -> None:
    chat.script(replies=[["First."], ["Second."], ["Third."]])
    chat.ask("One?")
    chat.answered()
    chat.ask("Two?")
    chat.answered(2)
    again = chat.page.get_by_role("button", name="Regenerate")
    expect(again).to_have_count(1)
    again.click()
    expect(chat.replies.last).to_have_text("Third.")
    chat.answered(2)
    calls = chat.calls("chat")
    assert calls[2][0] == calls[1][0]


def test_new_chat_ends_the_reply_and_forgets_the_conversation(chat: ChatPage) -> None:
    chat.script(replies=[[f"word{i} " for i in range(2000)], ["Fresh."]], pieceMs=4)
    chat.ask("Count.")
    expect(chat.replies).to_contain_text("word5")
    chat.page.get_by_role("button", name="New chat").click()
    expect(chat.page.locator("#welcome")).to_be_visible()
    expect(chat.page.locator(".turn")).to_have_count(0)
    expect(chat.prompt).to_be_focused()
    assert chat.calls("abort") == [[]]
    chat.ask("Again.")
    chat.answered()
    expect(chat.replies).to_have_text("Fresh.")
    assert chat.calls("chat")[1][0] == [{"role": "user", "content": "Again."}]


def test_a_reload_brings_the_conversation_and_the_model_back(chat: ChatPage) -> None:
    chat.script(replies=[["**Tokyo**."]])
    chat.ask("Capital of Japan?")
    chat.answered()
    chat.script(replies=[[f"word{i} " for i in range(2000)]], pieceMs=4)
    chat.ask("Count.")
    expect(chat.replies.last).to_contain_text("word5")
    chat.page.reload()
    chat.ready()
    assert len(chat.calls("load")) == 1
    expect(chat.replies.first).to_have_text("Tokyo.")
    expect(chat.replies.first.locator("strong")).to_have_text("Tokyo")
    expect(chat.replies.last).to_contain_text("word5")
    expect(chat.page.locator(".reply .meta").last).to_have_text("Interrupted")
    chat.ask("Still there?")
    chat.answered(3)
    assert [message["role"] for message in chat.calls("chat")[0][0]] == ["user", "assistant"] * 2 + ["user"]


def test_a_second_tab_has_a_conversation_of_its_own(open_chat: OpenChat) -> None:
    first = open_chat({"loadMs": 0})
    first.ask("One?")
    first.answered()
    second = ChatPage(first.page.context, first.url)
    second.open()
    expect(second.page.locator(".turn")).to_have_count(0)
    second.ask("Two?")
    second.answered()
    expect(first.page.locator(".turn.user .text")).to_have_text("One?")
    expect(second.page.locator(".turn.user .text")).to_have_text("Two?")
    second.clean()


# Settings and copying


def test_settings_reach_the_model_and_outlive_a_reload(chat: ChatPage) -> None:
    page = chat.page
    chat.ask("Defaults?")
    chat.answered()
    page.get_by_role("button", name="Settings").click()
    page.get_by_label("System prompt").fill("Be brief.")
    page.get_by_label("Temperature").fill("0.7")
    page.get_by_label("Top-p").fill("0.9")
    page.get_by_label("Longest reply, in tokens").fill("77")
    page.get_by_label("Seed").fill("5")
    expect(page.locator("#temperature-value")).to_have_text("0.70")
    page.get_by_role("button", name="Close").click()
    page.reload()
    chat.ready()
    page.get_by_role("button", name="New chat").click()
    chat.ask("Set?")
    chat.answered()
    messages, options = chat.calls("chat")[0]
    assert messages[0] == {"role": "system", "content": "Be brief."}
    assert options == {"temperature": 0.7, "top_p": 0.9, "max_tokens": 77, "seed": 5}
    page.get_by_role("button", name="Settings").click()
    page.get_by_role("button", name="Reset to defaults").click()
    page.keyboard.press("Escape")
    chat.ask("Reset?")
    chat.answered(2)
    messages, options = chat.calls("chat")[1]
    assert messages[0]["role"] == "user"
    assert options == {"temperature": 0, "top_p": 1, "max_tokens": 512, "seed": None}


def test_a_setting_out_of_range_is_marked_and_the_last_good_one_holds(chat: ChatPage) -> None:
    chat.page.get_by_role("button", name="Settings").click()
    field = chat.page.get_by_label("Longest reply, in tokens")
    field.fill("0")
    field.press("Tab")
    assert field.evaluate("input => input.matches(':user-invalid')")
    chat.page.keyboard.press("Escape")
    chat.ask("Still 512?")
    chat.answered()
    assert chat.calls("chat")[0][1]["max_tokens"] == 512


def test_copy_takes_the_markdown_of_a_reply_and_the_text_of_a_code_block(open_chat: OpenChat) -> None:
    source = "Use **this**:\n\n```python\nprint(1)\nprint(2)\n```"
    chat = open_chat({"replies": [[source]], "loadMs": 0}, permissions=["clipboard-read", "clipboard-write"])
    chat.ask("Code?")
    chat.answered()
    chat.page.get_by_role("button", name="Copy", exact=True).click()
    expect(chat.page.locator("[data-part=copy]")).to_have_text("Copied")
    assert chat.page.evaluate("navigator.clipboard.readText()") == source
    chat.page.get_by_role("button", name="Copy code").click()
    expect(chat.page.locator(".code-head button")).to_have_text("Copied")
    assert chat.page.evaluate("navigator.clipboard.readText()") == "print(1)\nprint(2)"


def test_copying_that_the_browser_forbids_is_said(chat: ChatPage) -> None:
    chat.page.evaluate("() => { navigator.clipboard.writeText = async () => { throw new Error('not allowed'); }; }")
    chat.ask("Code?")
    chat.answered()
    chat.page.get_by_role("button", name="Copy", exact=True).click()
    expect(chat.page.locator("[data-part=copy]")).to_have_text("Copy failed")


# The front page


def test_the_front_page_names_this_browsers_gpu_and_leads_to_the_chat(open_chat: OpenChat) -> None:
    front = open_chat(path="/")
    expect(front.page.locator("#verdict-dot")).to_have_attribute("data-state", "ready")
    expect(front.page.get_by_text("Largest buffer")).to_be_visible()
    front.page.get_by_role("link", name="Chat with a model").click()
    expect(front.page).to_have_title("Chat · webxpu")
