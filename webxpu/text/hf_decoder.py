"""What Hugging Face's tokenizer.json makes of pieces: the steps of `decoder`, as `tokenizers` 0.23 has them.

A step takes pieces and gives pieces. After Fuse there is one piece alone, which comes in parts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from webxpu.errors import Unsupported
from webxpu.text.hf_normalizer import Normal, pattern_of, replaced
from webxpu.text.hf_pretokenizer import prepend_scheme, replacement
from webxpu.text.tokenizer_json import refuse, setting, steps_of

if TYPE_CHECKING:
    from webxpu.text.sentencepiece import SentencePiece

# The library reads the two digits as a number, which may have a sign.
_BYTE = re.compile(r"<0x([0-9A-Fa-f]{2}|\+[0-9A-Fa-f])>", re.ASCII)
BYTE_PIECE = re.compile(r"<0x[0-9A-Fa-f]{2}>", re.ASCII)


class _Stage(Protocol):
    """A step at work."""

    def push(self, pieces: list[str]) -> list[str]: ...
    def finish(self) -> list[str]: ...


class _Each:
    """Changes every piece by itself: Replace, and Strip where pieces are whole."""

    def __init__(self, change: Callable[[str], str]) -> None:
        self._change = change

    def push(self, pieces: list[str]) -> list[str]:
        return [self._change(piece) for piece in pieces]

    def finish(self) -> list[str]:
        return []


class _Metaspace:
    """Signs become spaces, but go in the first piece where the pre-tokenizer puts one; `fused`: all is one piece."""

    def __init__(self, sign: str, puts: bool, fused: bool) -> None:
        self._sign, self._fused = sign, fused
        self._puts = self._first = puts

    def push(self, pieces: list[str]) -> list[str]:
        out = []
        for piece in pieces:
            out.append(piece.replace(self._sign, "" if self._first else " "))
            self._first = self._first and self._fused
        return out

    def finish(self) -> list[str]:
        self._first = self._puts
        return []


class _ByteFallback:
    """Pieces of bytes that follow each other become the text that they are; where they are no UTF-8, U+FFFD each."""

    def __init__(self) -> None:
        self._run = bytearray()

    def push(self, pieces: list[str]) -> list[str]:
        out: list[str] = []
        for piece in pieces:
            byte = _BYTE.fullmatch(piece)
            if byte:
                self._run.append(int(byte[1], 16))
            else:
                out += self.finish()
                out.append(piece)
        return out

    def finish(self) -> list[str]:
        run = bytes(self._run)
        self._run.clear()
        if not run:
            return []
        try:
            return [run.decode()]
        except UnicodeDecodeError:
            return ["\ufffd"] * len(run)


class _Ends:
    """Strip of one piece that comes in parts."""

    def __init__(self, sign: str, start: int, stop: int) -> None:
        self._sign, self._start, self._stop = sign, start, stop
        self._left, self._held = start, ""

    def push(self, pieces: list[str]) -> list[str]:
        text = "".join(pieces)
        while self._left and text:
            if text[0] != self._sign:
                self._left = 0
            else:
                self._left -= 1
                text = text[1:]
        text = self._held + text
        kept = max(len(text.rstrip(self._sign)), len(text) - self._stop)
        self._held = text[kept:]
        return [text[:kept]]

    def finish(self) -> list[str]:
        self._left, self._held = self._start, ""
        return []


class _Whole:
    """Waits for the end of the one piece, which the step needs whole."""

    def __init__(self, stage: _Stage) -> None:
        self._stage = stage
        self._parts: list[str] = []

    def push(self, pieces: list[str]) -> list[str]:
        self._parts += pieces
        return []

    def finish(self) -> list[str]:
        whole = "".join(self._parts)
        self._parts.clear()
        return [*self._stage.push([whole]), *self._stage.finish()]


class _Spaced:
    """Without a decoder there is a space between two pieces."""

    def __init__(self) -> None:
        self._first = True

    def push(self, pieces: list[str]) -> list[str]:
        out = [piece if self._first and not i else " " + piece for i, piece in enumerate(pieces)]
        self._first = self._first and not pieces
        return out

    def finish(self) -> list[str]:
        self._first = True
        return []


class DecoderSteps:
    """A tokenizer.json's `decoder`. Raises FormatError, and Unsupported for a step not known here."""

    def __init__(self, described: Mapping[str, Any]) -> None:
        self._makers: list[Callable[[], _Stage]] = []
        self._inside: list[Callable[[str], str]] = []
        self.byte_fallback = False
        fused = False
        steps = steps_of(described, "decoder")
        for step in steps:
            kind = step["type"]
            if kind == "Fuse":
                fused = True
            elif kind == "ByteFallback":
                self.byte_fallback = self.byte_fallback or not fused
                self._makers.append((lambda: _Whole(_ByteFallback())) if fused else _ByteFallback)
            elif kind == "Replace":
                self._replace(step, fused)
            elif kind == "Metaspace":
                self._metaspace(step, fused)
            elif kind == "Strip":
                self._strip(step, fused)
            else:
                raise Unsupported(f"tokenizer: the decoder {kind[:40]} is not supported")
        if not steps:
            self._makers.append(_Spaced)

    def stages(self) -> list[_Stage]:
        """The steps, ready to begin."""
        return [maker() for maker in self._makers]

    def inside(self, piece: str) -> str:
        """What a piece adds inside a text."""
        for change in self._inside:
            piece = change(piece)
        return piece

    def _replace(self, step: Mapping[str, Any], fused: bool) -> None:
        source = setting(step, "pattern", dict)
        pattern, content = pattern_of(step), setting(step, "content", str)
        own = source.get("String")

        def change(piece: str) -> str:
            return piece.replace(own, content) if own else replaced(Normal(piece, 0), pattern, content).text

        self._inside.append(change)
        parts = own is not None and len(own) == 1
        self._makers.append(lambda: _Whole(_Each(change)) if fused and not parts else _Each(change))

    def _metaspace(self, step: Mapping[str, Any], fused: bool) -> None:
        sign, puts = replacement(step), prepend_scheme(step) != "never"
        self._inside.append(lambda piece: piece.replace(sign, " "))
        self._makers.append(lambda: _Metaspace(sign, puts, fused))

    def _strip(self, step: Mapping[str, Any], fused: bool) -> None:
        sign = setting(step, "content", str)
        start, stop = setting(step, "start", int), setting(step, "stop", int)
        if len(sign) != 1:
            refuse("content of the step Strip", "one character", sign)
        if start < 0 or stop < 0:
            refuse("start and stop of the step Strip", "0 or more", (start, stop))
        if fused:
            self._makers.append(lambda: _Ends(sign, start, stop))
            return

        def change(piece: str) -> str:
            ends = _Ends(sign, start, stop)
            return "".join(ends.push([piece]))

        self._inside.append(change)
        self._makers.append(lambda: _Each(change))


