"""One random text, one row of ids and one of pieces through `sentencepiece` itself and through the package."""

from __future__ import annotations

import copy
import functools
import random
import re
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import sentencepiece

from tests.text.fuzz.texts import (
    SPACE_SYMBOL,
    broken_text,
    in_chunks,
    long_texts,
    random_ids,
    random_pieces,
    random_text,
)
from tests.text.sentencepiece_files import HEAD, NORMAL, message, model
from tests.text.sentencepiece_files import field as proto_field
from webxpu.errors import ShapeError
from webxpu.formats.sentencepiece_model import PieceType
from webxpu.text.sentencepiece import SentencePiece
from webxpu.text.stream import TextStream

Compared = tuple[str, object, object]
# Of the long differences of a long text only the beginning is shown.
SHOWN_CHARACTERS = 300
MAX_RULES = 5000
# What llama.cpp takes with some names, where it follows them.
ASCII_SPACE = " \t\n\v\f\r"


@functools.lru_cache(maxsize=8)
def rules_of(charsmap: bytes) -> list[str]:
    """Some of the strings that a charsmap's rules replace, as `sentencepiece` finds them."""
    if not charsmap:
        return []
    spec = proto_field(3, message({2: charsmap}))
    rules = sentencepiece.SentencePieceNormalizer(model_proto=model([*HEAD, ("a", 0.0, NORMAL)]) + spec).Decompile()
    keys = [key for key, _ in rules]
    return random.Random(1).sample(keys, min(len(keys), MAX_RULES))


@dataclass
class Pair:
    """A model in both packages.

    data   the file that `sentencepiece` reads
    ours   the same model here, by whatever way it came
    """

    name: str
    data: bytes
    ours: SentencePiece
    theirs: Any = field(init=False)
    unprefixed: Any = field(init=False)
    vocab: list[str] = field(init=False)
    rules: list[str] = field(init=False)

    def __post_init__(self) -> None:
        self.theirs = sentencepiece.SentencePieceProcessor(model_proto=self.data)
        # A span that does not begin its text has no word boundary before it, which a flag says to `sentencepiece`.
        plain = self.data + proto_field(3, message({3: 0}))
        self.unprefixed = sentencepiece.SentencePieceProcessor(model_proto=plain)
        self.vocab = [self.theirs.id_to_piece(index) for index in range(self.theirs.vocab_size())]
        self.rules = rules_of(self.ours.model.normalizer.charsmap)
        pieces = self.ours.model.pieces
        self._special = {i for i, p in enumerate(pieces) if p.type in (PieceType.CONTROL, PieceType.UNKNOWN)}
        self._ids = {pieces[index].text: index for index in self._special}
        self._stripping = {token.content for token in self.ours.added if token.rstrip}
        self.names = sorted(self._ids, key=len, reverse=True)
        self._split = re.compile(f"({'|'.join(map(re.escape, self.names)) or '(?!)'})")
        self._plain = next(
            (i for i, p in enumerate(pieces) if p.type == PieceType.NORMAL and SPACE_SYMBOL not in p.text),
            None,
        )

    def flags(self, rng: random.Random) -> dict[str, bool]:
        """Pieces that the model has are put around a text, or not."""
        there = {"add_bos": self.theirs.bos_id(), "add_eos": self.theirs.eos_id()}
        return {flag: index >= 0 and rng.random() < 0.5 for flag, index in there.items()}

    def with_names(self, text: str) -> list[int]:
        """What the text is where names of special pieces in it are those pieces: a name, then a text without a word
        boundary of its own unless every span has one."""
        ids: list[int] = []
        suffixed = self.ours.model.treat_whitespace_as_suffix
        spans = self._spans(text)
        for place, span in enumerate(spans):
            if place and spans[place - 1] in self._stripping:
                span = span.lstrip(ASCII_SPACE)
            edge = self.ours.prefix_every_span or place == (len(spans) - 1 if suffixed else 0)
            if span in self._ids:
                ids.append(self._ids[span])
            else:
                ids += (self.theirs if edge else self.unprefixed).encode(span)
        return ids

    def _spans(self, text: str) -> list[str]:
        """Names and the texts between them: the leftmost name first, or, as in llama.cpp, the longest."""
        if not self.ours.longest_first:
            return [span for span in self._split.split(text) if span]
        spans = [text]
        for name in self.names:
            cut = re.compile(f"({re.escape(name)})")
            spans = [part for span in spans for part in ([span] if span in self._ids else cut.split(span)) if part]
        return spans

    def with_all_names(self, ids: list[int]) -> str | None:
        """The text of ids in which special pieces are their names: what follows one is no text's beginning."""
        if self._plain is None:
            return None
        before: list[int] = []
        out, run = "", []
        for index in [*ids, None]:
            if index is not None and index not in self._special:
                run.append(index)
                continue
            out += self.theirs.decode(before + run)[len(self.theirs.decode(before)) :]
            before, run = [self._plain], []
            out += "" if index is None else self.vocab[index]
        return out


