"""Random texts that are hard on tokenizers, and random rows of ids and of pieces."""

from __future__ import annotations

import random
from collections.abc import Sequence

SPACE_SYMBOL = "\u2581"
# What different scripts, normalisers and joiners make difficult, a pool each.
POOLS = (
    "abcdefghij klmnopqrstuvwxyz", "THE ABC  ", f"the and ing  {SPACE_SYMBOL}", "0123456789.,;:!?<>/-_'\"()[]{}@#%&*",
    "あいうえおかがゞゟ日本語漢字東京学生ーヴぱば", "\u3099\u309aかきはウ", "ｶﾞｷﾞﾊﾟﾞﾟｰ､｡ＡＢ１２！～￥", "㌔㍿①⑳½ﬁﬃ㎏ⅷªº™",
    "éüñßİıſǆǅﷺẞøŁ", "\u0301\u0308\u0304\u0323\u0327\u0345\u1ab0aeiou", "q\u0307\u0323s\u0323\u0307\u1e9b",
    "\u200d\ufe0f\ufe0e\U0001f3fd\U000e0100\u20e3\U000e0067\U000e007f", "😀👩💻🇯🇵👨👩👧🏳🌈❤☃1#",
    "\r\n\t \0\1\x08\x0b\x0c\x1b\x1f\x7f\x80\x85\x9f",
    "\xa0\u1680\u2003\u202f\u205f\u3000\u2028\u2029\ufeff\u200b\xad ",
    "العربية السلام عليكم لله ء\u064b\u0651\u0640", "שלום עולם\u05b0\u05c1",
    "\u200e\u200f\u061c\u202a\u202e\u202c\u2066\u2069a",
    "각가각힣ㄱㅏ\u1100\u1161\u11a8\uffa1\u115f", "กำน้ำ न्क्षि বাংলা தமிழ் \u0e33\u0eb3", "приветмирЖЙё Ελληνικά ΐ ς",
    "\ufffd\ufffe\uffff\ufdd0\U0001fffe\U0010ffff\U0010fffd\ue000\ud7ff\ufffc", "∑∞≠≤→⟨⟩∂𝔸𝒷𝟘ℌℵ", "〜～∼－―—–-･・゛゜ﾞ",
)  # fmt: skip
_SENTENCES = (
    "the of and was hello world isn't state-of-the-art http://example.org/a?b=c&d=%20 user@example.com 3.14159 "
    "1,234,567 def return x+1; <html> </b> \\n naïve café straße Ünïcödé I'm we've "
    "今日は 良い天気 です。 「こんにちは」、世界！ コンピュータ サーバー ﾊﾛｰ 東京大学 の 学生 1月２３日 "
    "مرحبا بالعالم السلام عليكم ١٢٣ שלום привет мир как дела 안녕하세요 세계 สวัสดี नमस्ते 你好世界 "
    "👩\u200d💻 👩🏽\u200d🚀 🏳️\u200d🌈 🇯🇵 👨\u200d👩\u200d👧\u200d👦 ☃️ 1️⃣ "
    "<s> </s> <unk> <pad> <0x0A> <0xE3> <|im_end|> [INST] ▁the"
)
WORDS = tuple(_SENTENCES.split(" "))
TIMES = (1, 1, 1, 1, 1, 2, 3, 12)
LENGTHS = (0, 1, 1, 2, 2, 3, 5, 8, 13, 30, 80)
# Pieces of a hundred characters would make texts of ten thousand, all alike.
MAX_CHARACTERS = 800
LONG_BYTES = 100_000


def random_text(rng: random.Random, vocab: Sequence[str], rules: Sequence[str] = ()) -> str:
    """Pieces of the vocabulary, what the rules of a normaliser replace, words, characters of the pools and any others,
    spaces and repetitions."""
    mixed, out = rng.random(), []
    pool = rng.choice(POOLS)  # a text of one script more often than chance has it
    for _ in range(rng.choice(LENGTHS)):
        kind = rng.random()
        if kind < 0.07 and rules:
            out.append(rng.choice(rules) + rng.choice(rules)[: rng.randrange(2)])
        elif kind < 0.35:
            piece = rng.choice(vocab) * rng.choice(TIMES)
            out.append(piece.replace(SPACE_SYMBOL, " ") if rng.random() < 0.8 else piece)
        elif kind < 0.5:
            out.append(rng.choice(WORDS) + rng.choice((" ", " ", "", "  ")))
        elif kind < 0.85:
            out.append(rng.choice(pool if mixed < 0.4 else rng.choice(POOLS)) * rng.choice(TIMES))
        elif kind < 0.92:
            out.append(" " * rng.randrange(1, 4))
        else:
            out.append(any_character(rng, rng.choice((0x80, 0x250, 0x3100, 0x10000, 0x110000))))
    text = "".join(out)[:MAX_CHARACTERS]
    return text * 20 if rng.random() < 0.005 else text


def any_character(rng: random.Random, below: int) -> str:
    code = rng.randrange(below)
    return "x" if 0xD800 <= code < 0xE000 else chr(code)


def broken_text(rng: random.Random, text: str) -> tuple[str, int]:
    """The text with half a surrogate pair in it, and where that stands."""
    place = rng.randrange(len(text) + 1)
    return text[:place] + chr(rng.randrange(0xD800, 0xE000)) + text[place:], place


def random_ids(rng: random.Random, size: int) -> list[int]:
    """Any ids, or those of bytes and special pieces, which are mostly the first."""
    below = rng.choice((size, min(size, 300)))
    return [rng.randrange(below) for _ in range(rng.choice((0, 1, 2, 3, 5, 9, 14, 40)))]


def random_pieces(rng: random.Random, vocab: Sequence[str]) -> list[str]:
    """Pieces that the vocabulary has, and others."""
    count = rng.randrange(8)
    return [rng.choice(vocab) if rng.random() < 0.8 else random_text(rng, vocab)[:6] for _ in range(count)]


def in_chunks(rng: random.Random, ids: Sequence[int]) -> list[list[int]]:
    """The ids in a row's random parts, some of them empty."""
    cuts = sorted(rng.randrange(len(ids) + 1) for _ in range(rng.randrange(len(ids) + 2)))
    return [list(ids[a:b]) for a, b in zip((0, *cuts), (*cuts, len(ids)), strict=True)]


def long_texts(vocab: Sequence[str]) -> dict[str, str]:
    """100 kB of one character, and of a few that come again and again."""
    longest = max((piece for piece in vocab if not piece.startswith("<")), key=len)
    units = {
        "letter": "a", "space": " ", "letter and space": "a ", "kana": "あ", "smile": "😀", "snowman": "\u2603",
        "mark": "\u0301", "nul": "\0", "line ends": "\r\n", "space symbol": SPACE_SYMBOL, "voiced": "か\u3099",
        "half-width": "ｶﾞ", "unknown and word": "\u2603 the", "longest piece": longest, "joined": "👩\u200d",
    }  # fmt: skip
    return {name: unit * (LONG_BYTES // len(unit.encode())) for name, unit in units.items()}
