"""Random texts, ids and pieces through `sentencepiece` itself; `--texts 20000 --models FILE ...` for the long run."""

from __future__ import annotations

import io
import random
from pathlib import Path

import pytest
import sentencepiece

from tests.text.sentencepiece_files import trained
from webxpu.text.sentencepiece import SentencePiece
from webxpu.text.stream import TextStream

TRAINED = trained()
# What different scripts, normalisers and joiners make difficult, a pool each.
POOLS = [
    "abcdefghij klmno", "the and ing  \u2581", "あいうえおかがゞ\u3099\u309a日本語漢字", "ｶﾞｷﾞＡＢ１２㌔①½ﬁ", "éüñßİıſǆﷺ",
    "\u0301\u0308\u0304\u0323\u200d\ufe0f\U0001f3fd", "😀👩💻🇯🇵", "\r\n\t\0\1\x1f\x7f\x85\xa0\u3000\u2028\ufeff\u200b",
    "العربية السلام", "0123456789.,;:!?<>/-_'\"", "\ufffd\U0010ffff\ue000", "각가각", "กำ न्क्षि",
]  # fmt: skip
TIMES = (1, 1, 1, 1, 2, 3, 12)


def character(rng: random.Random, below: int) -> str:
    code = rng.randrange(below)
    return "x" if 0xD800 <= code < 0xE000 else chr(code)


def random_text(rng: random.Random, vocab: list[str]) -> str:
    """Pieces, characters of the pools and any others, spaces, and repetitions of a piece."""
    out = []
    for _ in range(rng.choice((0, 1, 2, 3, 5, 8, 13, 30, 80))):
        kind = rng.random()
        if kind < 0.45:
            piece = rng.choice(vocab) * rng.choice(TIMES)
            out.append(piece.replace("\u2581", " ") if rng.random() < 0.8 else piece)
        elif kind < 0.85:
            out.append(rng.choice(rng.choice(POOLS)))
        elif kind < 0.92:
            out.append(" " * rng.randrange(1, 4))
        else:
            out.append(character(rng, rng.choice((0x250, 0x3100, 0x110000))))
    return "".join(out)


def random_ids(rng: random.Random, size: int) -> list[int]:
    below = rng.choice((size, min(size, 300)))  # bytes and special pieces are the first
    return [rng.randrange(below) for _ in range(rng.randrange(14))]


def differences(theirs, ours: SentencePiece, rng: random.Random, vocab: list[str]) -> list[str]:
    """What the two packages disagree about, on one random text, one row of ids and one of pieces."""
    text, ids = random_text(rng, vocab), random_ids(rng, len(vocab))
    pieces = [rng.choice(vocab) if rng.random() < 0.8 else random_text(rng, vocab)[:6] for _ in range(rng.randrange(8))]
    encoded = theirs.encode(text)
    stream = TextStream(ours)
    pairs = {
        "normalize": (theirs.normalize(text), ours.normalize(text)),
        "ids": (encoded, ours.encode(text, parse_special=False)),
        "pieces": (theirs.encode(text, out_type=str), ours.encode_pieces(text)),
        "decode": (theirs.decode(encoded), ours.decode(encoded)),
        "decode ids": (theirs.decode(ids), ours.decode(ids)),
        "decode pieces": (theirs.decode(pieces) if pieces else "", ours.decode_pieces(pieces)),
        "stream": (theirs.decode(ids), "".join([stream.push([i]) for i in ids]) + stream.finish()),
    }
    return [f"{what}: {a!a} and {b!a}" for what, (a, b) in pairs.items() if a != b]


def compare(name: str, data: bytes, request: pytest.FixtureRequest) -> None:
    theirs = sentencepiece.SentencePieceProcessor(model_proto=data)
    ours = SentencePiece.from_bytes(data, name)
    vocab = [theirs.id_to_piece(index) for index in range(theirs.vocab_size())]
    assert ours.pieces == vocab
    seed, count = request.config.getoption("--seed"), request.config.getoption("--texts")
    found = 0
    for index in range(count):
        wrong = differences(theirs, ours, random.Random(f"{seed} {name} {index}"), vocab)
        found += bool(wrong)
        if wrong and found <= 10:
            print(f"random.Random('{seed} {name} {index}'):", *wrong, sep="\n    ")
    print(f"{name}: {found} of {count} differ")
    assert not found, f"{found} of {count} differ"


@pytest.mark.parametrize("name", TRAINED)
def test_trained_and_written_models_agree(name, request):
    compare(name, TRAINED[name], request)


@pytest.mark.parametrize("rules", ["nfkc", "nfkc_cf", "nmt_nfkc_cf"])
@pytest.mark.parametrize("kind", ["unigram", "char"])
def test_models_of_other_normalisers_agree(rules, kind, request):
    rng = random.Random(3)
    lines = ["".join(rng.choices("".join(POOLS).replace("\0", ""), k=30)) for _ in range(300)]
    out = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines),
        model_writer=out,
        model_type=kind,
        vocab_size=150,
        normalization_rule_name=rules,
        hard_vocab_limit=False,
        minloglevel=2,
    )
    compare(f"{kind}_{rules}", out.getvalue(), request)


def test_the_models_that_were_named_agree(request):
    for path in map(Path, request.config.getoption("--models")):
        compare(path.name, path.read_bytes(), request)


def test_a_text_of_one_character_a_hundred_thousand_times_agrees():
    for name in ("unigram_bytes.model", "unigram_identity.model", "bpe_bytes.model", "ties.model", "char_plain.model"):
        theirs = sentencepiece.SentencePieceProcessor(model_proto=TRAINED[name])
        ours = SentencePiece.from_bytes(TRAINED[name], name)
        for text in ("a" * 100_000, "あ" * 33_334, "\u2603" * 33_334, "\u2603 the " * 12_000):
            assert ours.encode(text, parse_special=False) == theirs.encode(text), (name, text[:6])
