"""Chat templates against transformers' own rendering, and as code that nobody trusts."""

from __future__ import annotations

import datetime
import enum
import json
import re
import types
from pathlib import Path

import numpy as np
import pytest

from webxpu.errors import TemplateError
from webxpu.text import template
from webxpu.text.template import ChatTemplate

GOLDENS = Path(__file__).parents[1] / "goldens"
GOLDEN = json.loads((GOLDENS / "chat_templates.json").read_text("utf-8"))
HELLO = [{"role": "user", "content": "Hello"}]


def case_id(case) -> str:
    return f"{case['template']}-{GOLDEN['cases'].index(case)}"


def render(source: str, messages=HELLO, **variables) -> str:
    return ChatTemplate(source, "<s>", "</s>").render(messages, **variables)


@pytest.mark.parametrize("case", GOLDEN["cases"], ids=case_id)
def test_prompts_are_transformers_prompts(case):
    options = {k: v for k, v in case.items() if k not in ("template", "messages", "prompt", "error")}
    chat = ChatTemplate(GOLDEN["templates"][case["template"]], GOLDEN["bos"], GOLDEN["eos"])
    if "error" in case:
        with pytest.raises(TemplateError, match=re.escape(case["error"])):
            chat.render(case["messages"], **options)
        return
    assert chat.render(case["messages"], **options) == case["prompt"]


def test_every_template_of_the_golden_file_is_rendered_and_one_refuses():
    assert {case["template"] for case in GOLDEN["cases"]} == set(GOLDEN["templates"])
    assert sum("error" in case for case in GOLDEN["cases"]) == 1


def test_the_model_s_own_template_gives_the_golden_chat_prompt():
    golden = json.loads((GOLDENS / "smollm2.json").read_text("utf-8"))
    chats = [p for p in golden["prompts"] if p["messages"]]
    assert chats
    for prompt in chats:
        assert ChatTemplate(golden["chat_template"]).render(prompt["messages"]) == prompt["prompt"]


def test_a_template_comes_out_of_gguf_metadata_with_the_texts_of_its_tokens():
    metadata = {
        "tokenizer.chat_template": "{{ bos_token }}{{ messages[0].content }}{{ eos_token }}",
        "tokenizer.ggml.tokens": ["<a>", "<b>", "<c>"],
        "tokenizer.ggml.bos_token_id": 2,
        "tokenizer.ggml.eos_token_id": 1,
    }
    assert ChatTemplate.from_gguf(metadata).render(HELLO) == "<c>Hello<b>"
    del metadata["tokenizer.ggml.eos_token_id"]
    metadata["tokenizer.ggml.bos_token_id"] = 3
    assert ChatTemplate.from_gguf(metadata).render(HELLO) == "Hello"
    assert ChatTemplate.from_gguf({"tokenizer.ggml.tokens": []}) is None


def test_the_clock_is_read_when_the_template_asks(monkeypatch):
    frozen = types.SimpleNamespace(now=lambda: datetime.datetime(2024, 7, 26, 12, 30))
    monkeypatch.setattr(template, "datetime", frozen)
    assert render("{{ strftime_now('%d %b %Y %H:%M') }}") == "26 Jul 2024 12:30"


def test_messages_are_left_as_they_were():
    messages = [{"role": "user", "content": None, "thinking": "t", "parts": [{"a": 1}]}]
    before = json.dumps(messages)
    render("{% for m in messages %}{{ m }}{% endfor %}", messages)
    assert json.dumps(messages) == before


class Role(enum.StrEnum):
    USER = "user"


def test_values_with_more_behaviour_than_json_lose_it():
    class Text(str):
        def shout(self):
            return "!"

    message = {"role": Role.USER, "content": Text("a")}
    source = "{% set m = messages[0] %}{{ m.role }}{{ m.content }}{{ m.content.shout is defined }}"
    assert render(source, [message]) == "useraFalse"
    assert render("{{ n is number }}{{ n }}", n=np.float64(0.5)) == "True0.5"


