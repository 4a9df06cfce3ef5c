"""SentencePiece in Pyodide against `sentencepiece` in CPython: a sample of the texts, ids and pieces of the fuzz."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from playwright_tests.python_page import PythonPage
from tests.text.fuzz.compare import Pair, streamed
from tests.text.fuzz.models import load
from tests.text.fuzz.texts import random_ids, random_pieces, random_text
from webxpu.host.serve import Server
from webxpu.text.sentencepiece import SentencePiece

MODELS = (
    "botchan_en_unigram_1000", "mistral-v1", "seqio", "unigram_bytes_symbols.model", "bpe_suffix.model", "word.model",
    "char_nmt_nfkc_cf",
)  # fmt: skip
TEXTS = 60
LONG_CHARACTERS = 20_000
RUN = """
from pyodide.http import pyfetch
from webxpu.text.sentencepiece import SentencePiece
from webxpu.text.stream import TextStream

def streamed(ids, skip_special):
    stream = TextStream(found, skip_special=skip_special)
    return "".join([stream.push([index]) for index in ids]) + stream.finish()

found = SentencePiece.from_bytes(await (await pyfetch(given["url"])).bytes(), given["name"])
long = given["long"]
return {
    "normal": [found.normalize(text) for text in given["texts"]],
    "ids": [found.encode(text, parse_special=False) for text in given["texts"]],
    "pieces": [found.encode_pieces(text) for text in given["texts"]],
    "turned": [found.encode(text, parse_special=False, reverse=True) for text in given["texts"]],
    "decoded": [found.decode(ids) for ids in given["ids"]],
    "streamed": [streamed(ids, True) for ids in given["ids"]],
    "of pieces": [found.decode_pieces(pieces) for pieces in given["pieces"]],
    "long": found.encode(long[0] * long[1], parse_special=False),
    "with names": [streamed(ids, False) for ids in given["ids"]],
}
"""


def expected(pair: Pair, texts: list[str], ids: list[list[int]], pieces: list[list[str]], long: str) -> dict[str, Any]:
    theirs, named = pair.theirs, [pair.with_all_names(row) for row in ids]
    return {
        "normal": [theirs.normalize(text) for text in texts],
        "ids": [theirs.encode(text) for text in texts],
        "pieces": [theirs.encode(text, out_type=str) for text in texts],
        "turned": [theirs.encode(text, reverse=True) for text in texts],
        "decoded": [theirs.decode(row) for row in ids],
        "streamed": [theirs.decode(row) for row in ids],
        "of pieces": [theirs.decode(row) if row else "" for row in pieces],
        "long": theirs.encode(long),
        "with names": named,
    }


@pytest.mark.parametrize("name", MODELS)
def test_texts_ids_and_pieces_come_out_as_sentencepiece_has_them(
    python: PythonPage, site_server: Server, tmp_path: Path, name: str
) -> None:
    pair = load(name)
    rng = random.Random(f"browser {name}")
    texts = [random_text(rng, pair.vocab, pair.rules) for _ in range(TEXTS)]
    ids = [random_ids(rng, len(pair.vocab)) for _ in range(TEXTS)] + [pair.theirs.encode(text) for text in texts]
    pieces = [random_pieces(rng, pair.vocab) for _ in range(TEXTS)]
    unit = rng.choice(("a", "あ", "\u2603 the", "ｶﾞ"))
    file = tmp_path / "tokenizer.model"
    file.write_bytes(pair.data)
    given = {"texts": texts, "ids": ids, "pieces": pieces, "long": [unit, LONG_CHARACTERS]}
    found = python.run(RUN, url=site_server.share(file), name=name, **given)
    wanted = expected(pair, texts, ids, pieces, unit * LONG_CHARACTERS)
    for what, values in wanted.items():
        assert found[what] == values or values[0] is None, what  # a model of words alone has no text without a boundary
    assert len(set(map(len, wanted["ids"]))) > 10


def test_a_lone_surrogate_is_the_same_error_as_in_cpython(python: PythonPage) -> None:
    message = python.run(
        """
from webxpu.text.sentencepiece import SentencePiece
from webxpu.errors import ShapeError
found = SentencePiece.from_bytes(bytes.fromhex(given["model"]))
try:
    found.encode("a" + chr(0xD83D) + "b")
except ShapeError as e:
    return ascii(str(e))
""",
        model=load("ties.model").data.hex(),
    )
    ours = SentencePiece.from_bytes(load("ties.model").data)
    assert streamed(ours, [[3], [4]]) == "ab"
    with pytest.raises(ValueError, match="lone surrogates") as e:
        ours.encode("a\ud83db")
    assert message == ascii(str(e.value))
