"""What makes the pages fit for everybody: keyboard, names for screen readers, small screens, colours, smooth frames."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import expect

from playwright_tests.pages.chat_page import ChatPage

OpenChat = Callable[..., ChatPage]
LONG_LINE = "x" * 300
WIDE = [
    f"{LONG_LINE}\n\n",
    f"```\n{LONG_LINE}\n```\n\n",
    "| a | b |\n| --- | --- |\n| " + "wide " * 40 + f"| {LONG_LINE} |\n",
]


def test_everything_can_be_done_with_the_keyboard(chat: ChatPage) -> None:
    page, keys = chat.page, chat.page.keyboard
    expect(chat.prompt).to_be_focused()
    keys.type("one")
    keys.press("Shift+Enter")
    keys.type("two")
    chat.script(replies=[[f"word{i} " for i in range(2000)]], pieceMs=4)
    keys.press("Enter")
    expect(page.locator(".turn.user .text")).to_have_text("one\ntwo", use_inner_text=True)
    expect(chat.replies).to_contain_text("word5")
    keys.press("Escape")
    chat.answered()
    expect(chat.prompt).to_be_focused()

    keys.press("Shift+Tab")
    focused = [page.evaluate("document.activeElement.textContent.trim()")]
    keys.press("Shift+Tab")
    focused.append(page.evaluate("document.activeElement.textContent.trim()"))
    assert focused == ["Regenerate", "Copy"]

    page.get_by_role("button", name="Settings").focus()
    keys.press("Enter")
    expect(page.get_by_role("dialog", name="Settings")).to_be_visible()
    keys.press("Escape")
    expect(page.get_by_role("dialog", name="Settings")).to_be_hidden()
    expect(page.get_by_role("button", name="Settings")).to_be_focused()


def test_escape_in_a_dialog_closes_it_and_leaves_the_reply_running(chat: ChatPage) -> None:
    chat.script(replies=[[f"word{i} " for i in range(400)]], pieceMs=4)
    chat.ask("Count.")
    expect(chat.replies).to_contain_text("word5")
    chat.page.get_by_role("button", name="Settings").click()
    chat.page.keyboard.press("Escape")
    chat.answered()
    expect(chat.replies).to_contain_text("word399")


def test_enter_that_ends_a_word_of_an_input_method_does_not_send(chat: ChatPage) -> None:
    chat.prompt.fill("にほん")
    chat.prompt.evaluate(
        "box => box.dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter', isComposing: true, cancelable: true}))"
    )
    expect(chat.prompt).to_have_value("にほん")
    assert chat.calls("chat") == []


ROLES = {"button", "textbox", "slider", "spinbutton", "link", "dialog", "progressbar", "list", "log"}


def unnamed(chat: ChatPage) -> list[str]:
    """Controls without a name for a screen reader."""
    session = chat.page.context.new_cdp_session(chat.page)
    nodes: list[dict[str, Any]] = session.send("Accessibility.getFullAXTree")["nodes"]
    named = [node for node in nodes if not node.get("ignored") and node["role"]["value"] in ROLES - {"list"}]
    assert len(named) > 5
    return [node["role"]["value"] for node in named if not node.get("name", {}).get("value")]


def test_every_control_has_a_name(chat: ChatPage) -> None:
    chat.script(replies=[["```\ncode\n```"]])
    chat.ask("Code?")
    chat.answered()
    assert unnamed(chat) == []
    for opener in ("Settings", "Model: SmolLM2 135M Instruct"):
        chat.page.get_by_role("button", name=opener).click()
        assert unnamed(chat) == []
        chat.page.keyboard.press("Escape")


def test_a_reply_is_announced_once_and_not_while_it_grows(chat: ChatPage) -> None:
    chat.page.evaluate(
        """() => {
          globalThis.said = [];
          const note = document.getElementById("announce");
          new MutationObserver(() => said.push(note.textContent)).observe(note, { childList: true });
        }"""
    )
    chat.script(replies=[[f"word{i} " for i in range(50)]])
    chat.ask("Count.")
    chat.answered()
    said = chat.page.evaluate("said")
    assert len(said) == 1
    assert said[0].startswith("Reply: word0 word1 ")
    expect(chat.page.get_by_role("log")).to_have_attribute("aria-live", "off")


BELOW = "e => e.scrollHeight - e.scrollTop - e.clientHeight"  # how much lies below the part in view, in pixels


def test_the_end_stays_in_view_until_the_reader_scrolls_up(chat: ChatPage) -> None:
    scroller, latest = chat.page.locator("#scroller"), chat.page.get_by_role("button", name="newest message")
    chat.script(replies=[[f"word{i}\n\n" for i in range(2000)]], pieceMs=4)
    chat.ask("Count.")
    expect(chat.replies).to_contain_text("word60")
    assert scroller.evaluate(BELOW) < 48
    expect(latest).to_be_hidden()
    scroller.hover()
    chat.page.mouse.wheel(0, -900)
    expect(latest).to_be_visible()
    top = scroller.evaluate("e => e.scrollTop")
    seen = len(chat.replies.text_content() or "")
    chat.page.wait_for_timeout(300)
    assert len(chat.replies.text_content() or "") > seen
    assert scroller.evaluate("e => e.scrollTop") == top
    latest.click()
    expect(latest).to_be_hidden()
    chat.page.wait_for_timeout(100)
    assert scroller.evaluate(BELOW) < 48
    chat.prompt.press("Escape")
    chat.answered()
    chat.script(loadError={"name": "FormatError", "message": "no model"})
    chat.page.locator("#model-file").set_input_files({"name": "x.gguf", "mimeType": "", "buffer": b"x"})
    expect(chat.notice).to_be_visible()
    chat.page.wait_for_timeout(100)
    assert scroller.evaluate(BELOW) < 48, "a notice does not cover the end"


SIDEWAYS = """() => {
  const parts = "button, a, input, textarea, h1, h2, p, dialog[open], .turn, .text, .prose, .notice, #scroller, body";
  const apart = ".visually-hidden, .skip, pre, .table, dialog:not([open])";
  const shown = [...document.querySelectorAll(parts)].filter((e) => e.checkVisibility() && !e.closest(apart));
  const off = (e) => e.getBoundingClientRect().left < -0.5 || e.getBoundingClientRect().right > innerWidth + 0.5;
  const spills = (e) => e.clientWidth > 0 && e.scrollWidth > e.clientWidth;
  return shown.filter((e) => off(e) || spills(e)).map((e) => e.outerHTML.slice(0, 80));
}"""


def test_nothing_runs_off_a_360_pixel_screen(open_chat: OpenChat) -> None:
    chat = open_chat({"replies": [WIDE], "loadMs": 0}, viewport={"width": 360, "height": 640})
    assert chat.page.evaluate(SIDEWAYS) == []
    chat.ask(LONG_LINE)
    chat.answered()
    assert chat.page.evaluate(SIDEWAYS) == []
    chat.script(loadError={"name": "FormatError", "message": LONG_LINE})
    chat.page.locator("#model-file").set_input_files({"name": "x" * 80, "mimeType": "", "buffer": b"x"})
    expect(chat.notice).to_be_visible()
    chat.notice.locator("summary").click()
    assert chat.page.evaluate(SIDEWAYS) == []
    for opener in ("#settings-button", "#model-button"):
        chat.page.locator(opener).click()
        assert chat.page.evaluate(SIDEWAYS) == []
        chat.page.keyboard.press("Escape")
    front = open_chat(path="/", viewport={"width": 360, "height": 640})
    expect(front.page.locator("#facts")).to_be_visible()
    assert front.page.evaluate(SIDEWAYS) == []


# The least contrast of text against what lies behind it, by WCAG 2's formula, over the parts a person reads.
CONTRAST = """() => {
  const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  const rgba = (colour) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    return canvas.getImageData(0, 0, 1, 1).data;
  };
  const luminance = (colour) => {
    const linear = (v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    const [r, g, b] = [...rgba(colour)].map((v) => linear(v / 255));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (e) => {
    while (e && rgba(getComputedStyle(e).backgroundColor)[3] < 255) e = e.parentElement;
    return e ? getComputedStyle(e).backgroundColor : "white";
  };
  const hasText = (e) => [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim());
  const read = (e) => e.checkVisibility() && !e.closest(":disabled, svg") && hasText(e);
  return [...document.querySelectorAll("body *")].filter(read).map((e) => {
    const [a, b] = [luminance(getComputedStyle(e).color), luminance(behind(e))].sort((x, y) => y - x);
    return [(a + 0.05) / (b + 0.05), e.outerHTML.slice(0, 80)];
  }).sort((x, y) => x[0] - y[0]).slice(0, 1)[0];
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_is_readable_in_both_colour_schemes(open_chat: OpenChat, scheme: str) -> None:
    reply = ["# Head\n\ntext `code` [link](https://example.com)\n\n> quote\n\n```py\nx\n```\n\n| a |\n| - |\n| b |"]
    chat = open_chat({"replies": [reply], "loadMs": 0}, color_scheme=scheme)
    dark = "rgb(19, 21, 19)"
    if scheme == "dark":
        expect(chat.page.locator("body")).to_have_css("background-color", dark)
    else:
        expect(chat.page.locator("body")).not_to_have_css("background-color", dark)
    least = [chat.page.evaluate(CONTRAST)]
    chat.ask("Text?")
    chat.answered()
    chat.page.evaluate("fake.client.lose('crashed')")
    expect(chat.notice).to_be_visible()
    least.append(chat.page.evaluate(CONTRAST))
    chat.page.get_by_role("button", name="Settings").click()
    least.append(chat.page.evaluate(CONTRAST))
    front = open_chat(path="/", color_scheme=scheme)
    least.append(front.page.evaluate(CONTRAST))
    assert min(least)[0] >= 4.5, least


def test_the_colour_button_overrides_the_system_and_is_remembered(chat: ChatPage) -> None:
    body, button = chat.page.locator("body"), chat.page.locator("#theme")
    light, dark = "rgb(250, 249, 245)", "rgb(19, 21, 19)"
    expect(body).to_have_css("background-color", light)
    button.click()  # light, whatever the system says
    chat.page.emulate_media(color_scheme="dark")
    expect(body).to_have_css("background-color", light)
    button.click()
    chat.page.emulate_media(color_scheme="light")
    expect(body).to_have_css("background-color", dark)
    chat.page.reload()
    expect(body).to_have_css("background-color", dark)
    button.click()
    expect(body).to_have_css("background-color", light)


def test_motion_is_stilled_for_those_who_ask(open_chat: OpenChat) -> None:
    chat = open_chat({"loadMs": 3000}, reduced_motion="reduce")
    chat.page.get_by_role("button", name="Load model").click()
    assert chat.page.locator("#model-dot").evaluate("dot => getComputedStyle(dot).animationIterationCount") == "1"


def test_the_policy_is_in_force(chat: ChatPage) -> None:
    chat.page.evaluate(
        """async () => {
          const script = document.createElement("script");
          script.textContent = "globalThis.ran = 1";
          document.head.append(script);
          document.body.setAttribute("style", "color: red");
          new Image().src = "https://example.com/p.png";
          await new Promise((resolve) => setTimeout(resolve, 50));
        }"""
    )
    assert chat.page.evaluate("globalThis.ran") is None
    directives = sorted({line.split()[0] for line in chat.page.evaluate("violations.splice(0)")})
    assert directives == ["img-src", "script-src-elem", "style-src-attr"]
    assert chat.strangers == []
    chat.complaints.clear()  # the browser tells each violation in the console too


# Frames


# Counts frames, and the batches of changes to the conversation: one a draw.
WATCH = """() => {
  const seen = (globalThis.seen = { frames: 0, batches: 0 });
  const tick = () => {
    seen.frames += 1;
    requestAnimationFrame(tick);
  };
  requestAnimationFrame(tick);
  const observer = new MutationObserver(() => (seen.batches += 1));
  observer.observe(document.querySelector("#thread"), { subtree: true, childList: true, characterData: true });
}"""
STREAMED = """async () => {
  while (document.querySelector(".foot:not([hidden])") === null) await new Promise(requestAnimationFrame);
  return globalThis.seen;
}"""
# The question, the empty reply, its first word and its end change the conversation outside of the draws.
OTHER_CHANGES = 8


@pytest.mark.parametrize("kind", ["prose", "code", "list"])
def test_2000_tokens_are_drawn_at_most_once_a_frame(chat: ChatPage, kind: str) -> None:
    prose = [f"word{i} " + ("\n\n" if i % 40 == 39 else "") for i in range(2000)]
    code = ["```python\n", *(f"v{i} = {i}" + ("\n" if i % 3 == 2 else "; ") for i in range(2000))]
    points = [("- " if i % 8 == 0 else "") + f"**w{i}** " + ("\n" if i % 8 == 7 else "") for i in range(2000)]
    chat.script(replies=[{"prose": prose, "code": code, "list": points}[kind]], pieceMs=0)
    chat.page.evaluate(WATCH)
    chat.ask("Go.")
    seen = chat.page.evaluate(STREAMED)
    print(f"{kind}: {seen['batches']} draws in {seen['frames']} frames")
    assert 3 < seen["batches"] <= seen["frames"] + OTHER_CHANGES


def test_what_is_settled_is_not_drawn_again(chat: ChatPage) -> None:
    chat.script(replies=[[f"Paragraph {i}.\n\n" for i in range(100)]], pieceMs=20)
    chat.ask("Go.")
    first = chat.page.get_by_text("Paragraph 0.", exact=True)
    first.evaluate("node => (globalThis.first = node)")
    chat.page.get_by_text("Paragraph 99.", exact=True).wait_for()
    assert first.evaluate("node => node === globalThis.first")
