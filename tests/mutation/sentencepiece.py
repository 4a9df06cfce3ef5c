"""Mutants of SentencePiece, which the share of the fuzz must notice."""

from tests.mutation import Mutant

SEGMENT = "webxpu/text/sentencepiece_segment.py"
NORMALIZER = "webxpu/text/sentencepiece_normalizer.py"
SENTENCEPIECE, RULES = "webxpu/text/sentencepiece.py", "webxpu/text/sentencepiece_rules.py"
SHARE = "tests/text/fuzz/test_share.py::test_texts_ids_and_pieces_come_out_as_sentencepiece_has_them"
BROKEN = "tests/text/fuzz/test_broken.py::test_a_broken_file_is_refused_or_means_what_it_says"
STRICT = "                    if total > before:\n                        best[end] = total\n"
LOST = '                out += "\\ufffd"\n'
INNER = "                        if best[end] > before:\n"

MUTANTS = [
    Mutant(
        SEGMENT,
        f"{STRICT}{INNER}                            ids[end] = index\n",
        f"{STRICT}{INNER}                            ids[end] = index\n".replace(" > ", " >= "),
        f"{SHARE}[ties.model]",
        "of equal paths the first found",
    ),
    Mutant(SEGMENT, 'else ("f", _MAX_SCORE)', 'else ("d", _MAX_SCORE)', f"{SHARE}[rounding.model]", "sums in float32"),
    Mutant(
        SEGMENT,
        "if index is None or index < 0:",
        "if index is None:",
        f"{SHARE}[unused.model]",
        "a character that only begins pieces may be unknown",
    ),
    Mutant(
        SENTENCEPIECE,
        "unknowns.append(piece)",
        "out.append((piece, unk_id))",
        f"{SHARE}[unigram.model]",
        "unknown characters next to each other are one piece",
    ),
    Mutant(
        SEGMENT,
        "at = ranks.index(rank)",
        "at = len(ranks) - 1 - ranks[::-1].index(rank)",
        f"{SHARE}[bpe_bytes_symbols.model]",
        "the leftmost of equal pairs",
    ),
    Mutant(
        SEGMENT,
        "rank << bits | left for left, rank",
        "rank << bits | (left ^ 1) for left, rank",
        f"{SHARE}[bpe_unused.model]",
        "the heap knows which pair it has",
    ),
    Mutant(
        "webxpu/text/charsmap.py",
        "if unit & _HAS_VALUE and matches < _MAX_MATCHES:",
        "if unit & _HAS_VALUE and matches < 1:",
        f"{SHARE}[unigram_rules.model]",
        "the longest rule",
    ),
    Mutant(
        NORMALIZER,
        "            normal = normal.rstrip(self._space)\n",
        "            normal = normal.removesuffix(self._space)\n",
        f"{SHARE}[botchan_en_unigram_1000]",
        "all spaces at the end",
    ),
    Mutant(
        NORMALIZER,
        "if looked_at <= 2 and not",
        "if looked_at <= 3 and not",
        f"{SHARE}[unigram_rules.model]",
        "what a third character decides is not kept",
    ),
    Mutant(
        RULES,
        f"{LOST}                self._pending = self._pending[1:]\n        return self._noted(out)",
        f"{LOST}                self._pending = b''\n        return self._noted(out)",
        f"{SHARE}[unigram_bytes.model]",
        "each byte of an incomplete character is a sign of its own",
    ),
    Mutant(
        RULES,
        "if boundary and not self._strips_all:",
        "if boundary:",
        f"{SHARE}[seqio]",
        "all boundaries before the first text are left out",
    ),
    Mutant(
        "webxpu/formats/sentencepiece_model.py",
        "if key in seen:",
        "if False:",
        f"{BROKEN}[fields]",
        "a piece that comes twice",
    ),
]
