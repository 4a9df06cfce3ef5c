"""Added tokens: names found in a text before the rest of it is cut, as `tokenizers` and llama.cpp find them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from webxpu.errors import ShapeError
from webxpu.formats.sentencepiece_model import Pieces, PieceType, SentencePieceModel
from webxpu.text.hf_tokenizer import MAX_VOCAB, TURN_MARKS
from webxpu.text.sentencepiece_normalizer import Symbols

# The property White_Space of Unicode; Python's own notion has four control characters more.
WHITE_SPACE = "\t\n\v\f\r \x85\xa0\u1680" + "".join(map(chr, range(0x2000, 0x200B))) + "\u2028\u2029\u202f\u205f\u3000"
ASCII_SPACE = "\t\n\v\f\r "
_WORD_KINDS = frozenset(("Lu", "Ll", "Lt", "Lm", "Lo", "Nl", "Mn", "Mc", "Me", "Nd", "Pc"))
# Of words, too: circled, squared and negative letters, which are symbols by their category, and two joiners.
_WORD_OTHERS = (
    range(0x24B6, 0x24EA),
    range(0x1F130, 0x1F14A),
    range(0x1F150, 0x1F16A),
    range(0x1F170, 0x1F18A),
    range(0x200C, 0x200E),
)


@dataclass(frozen=True)
class AddedToken:
    """A name in a text that is one token.

    id           may be a piece's, or past the pieces
    special      a control token: `decode` leaves it out, and parse_special=False leaves its name as text
    lstrip, rstrip   takes the white space before it, or after it, with it
    single_word  only where no letter, digit, mark or underscore stands beside it
    normalized   is looked for, itself normalised, in the normalised text; else in the text as it is
    """

    id: int
    content: str
    special: bool = False
    lstrip: bool = False
    rstrip: bool = False
    single_word: bool = False
    normalized: bool = False


Spans = list[tuple[AddedToken | None, str]]
"""Parts of a text in its order: a token, or none and a text that is not empty."""


class Splitter:
    """Finds tokens in texts.

    From left to right, the longest at each place, as `tokenizers` does; or with `longest_first` the longest of the
    whole text before any shorter one, wherever they stand, as llama.cpp does, to which only ASCII has white space.
    """

    def __init__(self, tokens: Iterable[AddedToken], *, longest_first: bool = False) -> None:
        self._tokens = {token.content: token for token in tokens if token.content}
        self._symbols = Symbols(self._tokens)
        firsts = "".join(sorted({re.escape(content[0]) for content in self._tokens}))
        self._begins = re.compile(f"[{firsts}]" if firsts else "(?!)")
        self._longest_first = longest_first
        self.space = ASCII_SPACE if longest_first else WHITE_SPACE
        self._spaces = re.compile(f"[{self.space}]*")

    def __bool__(self) -> bool:
        return bool(self._tokens)

    def split(self, text: str) -> Spans:
        """The text's parts."""
        if not text:
            return []
        spans: Spans = []
        done = 0
        for token, start, end in self._by_length(text) if self._longest_first else self._from_left(text):
            if done < start:
                spans.append((None, text[done:start]))
            spans.append((token, text[start:end]))
            done = end
        if done < len(text):
            spans.append((None, text[done:]))
        return spans

    def _from_left(self, text: str) -> Iterable[tuple[AddedToken, int, int]]:
        """Tokens with their places, white space that they take included."""
        looked, done = 0, 0
        for match in self._begins.finditer(text):
            start = match.start()
            content = self._symbols.longest(text, start) if start >= looked else None
            if content is None:
                continue
            token = self._tokens[content]
            looked = end = start + len(content)
            if token.single_word and (is_word(text[start - 1 : start]) or is_word(text[end : end + 1])):
                continue  # and neither is what it holds or overlaps
            if token.lstrip:
                start = done + len(text[done:start].rstrip(self.space))
            if token.rstrip and (after := self._spaces.match(text, end)):
                end = after.end()
            if start < end:  # the token before may have taken all of it as white space
                yield token, start, end
                done = end

    def _by_length(self, text: str) -> Iterable[tuple[AddedToken, int, int]]:
        found = [
            (-len(content), content, match.start())
            for match in self._begins.finditer(text)
            for content in self._symbols.all(text, match.start())
        ]
        taken: list[tuple[int, int, AddedToken]] = []
        free = bytearray(b"\1") * len(text)
        for negative, content, start in sorted(found):
            end = start - negative
            if not all(free[start:end]):
                continue
            token = self._tokens[content]
            while token.lstrip and start > 0 and free[start - 1] and text[start - 1] in self.space:
                start -= 1
            while token.rstrip and end < len(text) and free[end] and text[end] in self.space:
                end += 1
            free[start:end] = bytes(end - start)
            taken.append((start, end, token))
        return [(token, start, end) for start, end, token in sorted(taken, key=lambda entry: entry[0])]


