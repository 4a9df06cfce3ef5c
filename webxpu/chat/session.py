"""A chat with a model: messages in, text out as it is made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from webxpu.errors import ShapeError, Unsupported
from webxpu.llm.reader import Reader
from webxpu.text.checks import checked_text
from webxpu.text.shield import Shield, texts_of
from webxpu.text.stops import StopStrings
from webxpu.text.stream import TextStream

if TYPE_CHECKING:
    from webxpu.llm.generate import Generation, Logprobs
    from webxpu.llm.lookup import Speculation
    from webxpu.llm.model import Model
    from webxpu.llm.sequence import Sequence as Conversation
    from webxpu.llm.timings import Timings
    from webxpu.text.tokenizers import AnyTokenizer

Message = Mapping[str, Any]

# Tokens of a reply unless the caller says otherwise.
REPLY_TOKENS = 512


class Reply:
    """The text of a generation as it comes: `async for piece in reply`. A piece is never empty or half a character.

    text            all text so far
    stop_string     the string of `stop` that ended it, which is not part of the text; or None
    prompt_ids, ids, reused_tokens, logprobs, speculation, finish_reason, timings   see
                    `webxpu.llm.generate.Generation`

    Leaving an `async for` early aborts it.
    """

    def __init__(self, generation: Generation, tokenizer: AnyTokenizer, stop: Sequence[str] = ()) -> None:
        self.text = ""
        self._generation = generation
        self._stream = TextStream(tokenizer)
        self._stops = StopStrings(stop)
        self._flushed = False

    @property
    def prompt_ids(self) -> list[int]:
        return self._generation.prompt_ids

    @property
    def ids(self) -> list[int]:
        return self._generation.ids

    @property
    def reused_tokens(self) -> int:
        return self._generation.reused_tokens

    @property
    def finish_reason(self) -> str | None:
        ended = self._generation.finish_reason
        return "stop" if ended in ("abort", "length", "context") and self.stop_string is not None else ended

    @property
    def stop_string(self) -> str | None:
        return self._stops.found

    @property
    def logprobs(self) -> list[Logprobs]:
        return self._generation.logprobs

    @property
    def speculation(self) -> Speculation | None:
        return self._generation.speculation

    @property
    def timings(self) -> Timings | None:
        return self._generation.timings

    def abort(self) -> None:
        """Ends the reply; the text so far stays."""
        self._generation.abort()

    async def stop(self) -> None:
        """Aborts and waits until the GPU has nothing of it left to do."""
        self.abort()
        while await anext(self._generation, None) is not None:
            pass

    def __aiter__(self) -> Reader:
        return Reader(self)

    async def __anext__(self) -> str:
        piece = ""
        while not piece and not self._flushed:
            ids = await anext(self._generation, None)
            if ids is None:
                self._flushed = True
                piece = self._stops.push(self._stream.finish()) + self._stops.finish()
            else:
                piece = self._stops.push(self._stream.push(ids))
                if self.stop_string is not None:
                    self._flushed = True
                    await self.stop()
        if not piece:
            raise StopAsyncIteration
        self.text += piece
        return piece


class Chat:
    """Turns messages into the model's own prompt form and streams the reply.

        chat = webxpu.Chat(model)
        async for piece in chat.stream([{"role": "user", "content": "Hello"}]):
            print(piece, end="")

    Send the whole conversation each time: what the model's cache holds already is not computed again. Several chats at
    once keep their own part of it with a sequence each: `webxpu.Chat(model, model.sequence())`.
    """

    def __init__(self, model: Model, sequence: Conversation | None = None) -> None:
        self.model = model
        self.sequence = model if sequence is None else sequence

    def prompt_ids(self, messages: Sequence[Message]) -> list[int]:
        """The ids that the model is fed for these messages. The template writes its own beginning of text, and only it
        writes control tokens: their names in a message are text.

        Raises Unsupported where the model's file has no template, and ShapeError for a wrong message.
        """
        if self.model.template is None:
            raise Unsupported(
                "chat: this model's file has no chat template; use model.generate with a prompt of your own"
            )
        template, checked = self.model.template, _checked(messages)
        shield = Shield(self.model.tokenizer, [template.source, *texts_of(checked)])
        return shield.encode(template.render(shield.cover(checked), add_generation_prompt=True))

    def stream(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int | None = REPLY_TOKENS,
        stop: Sequence[str] = (),
        **options: Any,
    ) -> Reply:
        """The reply to the last message.

        messages  {"role": "system" | "user" | "assistant", "content": text} each, oldest first
        stop      texts of which the first that comes ends the reply, and is not part of it

        The other options are those of `model.generate`. Raises ShapeError at once for a wrong message or option, and
        ContextOverflow where the conversation does not fit the context.
        """
        ids = self.prompt_ids(messages)
        StopStrings(stop)  # a wrong one is refused before anything begins
        generation = self.sequence.generate(ids, max_tokens=max_tokens, **options)
        return Reply(generation, self.model.tokenizer, stop)


def _checked(messages: Any) -> list[dict[str, Any]]:
    if isinstance(messages, str | Mapping) or not messages:
        raise ShapeError(f"chat: messages must be a list of at least one message, got {messages!r}")
    for place, message in enumerate(messages):
        if not isinstance(message, Mapping) or not all(isinstance(message.get(k), str) for k in ("role", "content")):
            raise ShapeError(f"chat: message {place} must have a role and a content, both text, got {message!r}")
        for key, value in message.items():
            for text in texts_of(value):
                checked_text(text, f"chat: {key} of message {place}")
    return [dict(message) for message in messages]
