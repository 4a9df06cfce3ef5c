"""What stands around the cutting of a SentencePiece vocabulary: how a text becomes stretches and ids become text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Protocol

from webxpu.formats.sentencepiece_model import SentencePieceModel
from webxpu.text.sentencepiece_normalizer import SPACE_SYMBOL, Normalizer
from webxpu.text.sentencepiece_segment import segmenter

if TYPE_CHECKING:
    from webxpu.text.sentencepiece import SentencePiece


class Decoder(Protocol):
    """Ids in, whole characters out. All that `push`, `put` and at last `finish` give is the text."""

    def push(self, ids: Iterable[int]) -> str:
        """The text that these ids complete; it may be empty. Raises ShapeError for no id."""

    def put(self, index: int, piece: str) -> str:
        """`push` for one piece that may not be the vocabulary's: then `index` is the unknown piece's, or -1."""

    def finish(self) -> str:
        """What is left after the last id. The decoder starts anew."""


class Rules(Protocol):
    """What `SentencePiece` does beside the vocabulary, for formats whose rules are not those of a model file.

    A text is split at names of special and added tokens. Each span between goes through `normalize`, then
    `stretches`, and each stretch through `cut`.

    around   ids that `add_special` puts before and after a text; None: what `add_bos` and `add_eos` say

    `first` and `last` say whether the span is where a text's own word boundary belongs: it begins or ends the text.
    """

    around: tuple[Sequence[int], Sequence[int]] | None

    def normalize(self, text: str, *, first: bool, last: bool) -> str:
        """The span, never empty, as it is cut, before it is divided. Added tokens that are `normalized` are looked for
        here."""

    def stretches(self, normal: str, *, first: bool, last: bool) -> Sequence[str]:
        """The parts of a normalised span that are cut one by one: no piece reaches over two of them, and a run of
        unknown characters ends with its stretch."""

    def cut(self, stretch: str, *, names: bool) -> list[tuple[str, int]]:
        """Texts and ids of pieces. The model's unk_id stands for bytes, where the model has them; else those next to
        each other in a stretch become one.

        names   whether special tokens may be pieces, where text becomes one of their names in `normalize`
        """

    def surface(self, piece: str) -> str:
        """What a piece of the types normal, user-defined and unused adds inside a text."""

    def decoder(self, tokenizer: SentencePiece, *, skip_special: bool) -> Decoder:
        """A new decoder of this tokenizer's ids; `tokenizer.surfaces` has what each id adds, a byte as a number."""


class ModelRules:
    """The rules that a model file has: one stretch a span, by `normalizer_spec`."""

    def __init__(self, model: SentencePieceModel) -> None:
        self.around: tuple[Sequence[int], Sequence[int]] | None = None
        self.normalize = Normalizer(model)
        self._segment = segmenter(model)

    def stretches(self, normal: str, *, first: bool, last: bool) -> Sequence[str]:  # noqa: ARG002
        return (normal,)

    def cut(self, stretch: str, *, names: bool) -> list[tuple[str, int]]:  # noqa: ARG002
        return self._segment(stretch)

    def surface(self, piece: str) -> str:
        return piece.replace(SPACE_SYMBOL, " ")

    def decoder(self, tokenizer: SentencePiece, *, skip_special: bool) -> Decoder:
        return IdDecoder(tokenizer, skip_special)


class IdDecoder:
    """The decoder of a model file's rules."""

    def __init__(self, tokenizer: SentencePiece, skip_special: bool) -> None:
        self._tokenizer, self._surfaces, self._skip_special = tokenizer, tokenizer.surfaces, skip_special
        self._literal, self._skipped = tokenizer.literal_ids, tokenizer.special_ids if skip_special else frozenset()
        spec = tokenizer.model.normalizer
        self._strips = spec.add_dummy_prefix or spec.remove_extra_whitespaces
        self._strips_all = spec.remove_extra_whitespaces
        self._begin = self._strips
        self._empty = True
        self._pending = b""

    def push(self, ids: Iterable[int]) -> str:
        """The text that these ids complete; it may be empty. Raises ShapeError for no id."""
        valid, pieces = self._tokenizer.valid_id, self._tokenizer.pieces
        return "".join([self.put(index, pieces[valid("decode", index)]) for index in ids])

    def finish(self) -> str:
        """What is left after the last id: U+FFFD for each byte of an incomplete character. The decoder starts anew."""
        rest = self._flushed()
        self._begin, self._empty = self._strips, True
        return rest

    def put(self, index: int, piece: str) -> str:
        """`push` for one piece that may not be the vocabulary's: then `index` is the unknown piece's."""
        surface = self._surfaces[index] if index >= 0 else ""
        if isinstance(surface, int):
            self._pending += bytes([surface])
            return self._noted(self._complete())
        text = self._flushed()
        if not self._empty:
            self._begin = False
        if index in self._literal:
            return text if index in self._skipped else text + self._noted(piece)
        if index == self._tokenizer.unk_id and not self._skip_special:
            return text + self._noted(piece)
        boundary = self._begin and piece.startswith(SPACE_SYMBOL)
        if index == self._tokenizer.unk_id:
            own = index >= 0 and self._tokenizer.pieces[index] == piece
            surface = surface if own else piece
        elif boundary:
            surface = surface[1:]
        if boundary and not self._strips_all:
            self._begin = False
        return text + self._noted(surface)

    def _noted(self, text: str) -> str:
        self._empty = self._empty and not text
        return text

    def _complete(self) -> str:
        """Takes from the pending bytes what later ones cannot change."""
        out = ""
        while self._pending:
            try:
                out += self._pending.decode()
                self._pending = b""
            except UnicodeDecodeError as e:
                out += self._pending[: e.start].decode()
                self._pending = self._pending[e.start :]
                if e.reason == "unexpected end of data":
                    break
                out += "\ufffd"
                self._pending = self._pending[1:]
        return out

    def _flushed(self) -> str:
        """The pending bytes, which no id completes any more."""
        out = ""
        while self._pending:
            out += self._complete()
            if self._pending:
                out += "\ufffd"
                self._pending = self._pending[1:]
        return self._noted(out)
