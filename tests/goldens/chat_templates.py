"""Makes chat_templates.json: prompts rendered by transformers' own apply_chat_template.

Run with transformers 5.24 and jinja2 3.1.6: `python tests/goldens/chat_templates.py`. The suite does not need the
former. The first template is the model's own; the others each use one thing that templates in the wild use.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jinja2
import transformers
from tokenizers import Tokenizer
from tokenizers.models import BPE

HERE = Path(__file__).parent
BOS, EOS = "<s>", "</s>"
HELLO = [{"role": "user", "content": "Hello"}]
TALK = [
    {"role": "system", "content": "Be brief.\n"},
    {"role": "user", "content": "  What is 東京? <b>&'\"</b> "},
    {"role": "assistant", "content": "A city. 😀"},
    {"role": "user", "content": "{{ 7 * 7 }} {% raise %}"},
]
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "weather",
            "description": "Wetter in <Köln> & 東京",
            "parameters": {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}},
        },
    }
]
TOOL_TALK = [
    {"role": "user", "content": "Weather?"},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"type": "function", "function": {"name": "weather", "arguments": {"city": "Köln", "days": 2}}}],
    },
    {"role": "tool", "content": '{"sun": true, "wind": null, "°C": 21.5}'},
]
TEMPLATES: dict[str, str] = {
    "blocks": (
        "{{ bos_token }}\n"
        "{% for message in messages %}\n"
        "    {% if message.role == 'user' %}\n"
        "  U: {{ message.content }}\n"
        "    {%- elif message['role'] == 'system' -%}\n"
        "  S: {{- message.content -}}\n"
        "    {% else %}\n"
        "\tA: {{ message.content }}{{ eos_token }}\n"
        "\t{% endif %}\n"
        "{% endfor %}\n"
        "{#- a comment #}\n"
        "{% if add_generation_prompt %}A:{% endif %}\n"
    ),
    "kept": "  {%+ if true %} kept {% endif +%}\n  {%- if true -%}  cut  {%- endif -%}\n {{ 'a' -}}  \n  {{- 'b' }}\n",
    "tojson": (
        "{{ tools | tojson }}\n{{ tools | tojson(indent=2) }}\n{{ messages | tojson(sort_keys=true) }}\n"
        "{{ tools[0].function | tojson(ensure_ascii=true, separators=(',', ':')) }}|{{ 'é</script>' | tojson }}"
    ),
    "alternation": (
        "{% for message in messages %}{% if (message.role == 'user') != (loop.index0 % 2 == 0) %}"
        "{{ raise_exception('Roles must alternate: user, assistant, user, ...') }}{% endif %}"
        "{{ message.role }}={{ message.content | trim }};{% endfor %}"
    ),
    "loop_controls": (
        "{% for message in messages %}{% if message.role == 'system' %}{% continue %}{% endif %}"
        "{% if loop.index > 3 %}{% break %}{% endif %}[{{ loop.index }} {{ message.content | trim }}]{% endfor %}"
    ),
    "clock": "{{ strftime_now('no field, 100%%') }}",
    "namespace_and_macro": (
        "{% set ns = namespace(count=0, last='none', self='x') %}"
        "{% macro turn(role, text='-') %}<{{ role | upper }}>{{ text }}{% endmacro %}"
        "{% for m in messages if m.role != 'system' %}{% set ns.count = ns.count + 1 %}{% set ns.last = m.role %}"
        "{{ turn(m.role, m.content[:7]) }}{% endfor %}{{ turn('n') }}{{ ns.count }}{{ ns.last }}{{ ns.self }}"
    ),
    "generation": (
        "{% for m in messages %}{% set tag = m.role %}{% if m.role == 'assistant' %}"
        "{% generation %}{{ tag }}: {{ m.content }}{{ eos_token }}{% set tag = 'inner' %}{% endgeneration %}"
        "{% else %}{{ tag }}: {{ m.content }}{% endif %}({{ tag }})\n{% endfor %}"
    ),
    "what_is_defined": (
        "{{ tools is defined }} {{ tools is none }} {{ documents is none }} {{ nothing is defined }} [{{ nothing }}]"
        "{{ pad_token is defined }} {{ messages[0].name is defined }} {{ messages[-1]['content'] is string }}"
        "{{ extra is defined and extra }} {{ (nothing or 'else') }} {{ add_generation_prompt }}"
    ),
    "tool_calls": (
        "{% for m in messages %}{% if m.tool_calls %}{% for call in m.tool_calls %}"
        "{{ call.function.name }}({% for k, v in call.function.arguments.items() %}{{ k }}={{ v | tojson }}"
        "{{ ', ' if not loop.last }}{% endfor %}){% endfor %}{% elif m.content is defined %}"
        "{{ m.role }}:{{ m.content }}{% else %}{{ m.role }} said nothing{% endif %};{% endfor %}"
    ),
    "reasoning": (
        "{% for m in messages %}{% if m.reasoning_content %}<think>{{ m.reasoning_content }}</think>"
        "{% endif %}{{ m.thinking | default('-') }}|{{ m.reasoning | default('-') }}|{{ m.content }}\n{% endfor %}"
    ),
    "content_in_parts": (
        "{% for m in messages %}{% if m.content is string %}{{ m.content }}{% else %}{% for part in m.content %}"
        "{% if part.type == 'image' %}<image>{% else %}{{ part.text }}{% endif %}{% endfor %}{% endif %};{% endfor %}"
    ),
    "string_methods": (
        "{% set text = messages[-1].content %}{{ text.split('</think>')[-1].lstrip('\\n') }}"
        "|{{ text.startswith('<t') }}|{{ text | replace('think', 'x') | length }}|{{ text.rstrip()[::-1] }}"
        "|{{ '%s-%d' % ('a', 3) }}"
        "|{{ '{}:{}'.format('b', 4) }}|{{ ['x', 'y'] | join('+') }}|{{ dict(a=1).a }}|{{ dict.fromkeys(['k'], 2) }}"
        "|{{ range(3) | list }}|{{ 7 // 2 }}{{ 2 ** 5 }}|{{ messages | map(attribute='role') | unique | list }}"
    ),
    "selection": (
        "{% set said = messages | selectattr('role', 'equalto', 'user') | list %}{{ said | length }}"
        "{{ (messages | rejectattr('role', 'in', ['user', 'system']) | first).content }}"
        "{% if messages[0]['role'] == 'system' %}{% set loop_messages = messages[1:] %}{% endif %}"
        "{{ loop_messages | length }}{{ loop_messages[-1].content }}"
        "{% for m in messages %}{{ loop.previtem.role if loop.previtem is defined else 'start' }}>"
        "{{ loop.nextitem.role if loop.nextitem is defined else 'end' }} {% endfor %}"
    ),
}
THOUGHTS = [
    {"role": "user", "content": "a", "reasoning": None},
    {"role": "assistant", "content": "b", "thinking": "one"},
    {"role": "assistant", "content": "c", "reasoning": "two", "name": None},
    {"role": "assistant", "content": "d", "reasoning_content": "three", "thinking": "four"},
]
PARTS = [
    {"role": "user", "content": [{"type": "image"}, {"type": "text", "text": "What is this?"}]},
    {"role": "assistant", "content": "A cat."},
]
CASES: list[dict[str, Any]] = [
    {"template": "smollm2", "messages": HELLO},
    {"template": "smollm2", "messages": TALK},
    {"template": "smollm2", "messages": TALK, "add_generation_prompt": False},
    {"template": "blocks", "messages": TALK},
    {"template": "blocks", "messages": HELLO, "add_generation_prompt": False},
    {"template": "kept", "messages": HELLO},
    {"template": "tojson", "messages": TALK, "tools": TOOLS},
    {"template": "alternation", "messages": HELLO},
    {"template": "alternation", "messages": TALK},
    {"template": "loop_controls", "messages": [*TALK, *HELLO, *HELLO]},
    {"template": "clock", "messages": HELLO},
    {"template": "namespace_and_macro", "messages": TALK},
    {"template": "generation", "messages": TALK},
    {"template": "what_is_defined", "messages": HELLO},
    {"template": "what_is_defined", "messages": HELLO, "tools": TOOLS, "extra": "given", "documents": [{"title": "t"}]},
    {"template": "tool_calls", "messages": TOOL_TALK},
    {"template": "reasoning", "messages": THOUGHTS},
    {"template": "content_in_parts", "messages": PARTS},
    {"template": "string_methods", "messages": [{"role": "user", "content": "<think>no</think>\n\nyes "}]},
    {"template": "selection", "messages": TALK},
]


def rendered(tokenizer: Any, case: dict[str, Any]) -> dict[str, Any]:
    options = {key: value for key, value in case.items() if key not in ("template", "messages")}
    options = {"add_generation_prompt": True, **options}
    try:
        text = tokenizer.apply_chat_template(
            case["messages"], chat_template=TEMPLATES[case["template"]], tokenize=False, **options
        )
    except jinja2.TemplateError as e:
        return {**case, "error": str(e)}
    return {**case, "prompt": text}


def main() -> None:
    golden = json.loads((HERE / "smollm2.json").read_text("utf-8"))
    TEMPLATES["smollm2"] = golden["chat_template"]
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer(BPE({BOS: 0, EOS: 1}, [])), bos_token=BOS, eos_token=EOS
    )
    out = {
        "source": f"apply_chat_template of transformers {transformers.__version__}, jinja2 {jinja2.__version__}",
        "bos": BOS,
        "eos": EOS,
        "templates": TEMPLATES,
        "cases": [rendered(tokenizer, case) for case in CASES],
    }
    path = Path(__file__).with_suffix(".json")
    path.write_text(json.dumps(out, ensure_ascii=False, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
