"""Writes sentencepiece.tar.xz: small models that sentencepiece trains, and what it makes of texts and ids with them.

    PYTHONPATH=. python tests/goldens/sentencepiece.py     # sentencepiece 0.2.3

The archive has <name>.model files and goldens.json: version, texts, and for each model pieces and ids of each text, the
texts that those ids decode to, and texts of random ids and of random pieces.
"""

import io
import json
import random
import sys
import tarfile
from importlib.metadata import version
from pathlib import Path

sys.path.remove(str(Path(__file__).parent))  # this file has the package's name
import sentencepiece

from tests.text.sentencepiece_files import (
    BPE,
    BYTES,
    CHAR,
    HEAD,
    NORMAL,
    UNIGRAM,
    UNUSED,
    USER_DEFINED,
    WORD,
    field,
    message,
    model,
)

ENGLISH = """the of and to in is was he for it with as his on be at by had not are but from or have an they which one
you were her all she there would their we him been has when who will more no if out so said what up its
about into than them can only other new some could time these two may then do first any my now such like
our over man me even most made after also did many before must through years where much your way well down
should because each just those people mister how too little state good very make world still own see men
work long get here between both life being under never day same another know while last might us great old
year off come since against go came right used take three"""
JAPANESE = """今日 は 良い 天気 です ね 。 散歩 に 行き ましょう 私 の 名前 が を
コンピュータ サーバー ガラス パーティー 東京 大学
日本語 学生 先生
食べ ました ません から まで です 、 「 」 する した して いる ある ない"""
OTHERS = "مرحبا بالعالم السلام عليكم привет мир как дела żółw straße naïve café 안녕하세요 세계 😀 👩‍💻 ½ ①"
CODE = ["def f(x):", "return x + 1", "0 12 345 6789", "a_b-c.d", "if (i < n) { j++; }", "<html> </b>"]

TEXTS = [
    "",
    " ",
    "  ",
    "a",
    "the man",
    " the man ",
    "  the   man  ",
    "The  MAN said: 'well'",
    "a" * 30,
    "あ" * 30,
    " " * 9,
    "今日は良い天気ですね。",
    "東京大学の学生 です",
    "ガラス",
    "カ\u3099ラス",
    "ｶﾞﾗｽ ﾊﾟｰﾃｨｰ",
    "Ａｂｃ１２３　㌔①½ﬁ",
    "か\u3099か",
    "مرحبا بالعالم",
    "السلام\u200f عليكم",
    "привет, мир",
    "안녕하세요 세계",
    "각 각",
    "e\u0301e\u0301\u0323 a\u0308\u0304",
    "naïve café straße İ",
    "😀",
    "😀emoji👩‍💻👩🏽‍🚀🇯🇵",
    "\u200d\ufe0f\u200b\ufeff",
    "a\tb\nc\r\nd\x00e\x01f\x7f\x85g",
    "\n",
    "\r\n\r\n",
    "\u3000\u00a0\u2009x\u2028y\u2029",
    "\u2581",
    "\u2581\u2581the\u2581man \u2581",
    "a\ufffdb\U0010ffff\ue000",
    "<s>a</s>",
    "<unk><pad>",
    "<0x41><0xE3>",
    "<user>the man<user> <sep>",
    "<sep><se<sep>p>",
    "<user> <user2>",
    "foo bar foo  bar",
    "<ctrl>x",
    "((tag))the((tag)",
    "def f(x):\n    return x + 1",
    "0 12 345 6789",
    "~～∼ﾞ ゛",
    "ǆ Ǆ ﷺ",
    "\u1e9b\u0323",
    "q\u0307\u0323",
    "zzz the zzz",
    "うううう",
    "((x ((tag)) abab abc",
    "\1\2",
    "qaqbqaqb qb",
    "cde dea ded",
    "a" * 130,
    "abcabcd abab",
    "aaaa aaaaaaa aaaaaaaaaaaaaa",
    "xyz xxyyzz",
]