def is_word(character: str) -> bool:
    """Whether it is of a word, as Unicode says; none is not."""
    return bool(character) and (
        unicodedata.category(character) in _WORD_KINDS or any(ord(character) in others for others in _WORD_OTHERS)
    )


class Names:
    """Tokens of which some are found in a text as it is (`raw`), some in the normalised text (`normal`).

    normalize   (text, first=, last=) -> normalised text
    """

    def __init__(
        self, tokens: Iterable[AddedToken], normalize: Callable[..., str], *, longest_first: bool = False
    ) -> None:
        tokens = tuple(tokens)
        self.raw = Splitter((t for t in tokens if not t.normalized), longest_first=longest_first)
        found = (replace(t, content=normalize(t.content, first=False, last=False)) for t in tokens if t.normalized)
        self.normal = Splitter(found, longest_first=longest_first)


def marked(token: AddedToken) -> AddedToken:
    """The token, special if it is a mark of turns, whatever its file says."""
    return replace(token, special=True) if token.content in TURN_MARKS else token


def checked_added(tokens: Iterable[AddedToken], ids: Mapping[str, int]) -> tuple[AddedToken, ...]:
    """The tokens by id. Raises ShapeError unless each has an id and a name of its own.

    ids   of the pieces that they are added to
    """
    names: dict[str, int] = {}
    found: dict[int, AddedToken] = {}
    for token in tokens:
        name = repr(token.content[:80])
        if not token.content:
            raise ShapeError(f"added tokens: the token of id {token.id} must have a content, got none")
        if type(token.id) is not int or not 0 <= token.id < MAX_VOCAB:
            raise ShapeError(f"added tokens: the id of {name} must be below {MAX_VOCAB}, got {token.id}")
        other = names.get(token.content, ids.get(token.content, token.id))
        if other != token.id:
            raise ShapeError(f"added tokens: {name} must have one id, got {other} and {token.id}")
        if found.setdefault(token.id, token) != token:
            raise ShapeError(f"added tokens: id {token.id} must have one token, got {found[token.id]} and {token}")
        names[token.content] = token.id
    return tuple(found[index] for index in sorted(found))


def renamed(model: SentencePieceModel, added: Iterable[AddedToken]) -> SentencePieceModel:
    """The model, in which pieces have the names that tokens of their ids have; no text matches those. Raises ShapeError
    for a new name of the unknown piece or of a byte."""
    columns = model.columns
    size = len(columns.texts)
    others = [token for token in added if token.id < size and columns.texts[token.id] != token.content]
    if not others:
        return model
    texts, types = list(columns.texts), bytearray(columns.types)
    for token in others:
        if types[token.id] in (PieceType.UNKNOWN, PieceType.BYTE):
            raise ShapeError(f"added tokens: id {token.id} must stay {texts[token.id]!r}, got {token.content[:80]!r}")
        texts[token.id], types[token.id] = token.content, PieceType.CONTROL
    return replace(model, pieces=Pieces(texts, columns.scores, bytes(types)))
