"""Chat: messages become the model's prompt, ids become whole characters."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from tests.llm import tiny
from tests.llm.numpy_device import numpy_engine
from webxpu.chat.session import Chat, Reply
from webxpu.errors import ShapeError, TemplateError, Unsupported
from webxpu.llm.checkpoint import open_gguf
from webxpu.llm.model import Model
from webxpu.llm.source import Source
from webxpu.text.template import ChatTemplate

TEMPLATE = (
    "{% if messages[0]['role'] == 'tool' %}{{ raise_exception('no tools here') }}{% endif %}"
    "{% for m in messages %}<{{ m['role'] }}>{{ m['content'] }}{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}"
)
HELLO = [{"role": "user", "content": "Hello"}]


class Bytes:
    """A tokenizer whose ids are bytes; 256 is a special token."""

    special_ids = frozenset([256])
    special_names = {}  # noqa: RUF012 (a stand-in)
    strip_left = 0

    def encode(self, text: str, *, add_special: bool) -> list[int]:
        assert not add_special  # the template writes its own
        return list(text.encode())

    def token_bytes(self, token_id: int) -> bytes:
        return bytes([token_id])


class FakeGeneration:
    def __init__(self, ids: Sequence[int], batches: Sequence[Sequence[int]]) -> None:
        self.prompt_ids, self.ids, self.reused_tokens = list(ids), [], 3
        self.finish_reason: str | None = None
        self.timings = "timings"
        self.aborted = False
        self._batches = iter(batches)

    def __aiter__(self) -> FakeGeneration:
        return self

    async def __anext__(self) -> list[int]:
        batch = None if self.aborted else next(self._batches, None)
        if batch is None:
            self.finish_reason = "abort" if self.aborted else "stop"
            raise StopAsyncIteration
        self.ids += batch
        return list(batch)

    def abort(self) -> None:
        self.aborted = True


class FakeModel:
    """Answers with given batches of ids, and remembers what it was asked."""

    def __init__(self, batches: Sequence[Sequence[int]] = (), template: str | None = TEMPLATE) -> None:
        self.tokenizer = Bytes()
        self.template = None if template is None else ChatTemplate(template)
        self.batches, self.asked = batches, []

    def generate(self, ids: Sequence[int], **options: Any) -> FakeGeneration:
        self.asked.append((list(ids), options))
        return FakeGeneration(ids, self.batches)


def chat(*batches: Sequence[int], **options: Any) -> Chat:
    return Chat(FakeModel(batches, **options))  # type: ignore[arg-type]


def read(reply: Reply) -> list[str]:
    async def collect() -> list[str]:
        return [piece async for piece in reply]

    return asyncio.run(collect())


def test_messages_are_rendered_with_the_start_of_the_reply() -> None:
    session = chat(b"Hi")
    session.stream([{"role": "system", "content": "Be kind."}, *HELLO])
    ids, _ = session.model.asked[0]  # type: ignore[attr-defined]
    assert bytes(ids) == b"<system>Be kind.<user>Hello<assistant>"


def test_options_reach_the_model_and_greedy_with_a_limit_is_the_default() -> None:
    session = chat()
    session.stream(HELLO)
    session.stream(HELLO, max_tokens=7, temperature=0.5, top_k=4, top_p=0.9, min_p=0.1, seed=3, stop_ids=[9])
    plain, full = (options for _, options in session.model.asked)  # type: ignore[attr-defined]
    assert plain == {"max_tokens": 512}
    on = {"top_k": 4, "top_p": 0.9, "min_p": 0.1, "seed": 3, "stop_ids": [9]}
    assert full == {"max_tokens": 7, "temperature": 0.5, **on}


def test_pieces_are_whole_characters_and_never_empty() -> None:
    euro, smile = "€".encode(), "😀".encode()
    reply = chat(b"a", euro[:1], euro[1:2], euro[2:] + b"b" + smile[:3], smile[3:], [256], b"c").stream(HELLO)
    assert read(reply) == ["a", "€b", "😀", "c"]
    assert reply.text == "a€b😀c"
    assert reply.finish_reason == "stop"
    assert (reply.prompt_ids, reply.reused_tokens, reply.timings) == (list(b"<user>Hello<assistant>"), 3, "timings")
    assert bytes(i for i in reply.ids if i < 256) == "a€b😀c".encode()


def test_a_character_that_never_became_whole_ends_the_text_as_a_replacement() -> None:
    reply = chat(b"a", "😀".encode()[:2]).stream(HELLO)
    assert read(reply) == ["a", "\ufffd"]
    assert read(reply) == []


def test_a_reply_without_ids_is_no_piece() -> None:
    assert read(chat().stream(HELLO)) == []


def test_abort_ends_the_reply_and_keeps_its_text() -> None:
    async def stop_after_one() -> Reply:
        reply = chat(b"one ", b"two ", b"three").stream(HELLO)
        async for _ in reply:
            reply.abort()
        return reply

    reply = asyncio.run(stop_after_one())
    assert (reply.text, reply.finish_reason) == ("one ", "abort")


@pytest.mark.parametrize(
    ("messages", "message"),
    [
        ([], r"messages must be a list of at least one message, got \[\]"),
        ("Hello", "messages must be a list of at least one message, got 'Hello'"),
        ({"role": "user", "content": "x"}, "messages must be a list of at least one message, got {'role'.*}"),
        ([*HELLO, "x"], "message 1 must have a role and a content, both text, got 'x'"),
        ([{"role": "user"}], r"message 0 must have a role and a content, both text, got {'role': 'user'}"),
        ([{"content": "x"}], "message 0 must have a role and a content, both text, got .*"),
        ([{"role": "user", "content": 7}], "message 0 must have a role and a content, both text, got .*"),
    ],
)
def test_what_are_no_messages_is_refused(messages: Any, message: str) -> None:
    with pytest.raises(ShapeError, match=f"^chat: {message}$"):
        chat().stream(messages)


def test_a_model_without_a_template_cannot_chat_and_the_error_says_what_can() -> None:
    with pytest.raises(Unsupported, match=r"^chat: this model's file has no chat template; use model\.generate"):
        chat(template=None).stream(HELLO)


def test_what_the_template_refuses_comes_out_as_its_own_error() -> None:
    with pytest.raises(TemplateError, match="no tools here"):
        chat().stream([{"role": "tool", "content": "x"}])


def test_the_tiny_model_chats_on_numpy_and_goes_on_from_its_cache() -> None:
    """The real parts together: file, tokenizer, template, engine; only the GPU is NumPy."""
    checkpoint = open_gguf(tiny.header(), Source.parse(tiny.FILE.name))
    tokenizer = checkpoint.tokenizer
    engine = numpy_engine(tiny.model()[0], tiny.dense(), 256).engine
    model = Model(engine, checkpoint, tensors={}, owns_device=False, load_ms=5.0)
    session = Chat(model)
    first = session.stream(HELLO, max_tokens=10, stop_ids=[])
    assert "".join(read(first)) == first.text == tokenizer.decode(first.ids)
    assert tokenizer.decode(first.prompt_ids, skip_special=False) == (
        "<|im_start|>user\nHello<|im_end|>\n<|im_start|>assistant\n"
    )
    assert (len(first.ids), first.finish_reason) == (10, "length")
    assert first.timings is not None
    assert first.timings.load_ms == 5.0
    again = [*HELLO, {"role": "assistant", "content": "Hello"}, {"role": "user", "content": "the world"}]
    second = session.stream(again, max_tokens=4)
    read(second)
    assert second.reused_tokens >= len(first.prompt_ids) - 1
    asyncio.run(model.reset())
    fresh = session.stream(again, max_tokens=4)
    read(fresh)
    assert fresh.reused_tokens == 0
    assert fresh.ids == second.ids


@pytest.mark.parametrize("pieces", [1, 2, 3, 100])
def test_a_stop_string_ends_the_reply_wherever_its_pieces_are_cut(pieces: int) -> None:
    text = b"I said ST, then STOP and more"
    reply = chat(*(text[i : i + pieces] for i in range(0, len(text), pieces))).stream(HELLO, stop=["STOP", "more"])
    assert "".join(read(reply)) == reply.text == "I said ST, then "
    assert (reply.finish_reason, reply.stop_string) == ("stop", "STOP")


def test_an_end_that_a_stop_string_begins_with_is_given_out_at_the_end() -> None:
    reply = chat(b"I said S", b"TO").stream(HELLO, stop=["STOP"])
    assert read(reply) == ["I said ", "STO"]
    assert (reply.finish_reason, reply.stop_string) == ("stop", None)
    broken = chat(b"x\xe2\x82").stream(HELLO, stop=["\ufffd!"])
    assert read(broken) == ["x", "\ufffd"]


def test_the_stop_string_that_is_complete_first_counts_in_whatever_pieces_it_comes() -> None:
    for pieces in ([b"xabcd"], [b"xabc", b"d"], [b"xa", b"b", b"cd"]):
        assert "".join(read(chat(*pieces).stream(HELLO, stop=["abcd", "bc"]))) == "xa"
    both = chat(b"abcd").stream(HELLO, stop=["cd", "bcd"])
    assert (read(both), both.stop_string) == (["a"], "bcd")


@pytest.mark.parametrize("stop", ["STOP", [""], [3]])
def test_stop_strings_are_a_list_of_texts(stop: Any) -> None:
    session = chat(b"a")
    with pytest.raises(ShapeError, match=r"^chat: stop must be a list of texts that are not empty, got "):
        session.stream(HELLO, stop=stop)
    assert session.model.asked == []  # type: ignore[attr-defined]


def test_breaking_out_of_a_reply_aborts_its_generation() -> None:
    async def leave() -> tuple[str | None, str]:
        reply = chat(b"a", b"b", b"c").stream(HELLO)
        async for _ in reply:
            break
        for _ in range(3):
            await asyncio.sleep(0)
        return reply.finish_reason, reply.text

    assert asyncio.run(leave()) == ("abort", "a")


def test_the_cache_is_right_after_a_stop_string() -> None:
    engine = numpy_engine(tiny.model()[0], tiny.dense(), 256).engine
    model = Model(
        engine, open_gguf(tiny.header(), Source.parse(tiny.FILE.name)), tensors={}, owns_device=False, load_ms=5.0
    )
    session = Chat(model)
    whole = session.stream(HELLO, max_tokens=20, stop_ids=[])
    text = "".join(read(whole))
    asyncio.run(model.reset())
    cut = session.stream(HELLO, max_tokens=20, stop_ids=[], stop=[text[8:12]])
    assert "".join(read(cut)) == text[:8]
    again = session.stream(HELLO, max_tokens=20, stop_ids=[])
    assert "".join(read(again)) == text
    assert again.reused_tokens == len(again.prompt_ids) - 1


def test_a_stop_string_that_the_last_possible_token_completes_is_a_stop() -> None:
    engine = numpy_engine(tiny.model()[0], tiny.dense(), 256).engine
    checkpoint = open_gguf(tiny.header(), Source.parse(tiny.FILE.name))
    session = Chat(Model(engine, checkpoint, tensors={}, owns_device=False, load_ms=5.0))
    text = "".join(read(session.stream(HELLO, max_tokens=8, stop_ids=[])))
    reply = session.stream(HELLO, max_tokens=8, stop_ids=[], stop=[text[-3:]])
    assert "".join(read(reply)) == text[: text.index(text[-3:])]
    assert (len(reply.ids), reply.finish_reason, reply.stop_string) == (8, "stop", text[-3:])


def test_chats_with_a_sequence_each_run_at_once() -> None:
    engine = numpy_engine(tiny.model()[0], tiny.dense(), 256, sequences=2).engine
    checkpoint = open_gguf(tiny.header(), Source.parse(tiny.FILE.name))
    model = Model(engine, checkpoint, tensors={}, owns_device=False, load_ms=5.0)
    one, two = Chat(model), Chat(model, model.sequence())
    other = [{"role": "user", "content": "Good morning"}]

    async def drained(reply: Reply) -> str:
        async for _ in reply:
            await asyncio.sleep(0)
        return reply.text

    async def both() -> list[str]:
        options: dict[str, Any] = {"max_tokens": 12, "stop_ids": []}
        return await asyncio.gather(drained(one.stream(HELLO, **options)), drained(two.stream(other, **options)))

    texts = asyncio.run(both())
    again = one.stream([*HELLO, {"role": "assistant", "content": "x"}, *HELLO], max_tokens=2, stop_ids=[])
    read(again)
    assert again.reused_tokens > len(HELLO[0]["content"])
    asyncio.run(model.reset())
    assert texts == ["".join(read(one.stream(m, max_tokens=12, stop_ids=[]))) for m in (HELLO, other)]