def compared(pair: Pair, rng: random.Random) -> Iterator[Compared]:
    """What is compared, what `sentencepiece` has and what the package has, for one random case."""
    theirs, ours = pair.theirs, pair.ours
    text, ids = random_text(rng, pair.vocab, pair.rules), random_ids(rng, len(pair.vocab))
    encoded = theirs.encode(text)
    yield from of_text(pair, text)
    reverse, unk, flags = rng.random() < 0.5, ours.unk_id >= 0 and rng.random() < 0.5, pair.flags(rng)
    made = copy.copy(ours)
    made.add_bos, made.add_eos = flags["add_bos"], flags["add_eos"]
    asked = {"add_special": True, "parse_special": False, "reverse": reverse}
    options = f"{flags}, reverse={reverse}, emit_unk_piece={unk}"
    yield f"ids, {options}", theirs.encode(text, reverse=reverse, **flags), made.encode(text, **asked)
    pieces = theirs.encode(text, out_type=str, reverse=reverse, emit_unk_piece=unk, **flags)
    yield f"pieces, {options}", pieces, made.encode_pieces(text, emit_unk_piece=unk, **asked)
    named = text if not pair.names or rng.random() < 0.5 else text[: len(text) // 2] + rng.choice(pair.names) + text
    yield f"ids with names of {named!a}", pair.with_names(named), ours.encode(named)
    for what, row in (("the text's ids", encoded), (f"{ids}", ids)):
        wanted = theirs.decode(row)
        yield f"text of {what}", wanted, ours.decode(row)
        yield f"stream of {what}", wanted, streamed(ours, in_chunks(rng, row))
        names = pair.with_all_names(row)
        if names is not None:
            yield f"text with names of {what}", names, ours.decode(row, skip_special=False)
            yield f"stream with names of {what}", names, streamed(ours, in_chunks(rng, row), skip_special=False)
    pieces = random_pieces(rng, pair.vocab)
    yield f"text of {pieces!a}", theirs.decode(pieces) if pieces else "", ours.decode_pieces(pieces)
    if rng.random() < 0.1:
        yield from of_broken_text(pair, *broken_text(rng, text))


def of_text(pair: Pair, text: str) -> Iterator[Compared]:
    theirs, ours = pair.theirs, pair.ours
    yield "normalised", theirs.normalize(text), ours.normalize(text)
    yield "ids", theirs.encode(text), ours.encode(text, parse_special=False)
    yield "pieces", theirs.encode(text, out_type=str), ours.encode_pieces(text)


def of_broken_text(pair: Pair, text: str, place: int) -> Iterator[Compared]:
    """A lone surrogate, which `sentencepiece` has no words for, is an error that says where it is."""
    rule = "encode: text must have no lone surrogates, which have no UTF-8"
    for call in (pair.ours.encode, pair.ours.encode_pieces, pair.ours.normalize):
        try:
            seen: object = call(text)
        except ShapeError as e:
            seen = str(e)
        yield f"error for {text!a}", f"{rule}, got {text[place]!r} at {place}", seen


def of_long_text(pair: Pair, text: str) -> Iterator[Compared]:
    """A text of 100 kB, and back."""
    ids = pair.theirs.encode(text)
    yield "normalised", pair.theirs.normalize(text), pair.ours.normalize(text)
    yield "ids", ids, pair.ours.encode(text, parse_special=False)
    wanted = pair.theirs.decode(ids)
    yield "text", wanted, pair.ours.decode(ids)
    yield "stream", wanted, streamed(pair.ours, [ids[i : i + 100] for i in range(0, len(ids), 100)])


def streamed(ours: SentencePiece, chunks: list[list[int]], skip_special: bool = True) -> str:
    stream = TextStream(ours, skip_special=skip_special)
    return "".join([stream.push(chunk) for chunk in chunks]) + stream.finish()


def differences(pair: Pair, seed: str) -> list[str]:
    """What the two packages disagree about in the case of a seed; `SEED long NAME` is a text of 100 kB."""
    if " long " in seed:
        text = long_texts(pair.vocab)[seed.partition(" long ")[2]]
        return _wrong(text, lambda: of_long_text(pair, text))
    rng = random.Random(seed)
    text = random_text(random.Random(seed), pair.vocab, pair.rules)
    return _wrong(text, lambda: compared(pair, rng))


def _wrong(text: str, cases: Callable[[], Iterator[Compared]]) -> list[str]:
    wrong = []
    try:
        for what, a, b in cases():
            if a != b:
                wrong.append(
                    f"{_cut(what)}:\n        sentencepiece {_cut(ascii(a))}\n        webxpu        {_cut(ascii(b))}"
                )
    except Exception:  # noqa: BLE001 - whatever it is, it is shown with the seed that led to it
        wrong.append(traceback.format_exc())
    return [f"text {_cut(ascii(text))}", *wrong] if wrong else []


def _cut(shown: str) -> str:
    return shown if len(shown) <= SHOWN_CHARACTERS else f"{shown[:SHOWN_CHARACTERS]}... ({len(shown)} characters)"