# add_dummy_prefix, remove_extra_whitespaces and escape_whitespaces off, by fields that a reader merges with the others.
KEEP_SPACES = field(3, message({5: 0}))
SYMBOLS = {"user_defined_symbols": ["<sep>", "<user>", "<user2>", "foo bar", "\u2581the\u2581man", "((tag))"]}
PLAIN = {"normalization_rule_name": "identity", "add_dummy_prefix": False, "remove_extra_whitespaces": False}
TRAINED = {
    "unigram": {},
    "unigram_identity": {"normalization_rule_name": "identity", **SYMBOLS, "control_symbols": ["<ctrl>"]},
    "unigram_bytes": {"byte_fallback": True, **PLAIN, "vocab_size": 700, "pad_id": 3},
    "unigram_bytes_symbols": {"byte_fallback": True, **SYMBOLS, "vocab_size": 700},
    "unigram_suffix": {"treat_whitespace_as_suffix": True},
    "unigram_no_prefix": {"add_dummy_prefix": False, "unk_surface": "[?]"},
    "unigram_across_words": {**PLAIN, "split_by_whitespace": False, "add_dummy_prefix": True},
    "unigram_rules": {"normalization_rule_tsv": "rules"},
    "bpe": {"model_type": "bpe", **SYMBOLS},
    "bpe_bytes": {"model_type": "bpe", "byte_fallback": True, **PLAIN, "add_dummy_prefix": True, "vocab_size": 700},
    "bpe_bytes_symbols": {"model_type": "bpe", "byte_fallback": True, **PLAIN, **SYMBOLS, "vocab_size": 700},
    "bpe_suffix": {"model_type": "bpe", "treat_whitespace_as_suffix": True, "unk_id": 5, "bos_id": -1, "eos_id": 0},
    "word": {"model_type": "word", "vocab_size": 150, "control_symbols": ["<ctrl>"], "user_defined_symbols": ["<sep>"]},
    "word_suffix": {"model_type": "word", "vocab_size": 150, "treat_whitespace_as_suffix": True, **PLAIN},
    "char": {"model_type": "char", **SYMBOLS},
    "char_plain": {"model_type": "char", **PLAIN, "user_defined_symbols": ["a\u0308", "a\u0308\u0304"]},
}
# Several characters to one, one to several, to none, to a space, and a key that begins others.
RULES = ["61\t62", "61 62\t63 63", "61 62 63\t", "78\t20", "79\t20 20", "7A\t79 20", "304B 3099\t304C", "1F600\t3A 29"]


def corpus(rng: random.Random) -> list[str]:
    """Lines of one script or of several."""
    english, japanese, others = ENGLISH.split(), JAPANESE.split(), OTHERS.split()
    lines = [*TEXTS[3:10], *TEXTS[11:27]]
    for _ in range(900):
        lines.append(" ".join(rng.choices(english, k=rng.randrange(2, 12))))
        lines.append("".join(rng.choices(japanese, k=rng.randrange(2, 9))))
        lines.append(" ".join([*rng.choices(others, k=3), rng.choice(CODE), *rng.choices(english, k=2)]))
    return lines


def train(name: str, options: dict) -> bytes:
    out = io.BytesIO()
    made = {"vocab_size": 420, "num_threads": 1, "hard_vocab_limit": False, "minloglevel": 2, **options}
    if "normalization_rule_tsv" in made:
        rules = Path("/tmp/sentencepiece-rules.tsv")
        rules.write_text("\n".join(RULES) + "\n")
        made["normalization_rule_tsv"] = str(rules)
    lines = iter(corpus(random.Random(5)))
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=lines, model_writer=out, **made)
    return out.getvalue()