class PieceDecoder:
    """Ids in, whole characters out, by a tokenizer.json's `decoder`."""

    def __init__(self, tokenizer: SentencePiece, steps: DecoderSteps, *, skip_special: bool) -> None:
        self._tokenizer, self._stages = tokenizer, steps.stages()
        special = (token.content for token in tokenizer.added if token.special)
        self._skipped = frozenset(special if skip_special else ())
        # The library has these tokens by the names under which they are found.
        self._normalized = {t.id: tokenizer.normalize(t.content) for t in tokenizer.added if t.normalized}

    def push(self, ids: Iterable[int]) -> str:
        """The text that these ids complete; it may be empty. Raises ShapeError for no id."""
        valid, pieces = self._tokenizer.valid_id, self._tokenizer.pieces
        own = self._normalized
        return self._pushed([own[i] if i in own else pieces[valid("decode", i)] for i in ids])

    def put(self, index: int, piece: str) -> str:  # noqa: ARG002
        """`push` for one piece that may not be the vocabulary's."""
        return self._pushed([piece])

    def finish(self) -> str:
        """What is left after the last id. The decoder starts anew."""
        pieces: list[str] = []
        for stage in self._stages:
            pieces = [*stage.push(pieces), *stage.finish()]
        return "".join(pieces)

    def _pushed(self, pieces: list[str]) -> str:
        pieces = [piece for piece in pieces if piece not in self._skipped]
        for stage in self._stages:
            pieces = stage.push(pieces)
        return "".join(pieces)
