"""Chat templates: real Jinja2 in a sandbox, set up as transformers does, since templates are code out of a file.

https://github.com/huggingface/transformers/blob/v5.24.0/src/transformers/utils/chat_template_utils.py
"""

from __future__ import annotations

import json
import traceback
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NoReturn

import jinja2
import jinja2.ext
import jinja2.parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

from webxpu.errors import TemplateError
from webxpu.formats.gguf import metadata_value

# Names that a message's reasoning goes by; templates read the first, gpt-oss's the second.
_REASONING_KEYS = ("reasoning_content", "thinking", "reasoning")
_FILE_NAME = "<template>"  # jinja2's name for a template that came as a string


class ChatTemplate:
    """A model's template: messages in, prompt out."""

    def __init__(self, source: str, bos: str | None = None, eos: str | None = None) -> None:
        """`bos` and `eos` are the tokens that templates know as bos_token and eos_token.

        Raises TemplateError, naming the line, for a template that is not Jinja.
        """
        self.source = source
        self._tokens = {name: token for name, token in (("bos_token", bos), ("eos_token", eos)) if token is not None}
        try:
            self._template = _environment().from_string(source)
        except jinja2.TemplateSyntaxError as e:
            raise TemplateError(f"chat template, line {e.lineno}: {e.message}") from e

    @classmethod
    def from_gguf(cls, metadata: Mapping[str, Any]) -> ChatTemplate | None:
        """`tokenizer.chat_template` of a GGUF file's metadata, or None where there is none."""
        if "tokenizer.chat_template" not in metadata:
            return None
        source = metadata_value(metadata, "tokenizer.chat_template", str)
        pieces = metadata_value(metadata, "tokenizer.ggml.tokens", list)

        def piece(name: str) -> str | None:
            index = metadata.get(f"tokenizer.ggml.{name}_token_id")
            return pieces[index] if isinstance(index, int) and 0 <= index < len(pieces) else None

        return cls(source, piece("bos"), piece("eos"))

    def render(
        self, messages: Sequence[Mapping[str, Any]], add_generation_prompt: bool = True, **variables: Any
    ) -> str:
        """The prompt for messages, up to where the assistant's reply begins (without `add_generation_prompt`: to the
        end of the last message). `variables` reach the template, `tools` and `documents` among them.

        Raises TemplateError for what the template refuses (`raise_exception`), for its own faults and for values that
        are not plain data.
        """
        shown = {"tools": None, "documents": None, **self._tokens, **variables}
        plain = [_with_reasoning(_plain(message, f"message {place}")) for place, message in enumerate(messages)]
        values = {name: _plain(value, name) for name, value in shown.items()}
        try:
            return self._template.render(messages=plain, add_generation_prompt=add_generation_prompt, **values)
        except Exception as e:  # a template can raise whatever Python's own types raise
            raise TemplateError(f"chat template{_line(e)}: {str(e) or type(e).__name__}") from e


def _plain(value: Any, what: str) -> Any:
    """The value rebuilt of JSON's types, so that a template never holds an object with methods of its own."""
    if value is None or type(value) in (str, int, float, bool):
        return value
    for kind in (str, int, float):
        if isinstance(value, kind):  # enums and the like: only their value
            return kind(value) if kind is not str else str.__str__(value)
    if isinstance(value, Mapping):
        return {_plain(key, what): _plain(item, what) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item, what) for item in value]
    raise TemplateError(
        f"chat template: {what} must be made of texts, numbers, lists and dictionaries, got {type(value).__name__}"
    )


def _with_reasoning(message: Any) -> Any:
    """Without keys that are None, which templates take for text, and with reasoning under the names templates read."""
    if not isinstance(message, dict):
        raise TemplateError(f"chat template: a message must be a dictionary, got {type(message).__name__}")
    message = {key: value for key, value in message.items() if value is not None}
    reasoning = next((message[key] for key in _REASONING_KEYS if key in message), None)
    if reasoning is None:
        return message
    return {"thinking": reasoning, **message, "reasoning_content": reasoning}


def _line(error: Exception) -> str:
    """Where in the template an error came up: jinja2 gives tracebacks the template's own lines."""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == _FILE_NAME]
    return f", line {lines[-1]}" if lines else ""


def _environment() -> ImmutableSandboxedEnvironment:
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[_Generation, jinja2.ext.loopcontrols]
    )
    environment.filters["tojson"] = _to_json
    environment.globals |= {
        "raise_exception": _raise_exception,
        "strftime_now": _strftime_now,
        "dict": _Dict(),
        "namespace": _Namespace,
    }
    return environment


class _Generation(jinja2.ext.Extension):
    """`{% generation %}` marks an assistant's words for training; here its content is simply rendered."""

    tags = {"generation"}  # noqa: RUF012 (jinja2 declares it as an instance attribute)

    def parse(self, parser: jinja2.parser.Parser) -> jinja2.nodes.Node:
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("_content"), [], [], body).set_lineno(line)

    def _content(self, caller: Any) -> str:
        return str(caller())


class _Dict:
    """`dict` in templates: its two ways of making one, and no type to climb from."""

    def __call__(self, *args: Any, **kwargs: Any) -> dict[Any, Any]:
        return dict(*args, **kwargs)

    def fromkeys(self, keys: Any, value: Any = None) -> dict[Any, Any]:
        return dict.fromkeys(keys, value)


class _Namespace(jinja2.utils.Namespace):
    """`namespace` in templates; names that begin with an underscore would reach Python's own attributes."""

    def __init__(*args: Any, **kwargs: Any) -> None:  # no `self`: a template may call a variable so
        self, *rest = args
        values = dict(*rest, **kwargs)
        for name in values:
            _check_name(name)
        jinja2.utils.Namespace.__init__(self, values)

    def __setitem__(self, name: str, value: Any) -> None:
        _check_name(name)
        super().__setitem__(name, value)


def _check_name(name: Any) -> None:
    if isinstance(name, str) and name.startswith("_"):
        raise jinja2.exceptions.SecurityError(f"a namespace must have no name with a leading underscore, got {name!r}")


def _to_json(
    value: Any,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    """jinja2's own filter escapes HTML, which no model was trained on."""
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def _raise_exception(message: str) -> NoReturn:
    raise jinja2.TemplateError(message)


def _strftime_now(format: str) -> str:
    return datetime.now().strftime(format)