def written() -> dict[str, bytes]:
    """Vocabularies that no trainer makes: unused pieces, ties, positive scores, no unknown piece, a stray NUL."""
    words = [
        ("ab", -1.0),
        ("abc", -2.0),
        ("bc", -1.0),
        ("abcd", -3.0),
        ("cd", -1.0),
        ("\u2581", -1.5),
        ("\u2581a", 0.5),
    ]
    normal = [*((c, -5.0, NORMAL) for c in "abcde"), *((w, s, NORMAL) for w, s in words), ("zz", -0.0, NORMAL)]
    unused = [(w, s, UNUSED if w in ("ab", "abcd", "e") else kind) for w, s, kind in normal]
    symbols = [("de", 0.0, USER_DEFINED), ("the man", 0.0, USER_DEFINED), ("d", 0.0, USER_DEFINED)]
    chain = [("a" * n, float(n), UNUSED) for n in range(2, 140)]
    thirds = [("a" * n, -0.1 * n, NORMAL) for n in range(1, 8)]
    far = [("a" * n, -30000.1 * n - 0.005 * (n % 3), NORMAL) for n in range(1, 8)]
    bonus = [("あ", 0.0, USER_DEFINED), ("う", 0.0, USER_DEFINED), ("ああ", 0.3, NORMAL), ("うう", 0.5, NORMAL)]
    dear = [
        ("a", 10.5, NORMAL),
        ("b", 9.5, NORMAL),
        ("qa", -1.0, NORMAL),
        ("qb", -1.0, NORMAL),
        ("\u2581", 0.0, NORMAL),
    ]
    frozen = [("cde", 5.0, NORMAL), ("\u2581de", 5.0, NORMAL), ("dea", 5.0, NORMAL), ("ded", 5.0, NORMAL)]
    stale = [("bc", 10.0, NORMAL), ("ab", 9.0, NORMAL), ("bcd", 8.0, NORMAL), ("abc", 7.0, NORMAL)]
    return {
        "bpe_stale": model([*HEAD, *normal[:5], *stale, ("\u2581", 0.0, NORMAL)], {3: BPE}),
        "positive": model([*HEAD, ("a", 30.0, NORMAL), ("qa", 25.0, NORMAL)]),
        "word_unused": model([*HEAD, ("\u2581the", 0.0, UNUSED), ("\u2581man", 0.0, NORMAL)], {3: WORD}),
        "char_unused": model([*HEAD, *unused], {3: CHAR}),
        "dear": model([*HEAD, *dear]),
        "bpe_symbols": model([*HEAD, *[p for p in normal if p[0] not in "de"], *symbols, *frozen], {3: BPE}),
        "rounding": model([*HEAD, *thirds, ("\u2581", -0.1, NORMAL)]),
        "far": model([*HEAD, *far, ("\u2581", -0.1, NORMAL)]),
        "bonus": model([*HEAD, *bonus, ("\u2581", -0.1, NORMAL)]),
        "ties": model([*HEAD, *normal, ("ea", -1.0, NORMAL)]),
        "unused": model([*HEAD, *unused]),
        "bpe_unused": model([*HEAD, *unused, ("zzz", 0.0, NORMAL), ("z", 1.0, NORMAL)], {3: BPE}),
        "bpe_chain": model([*HEAD, ("a", 0.0, NORMAL), *chain, ("\u2581", 0.0, NORMAL)], {3: BPE}),
        "symbols": model([*HEAD, *[p for p in normal if p[0] not in "de"], *symbols], {3: UNIGRAM}),
        "no_unknown": model([*BYTES, *normal, ("\0", 0.0, NORMAL)], {35: 1}, {3: 0}),
        "bpe_no_unknown": model([*BYTES, *normal], {3: BPE, 35: 1}, {4: 0}),
        "empty_surface": model([("\u2581<unk>", 0.0, 2), *normal], {44: "", 45: "\u2581<unk>"}),
        "user_only": model([("<unk>", 0.0, 2), ("ab", 0.0, USER_DEFINED), ("b", 0.0, USER_DEFINED)]),
    }


def golden(data: bytes, rng: random.Random) -> dict:
    made = sentencepiece.SentencePieceProcessor(model_proto=data)
    size = made.vocab_size()
    ids = [[rng.randrange(size) for _ in range(rng.randrange(1, 14))] for _ in range(40)]
    low = min(size, 300)  # bytes and special pieces
    ids += [[rng.randrange(low) for _ in range(rng.randrange(1, 14))] for _ in range(40)]
    vocab = [made.id_to_piece(i) for i in range(size)]
    pieces = [[rng.choice([*vocab, "?", "\u2581x\u2581"]) for _ in range(rng.randrange(1, 9))] for _ in range(20)]
    encoded = [made.encode(text) for text in TEXTS]
    return {
        "size": size,
        "special": [made.unk_id(), made.bos_id(), made.eos_id(), made.pad_id()],
        "ids": encoded,
        "pieces": [made.encode(text, out_type=str) for text in TEXTS],
        "normal": [made.normalize(text) for text in TEXTS],
        "decoded": [made.decode(row) for row in encoded],
        "random_ids": ids,
        "random_texts": [made.decode(row) for row in ids],
        "random_pieces": pieces,
        "random_pieces_texts": [made.decode(row) for row in pieces],
    }


def main() -> None:
    models = {name: train(name, options) for name, options in TRAINED.items()}
    models["unigram_no_escape"] = models["unigram_identity"] + KEEP_SPACES
    models["bpe_no_escape"] = models["bpe_bytes_symbols"] + KEEP_SPACES
    models |= written()
    rng = random.Random(7)
    found = {name: golden(data, rng) for name, data in models.items()}
    whole = {"version": version("sentencepiece"), "texts": TEXTS, "models": found}
    files = {f"{name}.model": data for name, data in models.items()}
    files["goldens.json"] = json.dumps(whole, ensure_ascii=True, separators=(",", ":")).encode()
    with tarfile.open(Path(__file__).with_suffix(".tar.xz"), "w:xz", preset=9) as archive:
        for name, data in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))


if __name__ == "__main__":
    main()
