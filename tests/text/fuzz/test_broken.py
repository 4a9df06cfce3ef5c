"""A share of the fuzz of broken files, the same in every run, and that it notices."""

from __future__ import annotations

import random

import pytest

from tests.text.fuzz import broken
from tests.text.fuzz.broken import KINDS, problem
from tests.text.fuzz.work import command
from webxpu.errors import FormatError, Unsupported
from webxpu.text.sentencepiece import SentencePiece

FILES = {"bytes": 600, "fields": 400, "metadata": 600, "source": 600}


@pytest.mark.parametrize("kind", KINDS)
def test_a_broken_file_is_refused_or_means_what_it_says(kind):
    seeds = [f"share {kind} {index}" for index in range(FILES[kind])]
    wrong = {seed: how for seed in seeds if (how := problem(kind, seed))}
    for seed, how in [*wrong.items()][:10]:
        print(command(f"broken {kind}", seed), how, sep="\n")
    assert not wrong, f"{len(wrong)} of {FILES[kind]} are taken wrongly"


def test_many_of_the_changed_models_are_still_read():
    read = 0
    for index in range(100):
        try:
            SentencePiece.from_bytes(broken.fields_changed(random.Random(index), "bpe_unused"))
        except (FormatError, Unsupported):
            continue
        read += 1
    assert 20 < read < 90


def test_other_errors_other_ids_and_what_sentencepiece_refuses_are_problems(monkeypatch):
    sound = broken.files()["bpe_unused"]
    assert broken.of_file(sound) is None
    assert broken.of_file(sound[:-1] + b"\xff\xff") is None  # refused by both
    with monkeypatch.context() as patch:
        patch.setattr(SentencePiece, "encode", lambda *_, **__: [1, 2, 3])
        assert "webxpu [1, 2, 3]" in str(broken.of_file(sound))
    with monkeypatch.context() as patch:
        patch.setattr(SentencePiece, "decode", lambda *_, **__: 1 // 0)
        assert "ZeroDivisionError" in str(broken.of_file(sound))
    ours = SentencePiece.from_bytes(sound)
    assert "INTERNAL" in str(broken.judged(lambda: ours, lambda _: b"\x0a\x00"))
