"""How SentencePiece cuts a normalised text: the four model types, each from a text to (piece, id) pairs.

An id is the model's unk_id where the vocabulary has no such piece. Equal, tie by tie, to sentencepiece 0.2.3.
"""

from __future__ import annotations

import heapq
import math
import re
from array import array
from collections.abc import Callable, Iterable
from itertools import pairwise

from webxpu.errors import FormatError
from webxpu.formats.sentencepiece_model import MATCHED, MAX_FLOAT32, ModelType, PieceType, SentencePieceModel
from webxpu.text.sentencepiece_normalizer import SPACE_SYMBOL, Symbols

Segment = Callable[[str], list[tuple[str, int]]]

# What a character without a piece costs more than the least likely piece.
UNKNOWN_PENALTY = 10.0
# Beyond it a path's score is set to zero, and those after it by as much, so that float32 stays fine enough.
_MAX_SCORE = 100_000.0
# Merges that are undone inside each other.
_MAX_UNDONE = 100
# Words that are remembered as they were cut, and how long they are at most; longer ones are merged by way of a heap.
_MAX_KNOWN_WORDS, _MAX_WORD_CHARACTERS = 16_384, 48
# Sorts behind every rank.
_NO_RANK = 1 << 62
_WORD = re.compile(f"{SPACE_SYMBOL}[^{SPACE_SYMBOL}]*|[^{SPACE_SYMBOL}]+")
_WORDS = re.compile(f"{SPACE_SYMBOL}+[^{SPACE_SYMBOL}]*|[^{SPACE_SYMBOL}]+")


def segmenter(model: SentencePieceModel) -> Segment:
    """The way in which the model cuts."""
    if model.model_type == ModelType.UNIGRAM:
        return _unigram(model)
    if model.model_type == ModelType.BPE:
        return Bpe(model)
    return Whole(model)


def _symbols(model: SentencePieceModel) -> Symbols:
    texts = model.columns.texts
    return Symbols(texts[index] for index in model.columns.ids_of(PieceType.USER_DEFINED))


class Whole:
    """WORD and CHAR: each word, or each character and user-defined symbol, is a piece or unknown."""

    def __init__(self, model: SentencePieceModel) -> None:
        texts = model.columns.texts
        self._ids = {texts[i]: i for i in model.columns.ids_of(PieceType.NORMAL, PieceType.USER_DEFINED)}
        self._symbols = _symbols(model) if model.model_type == ModelType.CHAR else None
        self._unk_id = model.unk_id

    def __call__(self, text: str) -> list[tuple[str, int]]:
        parts = _WORD.findall(text) if self._symbols is None else self._symbols.split(text)[0]
        return [(part, self._ids.get(part, self._unk_id)) for part in parts]


def _float32(value: float) -> float:
    return array("f", [value])[0]


def _unigram(model: SentencePieceModel) -> Unigram:
    """Unknown characters cost more than the least likely piece of the kind NORMAL."""
    columns = model.columns
    texts, scores = columns.texts, columns.scores
    if not any(texts[index] != "\0" for index in columns.ids_of(*MATCHED)):
        raise FormatError(f"{model.name}: a unigram model must have pieces that texts can match, got none")
    normal, own = columns.ids_of(PieceType.NORMAL), columns.ids_of(PieceType.USER_DEFINED)
    lowest = min((scores[index] for index in normal), default=MAX_FLOAT32)
    scored = [(texts[index], scores[index], index) for index in normal]
    scored += [(texts[index], _float32(0.1 * (len(texts[index].encode()) - 1)), index) for index in own]
    return Unigram(scored, model.unk_id, _float32(lowest - UNKNOWN_PENALTY))


