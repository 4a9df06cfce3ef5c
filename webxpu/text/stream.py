"""Text of a reply while it is made: ids in, whole characters out."""

from __future__ import annotations

import codecs
from collections.abc import Iterable
from typing import Protocol, runtime_checkable


class _Vocabulary(Protocol):
    @property
    def special_ids(self) -> frozenset[int]: ...
    @property
    def strip_left(self) -> int: ...
    def token_bytes(self, token_id: int) -> bytes: ...


class _IdDecoder(Protocol):
    def push(self, ids: Iterable[int]) -> str: ...
    def finish(self) -> str: ...


@runtime_checkable
class _OwnDecoder(Protocol):
    """A vocabulary in which a token's text depends on more than its bytes."""

    def id_decoder(self, *, skip_special: bool) -> _IdDecoder: ...


class TextStream:
    """Decodes ids as they come. A character's bytes may come in several tokens: it is given out with the last of them.

    The pieces together are `Tokenizer.decode` of all ids, whatever the steps in which they came.
    """

    def __init__(self, tokenizer: _Vocabulary, *, skip_special: bool = True) -> None:
        self._own = tokenizer.id_decoder(skip_special=skip_special) if isinstance(tokenizer, _OwnDecoder) else None
        self._tokenizer = tokenizer
        self._skipped = tokenizer.special_ids if skip_special else frozenset[int]()
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._strip_left = tokenizer.strip_left

    def push(self, ids: Iterable[int]) -> str:
        """The text that these ids complete; it may be empty."""
        if self._own is not None:
            return self._own.push(ids)
        token_bytes = self._tokenizer.token_bytes
        return self._stripped(self._decoder.decode(b"".join([token_bytes(i) for i in ids if i not in self._skipped])))

    def finish(self) -> str:
        """What is left after the last id: U+FFFD for a character that stayed incomplete. The stream starts anew."""
        if self._own is not None:
            return self._own.finish()
        rest = self._stripped(self._decoder.decode(b"", final=True))
        self._decoder.reset()
        self._strip_left = self._tokenizer.strip_left
        return rest

    def _stripped(self, text: str) -> str:
        """Leaves out the spaces that the tokenizer puts before a text's first word."""
        while self._strip_left and text:
            if text[0] != " ":
                self._strip_left = 0
            else:
                text = text[1:]
                self._strip_left -= 1
        return text
