"""How SentencePiece cuts a normalised text: the four model types, each from a text to (piece, id) pairs.

An id is the model's unk_id where the vocabulary has no such piece. Equal, tie by tie, to sentencepiece 0.2.3.
"""

from __future__ import annotations

import heapq
import math
import re
import struct
from array import array
from collections.abc import Callable, Iterable
from typing import Any

from webxpu.errors import FormatError
from webxpu.formats.sentencepiece_model import MATCHED, ModelType, PieceType, SentencePieceModel
from webxpu.text.sentencepiece_normalizer import SPACE_SYMBOL, Symbols

Segment = Callable[[str], list[tuple[str, int]]]

# What a character without a piece costs more than the least likely piece.
UNKNOWN_PENALTY = 10.0
# Beyond it a path's score is set to zero, and those after it by as much, so that float32 stays fine enough.
_MAX_SCORE = 100_000.0
# Merges that are undone inside each other.
_MAX_UNDONE = 100
_WORD = re.compile(f"{SPACE_SYMBOL}[^{SPACE_SYMBOL}]*|[^{SPACE_SYMBOL}]+")


def segmenter(model: SentencePieceModel) -> Segment:
    """The way in which the model cuts."""
    if model.model_type == ModelType.UNIGRAM:
        return _unigram(model)
    if model.model_type == ModelType.BPE:
        return Bpe(model)
    return Whole(model)


def _symbols(model: SentencePieceModel) -> Symbols:
    return Symbols(p.text for p in model.pieces if p.type == PieceType.USER_DEFINED)


class Whole:
    """WORD and CHAR: each word, or each character and user-defined symbol, is a piece or unknown."""

    def __init__(self, model: SentencePieceModel) -> None:
        self._ids = {p.text: i for i, p in enumerate(model.pieces) if p.type in MATCHED and p.type != PieceType.UNUSED}
        self._symbols = _symbols(model) if model.model_type == ModelType.CHAR else None
        self._unk_id = model.unk_id

    def __call__(self, text: str) -> list[tuple[str, int]]:
        parts = _WORD.findall(text) if self._symbols is None else self._symbols.split(text)[0]
        return [(part, self._ids.get(part, self._unk_id)) for part in parts]


def _float32(value: float) -> float:
    return array("f", [value])[0]


def _unigram(model: SentencePieceModel) -> Unigram:
    """Unknown characters cost more than the least likely piece of the kind NORMAL."""
    lowest = struct.unpack("<f", b"\xff\xff\x7f\x7f")[0]  # the largest float32
    matched = [(i, p) for i, p in enumerate(model.pieces) if p.type in MATCHED and p.text != "\0"]
    if not matched:
        raise FormatError(f"{model.name}: a unigram model must have pieces that texts can match, got none")
    scored: list[tuple[str, float, int]] = []
    for index, piece in matched:
        if piece.type == PieceType.NORMAL:
            lowest = min(lowest, piece.score)
            scored.append((piece.text, piece.score, index))
        elif piece.type == PieceType.USER_DEFINED:
            scored.append((piece.text, _float32(0.1 * (len(piece.text.encode()) - 1)), index))
    return Unigram(scored, model.unk_id, _float32(lowest - UNKNOWN_PENALTY))


class Unigram:
    """UNIGRAM: the path of the highest sum of scores, in float32; of equal ones the first found.

    pieces     text, score and id; of equal texts the last counts
    unk_id, unk_score   of a character that no piece stands for alone
    exact      sums are float64 and never set back to zero, as in Hugging Face's `tokenizers`
    """

    def __init__(
        self, pieces: Iterable[tuple[str, float, int]], unk_id: int, unk_score: float, *, exact: bool = False
    ) -> None:
        self._unk_id, self._unk_score = unk_id, unk_score
        # A node is a dict from a character to the next node; under "" it has the piece that ends there.
        self._root: dict[str, Any] = {}
        self._longest = 1
        self._typecode, self._max_score = ("d", math.inf) if exact else ("f", _MAX_SCORE)
        for text, score, index in pieces:
            self._longest = max(self._longest, len(text))
            node = self._root
            for character in text:
                node = node.setdefault(character, {})
            node[""] = (score, index)

    def __call__(self, text: str) -> list[tuple[str, int]]:
        starts, ids = self._paths(text)
        out: list[tuple[str, int]] = []
        end = len(text)
        while end:
            start = starts[end]
            out.append((text[start:end], ids[end]))
            end = start
        out.reverse()
        return out

    def _paths(self, text: str) -> tuple[list[int], list[int]]:
        """For each end in the text: where the last piece of the best path to it begins, and its id."""
        size = len(text)
        best = array(self._typecode, [-math.inf]) * (size + 1)  # storing rounds a sum to float32
        best[0] = 0.0
        starts, ids = [0] * (size + 1), [self._unk_id] * (size + 1)
        root, unk_score, unk_id = self._root, self._unk_score, self._unk_id
        max_score = self._max_score
        for start in range(size):
            here = best[start]
            if not -max_score <= here <= max_score:
                for end in range(start, min(start + self._longest, size) + 1):
                    best[end] -= here
                here = 0.0
            after = start + 1
            end = start
            single = False
            node = root.get(text[start])
            while node is not None:
                end += 1
                piece = node.get("")
                if piece is not None:
                    single = single or end == after
                    total = piece[0] + here
                    before = best[end]
                    if total > before:
                        best[end] = total
                        if best[end] > before:
                            starts[end] = start
                            ids[end] = piece[1]
                if end == size:
                    break
                node = node.get(text[end])
            if not single:
                before = best[after]
                total = unk_score + here
                if total > before:
                    best[after] = total
                    if best[after] > before:
                        starts[after] = start
                        ids[after] = unk_id
        return starts, ids


def _order(score: float) -> int:
    """A number that sorts as the bits of float32 do: as the scores, and -0 below 0."""
    bits: int = struct.unpack("<i", struct.pack("<f", score))[0]
    return bits if bits >= 0 else -(bits & 0x7FFF_FFFF) - 1


class Bpe:
    """BPE: the pair whose piece scores highest is merged, the leftmost of equals, until no pair makes a piece."""

    def __init__(self, model: SentencePieceModel) -> None:
        matched = [(i, p) for i, p in enumerate(model.pieces) if p.type in MATCHED and p.text != "\0"]
        ranks = {s: r for r, s in enumerate(sorted({_order(p.score) for _, p in matched}, reverse=True))}
        self._rank = {p.text: ranks[_order(p.score)] for _, p in matched}
        self._ids = {p.text: i for i, p in matched}
        self._unused = frozenset(p.text for _, p in matched if p.type == PieceType.UNUSED)
        self._symbols = _symbols(model)
        self._unk_id = model.unk_id

    def __call__(self, text: str) -> list[tuple[str, int]]:
        parts, frozen = self._symbols.split(text)
        undone: dict[str, tuple[str, str]] = {}
        self._merge(parts, frozen, undone)
        if not self._unused:
            known, unk_id = self._ids.get, self._unk_id
            return [(part, known(part, unk_id)) for part in parts if part]
        out: list[tuple[str, int]] = []
        for part in parts:
            if part:
                self._resolve(part, undone, out, 0)
        return out

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