class Unigram:
    """UNIGRAM: the path of the highest sum of scores, in float32; of equal ones the first found.

    pieces     text, score and id; of equal texts the last counts
    unk_id, unk_score   of a character that no piece stands for alone
    exact      sums are float64 and never set back to zero, as in Hugging Face's `tokenizers`

    The trie is one dict by prefix, of pieces their ids and of what only begins pieces -1: a fifth of the memory of a
    dict a node, and made in half the time.
    """

    def __init__(
        self, pieces: Iterable[tuple[str, float, int]], unk_id: int, unk_score: float, *, exact: bool = False
    ) -> None:
        self._unk_id, self._unk_score = unk_id, unk_score
        self._typecode, self._max_score = ("d", math.inf) if exact else ("f", _MAX_SCORE)
        pieces = list(pieces)
        size = max((index for _, _, index in pieces), default=-1) + 1
        # By id; the last of each is for -1, a character that no piece stands for.
        self._scores, self._lengths = [0.0] * (size + 1), [1] * (size + 1)
        for text, score, index in pieces:
            self._scores[index], self._lengths[index] = score, len(text)
        self._longest = max(self._lengths)
        self._found = {text: index for text, _, index in pieces}
        prefixes: Iterable[str] = self._found
        while prefixes := {text[:-1] for text in prefixes}.difference(self._found, ("",)):
            self._found.update(dict.fromkeys(prefixes, -1))

    def __call__(self, text: str) -> list[tuple[str, int]]:
        ids, lengths, unk_id = self._paths(text), self._lengths, self._unk_id
        out: list[tuple[str, int]] = []
        end = len(text)
        while end:
            index = ids[end]
            start = end - lengths[index]
            out.append((text[start:end], unk_id if index < 0 else index))
            end = start
        out.reverse()
        return out

    def _paths(self, text: str) -> list[int]:
        """For each end in the text: the id of the last piece of the best path to it, or -1."""
        size = len(text)
        best = array(self._typecode, [-math.inf]) * (size + 1)  # storing rounds a sum to float32
        best[0] = 0.0
        unk_score, max_score = self._unk_score, self._max_score
        ids = [-1] * (size + 1)
        find, scores = self._found.get, self._scores
        for start in range(size):
            here = best[start]
            if not -max_score <= here <= max_score:
                for end in range(start, min(start + self._longest, size) + 1):
                    best[end] -= here
                here = 0.0
            end = start + 1
            index = find(text[start])
            if index is None or index < 0:
                total = unk_score + here
                before = best[end]
                if total > before:
                    best[end] = total
                    if best[end] > before:
                        ids[end] = -1
            while index is not None:
                if index >= 0:
                    total = scores[index] + here
                    before = best[end]
                    if total > before:
                        best[end] = total
                        if best[end] > before:
                            ids[end] = index
                if end == size:
                    break
                end += 1
                index = find(text[start:end])
        return ids


def _ranks(scores: Iterable[float]) -> list[int]:
    """The place of each score, the highest first, equal ones at one. As float32's bits sort, so -0 is below 0."""
    bits = array("i", array("f", scores).tobytes())
    order = [value if value >= 0 else -(value & 0x7FFF_FFFF) - 1 for value in bits]
    place = {value: rank for rank, value in enumerate(sorted(set(order), reverse=True))}
    return [place[value] for value in order]


