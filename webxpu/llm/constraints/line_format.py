"""Replies of a fixed form: literal texts, choices among words, and at the end perhaps free text."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from webxpu.errors import ShapeError
from webxpu.llm.constraints import ConstraintError


class Codec(Protocol):
    """Text to ids and back, as the constraint needs it. A model's tokenizer is one.

    vocab_size   how many ids there are
    encode       the ids of a text, without special ones
    id_to_token  the text that an id alone stands for, so that the piece <0x0A> is a line break. Ids that free text must
                 not have, such as control tokens, give None.
    """

    vocab_size: int

    def encode(self, text: str) -> Sequence[int]: ...

    def id_to_token(self, token: int) -> str | None: ...


@dataclass(frozen=True)
class Literal:
    """Exactly this text."""

    text: str


@dataclass(frozen=True)
class Choice:
    """One of these texts."""

    choices: Sequence[str]


@dataclass(frozen=True)
class FreeText:
    """Any text of at most `max_length` code points without the forbidden characters. Only the last segment may be
    free."""

    forbidden_chars: str = ""
    max_length: int = 1000


Segment = Literal | Choice | FreeText


@dataclass
class _Node:
    """A place in the tree of the choices' ids, and the first choice that came by; it ends where there is no branch."""

    choice: str = ""
    branches: dict[int, _Node] = field(default_factory=dict)


@dataclass(frozen=True)
class _Place:
    """Where a prefix stands: in which segment, after how many of its ids (literal), at which node of the tree (choice),
    after how many code points (free text); or behind the end-of-sequence id."""

    segment: int = 0
    ids: int = 0
    node: _Node | None = None
    length: int = 0
    ended: bool = False


class LineFormatConstraint:
    """A reply is the segments one after another, then `eos_token_id`.

    Each segment is encoded on its own, which may be another run of ids than that of the joined line: the model is held
    to this one. Lengths are in code points. An id whose text is empty uses up no length, so a reply has no greatest
    number of tokens: whoever drives it limits them. Raises ShapeError for a format that can't be followed.
    """

    def __init__(self, codec: Codec, segments: Sequence[Segment], *, eos_token_id: int) -> None:
        self._eos = eos_token_id
        self._segments = tuple(segments)
        self._texts: dict[int, list[int]] = {}
        self._trees: dict[int, _Node] = {}
        self._lengths: dict[int, int] = {}
        self._within: dict[int, frozenset[int]] = {}  # by what is left, the ids of free text that fit
        self._known: tuple[tuple[int, ...], _Place] = ((), _Place())
        if not 0 <= eos_token_id < codec.vocab_size:
            raise ShapeError(
                f"LineFormatConstraint: eos_token_id must be from 0 to {codec.vocab_size - 1}, got {eos_token_id}"
            )
        for index, segment in enumerate(self._segments):
            if isinstance(segment, Literal):
                self._texts[index] = _ids_of(codec, segment.text, f"literal segment {index}")
            elif isinstance(segment, Choice):
                self._trees[index] = _tree(codec, segment, index)
            elif index != len(self._segments) - 1:
                raise ShapeError(f"LineFormatConstraint: free text must be the last segment, got segment {index}")
            else:
                self._lengths = _free_lengths(codec, segment, eos_token_id)

    def allowed(self, prefix: Sequence[int]) -> Collection[int]:
        """The ids that may follow: the empty set behind the end of the sequence, where nothing does.

        Raises ConstraintError for a prefix that the format rules out.
        """
        place = self._place_of(tuple(prefix))
        if place.ended:
            return frozenset()
        if place.segment == len(self._segments):
            return frozenset((self._eos,))
        segment = self._segments[place.segment]
        if isinstance(segment, Literal):
            return frozenset((self._texts[place.segment][place.ids],))
        if isinstance(segment, Choice):
            return frozenset((place.node or self._trees[place.segment]).branches)
        return self._fitting(segment.max_length - place.length)

    def _place_of(self, prefix: tuple[int, ...]) -> _Place:
        """Where a prefix stands: from where the last one stood, if this one continues it."""
        known, place = self._known
        if prefix[: len(known)] != known:
            known, place = (), _Place()
        for position in range(len(known), len(prefix)):
            place = self._step(place, prefix[position], position)
        self._known = prefix, place
        return place

    def _step(self, place: _Place, token: int, position: int) -> _Place:
        if place.ended or place.segment == len(self._segments):
            return self._after_all(place, token, position)
        segment = self._segments[place.segment]
        if isinstance(segment, Literal):
            wanted = self._texts[place.segment]
            if token != wanted[place.ids]:
                raise ConstraintError(
                    f"prefix diverges from the literal at position {position}: "
                    f"expected {wanted[place.ids]}, got {token}"
                )
            last = place.ids + 1 == len(wanted)
            return _Place(place.segment + 1) if last else _Place(place.segment, place.ids + 1)
        if isinstance(segment, Choice):
            node = (place.node or self._trees[place.segment]).branches.get(token)
            if node is None:
                raise ConstraintError(f"prefix matches no choice at position {position}: got {token}")
            return _Place(place.segment, node=node) if node.branches else _Place(place.segment + 1)
        if token == self._eos:
            return _Place(place.segment, length=place.length, ended=True)
        if token not in self._lengths:
            raise ConstraintError(f"token at position {position} is not allowed in free text: got {token}")
        length = place.length + self._lengths[token]
        if length > segment.max_length:
            raise ConstraintError(
                f"free text is longer than {segment.max_length} at position {position}: got {length} code points"
            )
        return _Place(place.segment, length=length)

    def _after_all(self, place: _Place, token: int, position: int) -> _Place:
        if place.ended or token != self._eos:
            raise ConstraintError(f"prefix goes on after the format is complete at position {position}: got {token}")
        return _Place(place.segment, ended=True)

    def _fitting(self, left: int) -> frozenset[int]:
        if left not in self._within:
            fits = {token for token, length in self._lengths.items() if left > 0 and length <= left}
            self._within[left] = frozenset(fits | {self._eos})
        return self._within[left]


def _ids_of(codec: Codec, text: str, what: str) -> list[int]:
    ids = list(codec.encode(text))
    if not ids:
        raise ShapeError(f"LineFormatConstraint: {what} must be of at least one token, got {text!r}")
    return ids


def _tree(codec: Codec, segment: Choice, index: int) -> _Node:
    """The choices by their ids. None may begin with another: it would never be known that the other one ended."""
    root = _Node()
    if not segment.choices:
        raise ShapeError(f"LineFormatConstraint: choice segment {index} must have choices, got none")
    for choice in segment.choices:
        node, ids = root, _ids_of(codec, choice, f"a choice of segment {index}")
        while ids and ids[0] in node.branches:
            node = node.branches[ids.pop(0)]
        if not ids or (node is not root and not node.branches):
            raise ShapeError(
                f"LineFormatConstraint: choices of segment {index} must not begin with one another in tokens, "
                f"got {choice!r} and {node.choice!r}"
            )
        for token in ids:
            node.branches[token] = _Node(choice)
            node = node.branches[token]
    return root


def _free_lengths(codec: Codec, segment: FreeText, eos_token_id: int) -> dict[int, int]:
    """The ids that free text may have, each with its length."""
    if segment.max_length < 0:
        raise ShapeError(f"LineFormatConstraint: max_length must be at least 0, got {segment.max_length}")
    lengths = {}
    for token in range(codec.vocab_size):
        text = None if token == eos_token_id else codec.id_to_token(token)
        if text is not None and not any(c in segment.forbidden_chars for c in text):
            lengths[token] = len(text)
    return lengths