@pytest.mark.parametrize("value", [object(), Path("/"), np.zeros(2), print, {"a": [b"bytes"]}], ids=repr)
def test_values_that_are_no_plain_data_are_refused(value):
    with pytest.raises(TemplateError, match=r"^chat template: tools must be made of texts, numbers, lists and dict"):
        render("{{ tools }}", tools=value)
    with pytest.raises(TemplateError, match=r"^chat template: message 0 must be made of texts"):
        render("x", [{"role": "user", "content": value}])


def test_a_message_must_be_a_dictionary():
    with pytest.raises(TemplateError, match=r"^chat template: a message must be a dictionary, got str$"):
        render("x", ["Hello"])


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("a\n{% if %}", "chat template, line 2: Expected an expression, got 'end of statement block'"),
        ("a\n\n{{ 'a", "chat template, line 3: unexpected char"),
        ("{% nonsense %}", "chat template, line 1: Encountered unknown tag 'nonsense'"),
        ("{% generation %}a", "chat template, line 1: Unexpected end of template"),
    ],
)
def test_a_template_that_is_not_jinja_is_refused_with_its_line(source, message):
    with pytest.raises(TemplateError, match=f"^{re.escape(message)}"):
        ChatTemplate(source)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("a\n{{ raise_exception('No system role') }}", "chat template, line 2: No system role"),
        ("{{ messages[0].nothing.deeper }}", "chat template, line 1: 'dict object' has no attribute 'nothing'"),
        ("\n\n\n{{ 'a' + 1 }}", 'chat template, line 4: can only concatenate str (not "int") to str'),
        ("{{ missing | tojson }}", "chat template, line 1: Object of type Undefined is not JSON serializable"),
        ("{{ 1 // 0 }}", "chat template, line 1: integer division or modulo by zero"),
        ("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "chat template, line 1: maximum recursion depth exceeded"),
    ],
)
def test_a_fault_while_rendering_names_its_line(source, message):
    with pytest.raises(TemplateError, match=f"^{re.escape(message)}"):
        render(source)


ESCAPES = [
    "{{ ''.__class__.__mro__[1].__subclasses__() }}",
    "{{ ''.__class__ }}",
    "{{ ''['__class__'] }}",
    "{{ '' | attr('__class__') }}",
    "{{ messages.__init__.__globals__ }}",
    "{{ raise_exception.__globals__ }}",
    "{{ strftime_now.__globals__['json'] }}",
    "{{ strftime_now.__code__.co_consts }}",
    "{{ cycler.__init__.__globals__.os }}",
    "{{ joiner.__init__.__globals__ }}",
    "{{ lipsum.__globals__['os'].popen('id').read() }}",
    "{{ self.__init__.__globals__ }}",
    "{{ self._TemplateReference__context }}",
    "{{ dict.mro() }}",
    "{{ dict.__class__.__mro__ }}",
    "{{ dict.__call__.__globals__ }}",
    "{{ namespace.__init__.__globals__ }}",
    "{{ namespace.mro() }}",
    "{{ namespace(__class__=1) }}",
    "{{ namespace({'__class__': 1}) }}",
    "{% set ns = namespace() %}{% set ns._x = 1 %}{{ ns._x }}",
    "{{ '{0.__class__.__mro__}'.format('') }}",
    "{{ ('{0.__class__.__mro__}' | attr('format'))('') }}",
    "{{ '{a.__class__}'.format_map({'a': ''}) }}",
    "{{ ['{0.__class__}'] | map('format', 1) | list | first | length > 14 }}{{ ''.__class__.x }}",
    "{{ messages.append(1) }}",
    "{{ messages.clear() }}",
    "{{ messages[0].update(role='system') }}",
    "{{ messages[0].pop('role') }}",
    "{{ messages[0].setdefault('x', 1) }}",
    "{% include '/etc/passwd' %}",
    "{% import 'os' as os %}",
    "{% extends 'base.html' %}",
    "{{ range(1000000000) | list }}",
    "{{ (range(3) | batch(1)).gi_frame.f_globals }}",
]


@pytest.mark.parametrize("source", ESCAPES)
def test_a_template_reaches_nothing_of_python(source):
    messages = [{"role": "user", "content": "Hello"}]
    try:
        shown = render(source, messages)
    except TemplateError:
        shown = ""
    assert shown.strip() == ""
    assert messages == [{"role": "user", "content": "Hello"}]