class Bpe:
    """BPE: the pair whose piece scores highest is merged, the leftmost of equals, until no pair makes a piece.

    Where no piece has a word boundary behind another character, no merge goes over one: then each word is merged by
    itself, and common ones once.
    """

    def __init__(self, model: SentencePieceModel) -> None:
        columns = model.columns
        matched = [index for index in columns.ids_of(*MATCHED) if columns.texts[index] != "\0"]
        texts = [columns.texts[index] for index in matched]
        self._rank = dict(zip(texts, _ranks(columns.scores[index] for index in matched), strict=True))
        self._ids = dict(zip(texts, matched, strict=True))
        self._unused = frozenset(columns.texts[index] for index in columns.ids_of(PieceType.UNUSED))
        self._symbols = _symbols(model)
        self._unk_id = model.unk_id
        # A symbol is found before anything is merged, so no merge makes one.
        normal = "\0".join(columns.texts[index] for index in columns.ids_of(PieceType.NORMAL))
        self._by_words = not re.search(f"[^{SPACE_SYMBOL}\0]{SPACE_SYMBOL}", normal)
        self._known: dict[str, list[tuple[str, int]]] = {}

    def __call__(self, text: str) -> list[tuple[str, int]]:
        out: list[tuple[str, int]] = []
        if self._unused:  # what was merged last, anywhere in the text, tells how they are taken apart
            parts, frozen = self._symbols.split(text)
            undone: dict[str, tuple[str, str]] = {}
            self._merge(parts, frozen, undone)
            for part in filter(None, parts):
                self._resolve(part, undone, out, 0)
            return out
        known = self._known
        for word in self._words(text):
            pieces = known.get(word)
            if pieces is None:
                pieces = self._word(word)
                if len(word) <= _MAX_WORD_CHARACTERS:
                    if len(known) >= _MAX_KNOWN_WORDS:
                        known.clear()
                    known[word] = pieces
            out += pieces
        return out

    def _words(self, text: str) -> Iterable[str]:
        """The text in parts over which no merge goes: symbols, and what is between them or words of it."""
        if not self._symbols:
            return self._between_symbols(text)
        parts, frozen = self._symbols.split(text)
        words: list[str] = []
        begin = 0
        for place in (*sorted(frozen), len(parts)):
            words += self._between_symbols("".join(parts[begin:place]))
            words += parts[place : place + 1]
            begin = place + 1
        return words

    def _between_symbols(self, text: str) -> list[str]:
        return _WORDS.findall(text) if self._by_words else [text]

    def _word(self, word: str) -> list[tuple[str, int]]:
        parts = list(word)
        if word in self._symbols:
            parts = [word]
        elif len(word) <= _MAX_WORD_CHARACTERS:
            self._merge_few(parts)
        else:
            self._merge(parts, set(), {})
        known, unk_id = self._ids.get, self._unk_id
        return [(part, known(part, unk_id)) for part in parts if part]

    def _merge_few(self, parts: list[str]) -> None:
        """Merges in place. Of so few pairs the best is found soonest by looking at all."""
        rank_of = self._rank.get
        ranks = [rank_of(left + right, _NO_RANK) for left, right in pairwise(parts)]
        while ranks and (rank := min(ranks)) != _NO_RANK:
            at = ranks.index(rank)
            parts[at] += parts.pop(at + 1)
            del ranks[at]
            if at < len(ranks):
                ranks[at] = rank_of(parts[at] + parts[at + 1], _NO_RANK)
            if at:
                ranks[at - 1] = rank_of(parts[at - 1] + parts[at], _NO_RANK)

    def _merge(self, parts: list[str], frozen: set[int], undone: dict[str, tuple[str, str]]) -> None:
        """Merges in place: a part goes into the one on its left and is left empty.

        The heap's entries are rank << bits | left; one counts as long as the pair on the right of `left` has that rank.
        """
        count = len(parts)
        bits = count.bit_length()
        rank_of, unused = self._rank.get, self._unused
        ranks = [-1] * (count + 1)
        rights, lefts = list(range(1, count + 1)), list(range(-1, count))

        def rank_pair(left: int, right: int) -> int:
            """The rank of the pair as it is now, or -1."""
            if frozen and (left in frozen or right in frozen):
                return -1
            pair = parts[left] + parts[right]
            rank = rank_of(pair, -1)
            if pair in unused:
                undone[pair] = (parts[left], parts[right])
            return rank

        for left in range(count - 1):
            ranks[left] = rank_pair(left, left + 1)
        heap = [rank << bits | left for left, rank in enumerate(ranks) if rank >= 0]
        heapq.heapify(heap)
        mask = (1 << bits) - 1
        while heap:
            entry = heapq.heappop(heap)
            left = entry & mask
            if ranks[left] != entry >> bits:
                continue
            gone = rights[left]
            parts[left] += parts[gone]
            parts[gone] = ""
            ranks[gone] = -1
            right = rights[left] = rights[gone]
            lefts[right] = left
            before = lefts[left]
            if before >= 0:
                rank = ranks[before] = rank_pair(before, left)
                if rank >= 0:
                    heapq.heappush(heap, rank << bits | before)
            rank = ranks[left] = rank_pair(left, right) if right < count else -1
            if rank >= 0:
                heapq.heappush(heap, rank << bits | left)

    def _resolve(self, part: str, undone: dict[str, tuple[str, str]], out: list[tuple[str, int]], depth: int) -> None:
        """Takes an unused piece apart again, as the merges went."""
        index = self._ids.get(part, self._unk_id)
        if part not in self._unused or depth > _MAX_UNDONE:
            out.append((part, index))
        elif part in undone:
            for half in undone[part]:
                self._resolve(half, undone, out, depth + 1)
        else:
            out.append((part, self._unk_id))
