"""The speed of a tokenizer: what is cut, and what is said of it. No time is held to anything."""

from __future__ import annotations

import asyncio
import json

import pytest

from tests.text.sentencepiece_files import trained
from webxpu.bench.texts import ENGLISH, JAPANESE, samples, slices
from webxpu.bench.tokenizer import measure, measured_json, model_type
from webxpu.errors import ShapeError
from webxpu.text.sentencepiece import SentencePiece


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "tokenizer.model"
    path.write_bytes(trained()["unigram_bytes.model"])
    return str(path)


class Heap:
    """Grows by a byte each time somebody looks."""

    def __init__(self):
        self.nbytes = 0

    def __call__(self):
        self.nbytes += 1
        return self.nbytes


def test_no_text_comes_twice_and_all_are_as_long_as_asked():
    found = samples(3000, 4)
    assert list(found) == ["English", "Japanese", "Python"]
    for texts in found.values():
        assert [len(text) for text in texts] == [3000] * 4
        assert len({text[:200] for text in texts}) == 4
    assert found == samples(3000, 4)


def test_a_sentence_comes_again_only_after_all_others():
    [text] = samples(len(ENGLISH), 1)["English"]
    assert [text.count(sentence) for sentence in ENGLISH.splitlines()] == [1] * 30
    assert len(set(JAPANESE.splitlines())) == len(set(ENGLISH.splitlines())) == 30


def test_a_text_is_cut_into_slices_and_goes_on_from_its_beginning():
    assert slices("abcdefg", 3, 2) == ["abc", "def"]
    assert slices("abcd", 3, 3) == ["abc", "dab", "cda"]


def test_what_is_measured_is_the_tokenizers_own_work(file):
    found = asyncio.run(measure(file, text="hello world " * 40, characters=30, rounds=3, heap_bytes=Heap()))
    tokenizer = SentencePiece.from_bytes(trained()["unigram_bytes.model"])
    counts = sorted(len(tokenizer.encode(part)) for part in slices("hello world " * 40, 30, 3))
    assert (found["vocab_size"], found["model_type"]) == (tokenizer.vocab_size, "unigram")
    assert found["heap_bytes"] == {"before": 1, "loaded": 2, "after": 3}
    [(name, speed)] = found["texts"].items()
    assert (name, speed["characters"], speed["tokens"]) == ("text", 30, counts[1])
    assert all(speed[key] > 0 for key in ("first_ms", "encode_ms", "decode_ms"))
    assert found["load_ms"] > 0


def test_the_own_texts_are_cut_where_none_is_given(file):
    found = asyncio.run(measure(file, characters=100, rounds=2, heap_bytes=Heap()))
    assert list(found["texts"]) == ["English", "Japanese", "Python"]


def test_an_empty_text_is_refused(file):
    with pytest.raises(ShapeError, match=r"^measure: text must have characters, got none$"):
        asyncio.run(measure(file, text="", heap_bytes=Heap()))


def test_a_page_gets_json_for_an_answer_and_for_an_error(file, tmp_path):
    job = {"source": file, "characters": 50, "rounds": 1}
    answer = json.loads(asyncio.run(measured_json(json.dumps(job), Heap())))
    assert answer["result"]["texts"]["Python"]["characters"] == 50
    (tmp_path / "none.model").write_bytes(b"\xff" * 20)
    answer = json.loads(asyncio.run(measured_json(json.dumps({"source": str(tmp_path / "none.model")}), Heap())))
    assert answer["error"]["name"] == "FormatError"
    assert answer["error"]["message"].startswith("none.model: must be a GGUF file, ")


def test_the_type_is_that_of_the_model():
    found = {name: model_type(SentencePiece.from_bytes(trained()[name])) for name in ("bpe.model", "char.model")}
    assert found == {"bpe.model": "bpe", "char.model": "char"}
