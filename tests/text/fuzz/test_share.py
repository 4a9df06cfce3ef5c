"""A share of the fuzz, the same in every run; `make fuzz` is the whole, with texts of its own."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.text.fuzz.__main__ import main
from tests.text.fuzz.models import FILES, NAMES, VOCABULARIES, load
from tests.text.fuzz.texts import long_texts
from tests.text.fuzz.work import LONG_NAMES, Chunk, Wrong, command, pool, run_chunk

SEED = "share"
TEXTS = 1000
# Texts of 100 kB a model; which ones goes round.
LONG_TEXTS = 2
# The largest first, since one process has it for long.
ORDER = (*reversed(NAMES),)


def share(name: str) -> Chunk:
    place = NAMES.index(name) * LONG_TEXTS
    long = [LONG_NAMES[(place + i) % len(LONG_NAMES)] for i in range(LONG_TEXTS)]
    random = (f"{SEED} {name} {index}" for index in range(TEXTS))
    return Chunk(name, [*random, *(f"{SEED} long {what}" for what in long)])


@pytest.fixture(scope="module")
def outcome(request: pytest.FixtureRequest) -> Iterator[Callable[[str], Wrong]]:
    """What differs for a model; two processes work on those that were asked for."""
    here = (item for item in request.session.items if item.path == Path(__file__) and hasattr(item, "callspec"))
    asked = [item.callspec.params["name"] for item in here if "name" in item.callspec.params]
    with pool(min(os.cpu_count() or 1, len(asked))) as workers:
        waiting = {name: workers.apply_async(run_chunk, [share(name)]) for name in asked}
        yield lambda name: waiting[name].get()[1]


@pytest.mark.parametrize("name", ORDER)
def test_texts_ids_and_pieces_come_out_as_sentencepiece_has_them(name, outcome):
    wrong = outcome(name)
    for seed, lines in wrong[:10]:
        print(command(name, seed), *lines, sep="\n    ")
    assert not wrong, f"{len(wrong)} of {TEXTS + LONG_TEXTS} differ; a line above repeats one of them alone"


def test_the_models_are_of_every_kind_and_real_ones_are_among_them():
    assert len(FILES) + len(VOCABULARIES) >= 9
    assert len(NAMES) == len(set(NAMES)) >= 50
    assert {name.partition("_")[0].removesuffix(".model") for name in NAMES} >= {"unigram", "bpe", "word", "char"}


def test_every_long_text_is_of_100_kb_and_in_the_share():
    assert {len(text.encode()) > 99_900 for text in long_texts(["ab", "\u2581"]).values()} == {True}
    shared = {seed.partition(" long ")[2] for name in NAMES for seed in share(name).seeds}
    assert shared == {"", *LONG_NAMES}


def test_the_command_counts_what_differs_and_one_case_can_be_repeated(capsys):
    assert main(["--texts", "3", "--seed", "x", "--only", "ties.model", "char.model", "--no-long"]) == 0
    first, *models, last = capsys.readouterr().out.splitlines()
    assert first == "seed x, 3 texts a model, 2 models"
    counts = sorted(re.sub(r" \(\d+ s\)$", "", line) for line in models)
    assert counts == ["char.model: 0 of 3 differ", "ties.model: 0 of 3 differ"]
    assert re.fullmatch(r"0 of 6 cases differ, 2 models, \d+ s, seed x", last)
    assert main(["--only", "no such model"]) == 2


def test_a_difference_is_shown_with_what_repeats_it(monkeypatch, capsys):
    ours = load("ties.model").ours
    monkeypatch.setattr(ours, "encode_pieces", lambda text, **_: ["wrong"])
    assert main(["--only", "ties.model", "--case", "x ties.model 1"]) == 1
    shown = capsys.readouterr().out
    assert re.search(r"text '.*'\n    pieces:\n        sentencepiece \[.*\]\n        webxpu        \['wrong'\]", shown)
    monkeypatch.undo()
    assert main(["--only", "ties.model", "--case", "x ties.model 1"]) == 0
    assert capsys.readouterr().out == "no difference\n"
    monkeypatch.setattr(ours, "normalize", lambda text: 1 // 0)
    assert main(["--only", "ties.model", "--case", "x ties.model 1"]) == 1
    assert "ZeroDivisionError" in capsys.readouterr().out
    assert command("a b", "x") == "python -m tests.text.fuzz --only 'a b' --case x:"
