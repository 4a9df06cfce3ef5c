"""`webxpu convert tokenizer`: the vocabulary and the fixtures that it writes, and that nothing half is left."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

import webxpu
from tests.llm import tiny, tiny_hf
from tests.text.gguf_files import gguf_bytes
from tests.text.sentencepiece_files import HEAD, NORMAL, UNUSED, model, trained
from tests.text.test_gguf_pieces import NAMES, TRAINED, metadata
from tests.text.vocabularies import UNIGRAM
from webxpu.host import convert_tokenizer as command
from webxpu.host.cli import main
from webxpu.host.convert_tokenizer import convert_tokenizer, fixtures_path, made_by_sentencepiece
from webxpu.host.exits import BAD_MODEL, FAILED, USAGE
from webxpu.text.added_tokens import AddedToken
from webxpu.text.sentencepiece import SentencePiece
from webxpu.text.vocabulary_json import vocabulary_text

MODEL = trained()[NAMES[0]]
TEXT = "hello  world \u3042 <s>"


def load(path: Path) -> SentencePiece:
    found = asyncio.run(webxpu.load_tokenizer(path))
    assert isinstance(found, SentencePiece)
    return found


def run(*words: object) -> int:
    return main(["convert", "tokenizer", *map(str, words)])


@pytest.mark.parametrize("name", NAMES[::4])
@pytest.mark.parametrize("form", ["model", "gguf"])
def test_the_fixtures_are_sentencepieces_and_the_vocabulary_agrees(tmp_path: Path, name: str, form: str) -> None:
    source, out = tmp_path / "a.tok", tmp_path / "out" / "a.json"
    source.write_bytes(trained()[name] if form == "model" else gguf_bytes(metadata(TRAINED[name])))
    counts = convert_tokenizer(source, out, fixtures=True)
    assert sorted(path.name for path in out.parent.iterdir()) == ["a.fixtures.json", "a.json"]
    found = load(out)
    cases = json.loads(fixtures_path(out).read_text("utf-8"))
    assert counts == {"pieces": found.vocab_size, "bytes": out.stat().st_size, "fixtures": len(cases)}
    assert len(cases) >= 80
    for case in cases:
        assert found.encode(case["text"], parse_special=False) == case["ids"], case["name"]
        assert found.decode(case["ids"]) == case["decoded"], case["name"]
    assert load(source).encode(TEXT, add_special=True) == found.encode(TEXT, add_special=True)


def test_a_folders_tokenizer_is_written_with_its_configuration(tmp_path: Path) -> None:
    folder = tmp_path / "m"
    folder.mkdir()
    (folder / "tokenizer.model").write_bytes(MODEL)
    (folder / "tokenizer_config.json").write_text(json.dumps({"add_bos_token": False, "add_eos_token": True}))
    assert run(folder, tmp_path / "a.json") == 0
    found = load(tmp_path / "a.json")
    assert (found.add_bos, found.add_eos) == (False, True)
    assert found.encode(TEXT, add_special=True) == load(folder).encode(TEXT, add_special=True)


def test_texts_with_names_that_sentencepiece_does_not_know_are_left_out() -> None:
    tokens = AddedToken(500_000, "fox"), AddedToken(500_001, "code", special=True)
    plain, added = (made_by_sentencepiece(SentencePiece(TRAINED[NAMES[0]], added=more)) for more in ((), tokens))
    names = [{case["name"] for case in cases} for cases in (plain, added)]
    assert names[0] - names[1] == {"en_sentence"}


def test_places_that_are_kept_free_do_not_stop_sentencepiece() -> None:
    free = [("\0", 0.0, UNUSED), ("\0", 0.0, UNUSED)]
    made = SentencePiece.from_bytes(model([*HEAD, *free, ("a", -1.0, NORMAL)], {}, {3: 0, 4: 0}))
    cases = {case["name"]: case["ids"] for case in made_by_sentencepiece(made)}
    assert cases["repeated_letter"] == [5] * 40
    assert set(cases) > {"control_name", "control_in_text", "control_adjacent", "control_spaced", "control_broken"}
    nameless = SentencePiece.from_bytes(model([("a", -1.0, NORMAL), ("<unk>", 0.0, 2)], {}, {3: 0, 4: 0}))
    assert nameless.special_names == {"<unk>": 1}


def test_a_unigram_tokenizer_json_is_written_with_its_steps_and_fixtures_of_its_own_library(tmp_path: Path) -> None:
    source, out = tmp_path / "tokenizer.json", tmp_path / "a.json"
    source.write_text(json.dumps(UNIGRAM))
    counts = convert_tokenizer(source, out, fixtures=True)
    found = load(out)
    cases = {case["name"]: case for case in json.loads(fixtures_path(out).read_text("utf-8"))}
    assert counts["fixtures"] == len(cases) >= 80
    assert "angle_brackets" not in cases, "it has <unk>, which is always a token to that library"
    assert cases["ja_halfwidth"]["ids"] == [1, 0, 1, 0], "normalised by the file's NFKC"
    for case in cases.values():
        assert found.encode(case["text"], parse_special=False) == case["ids"], case["name"]
        assert found.decode(case["ids"]) == case["decoded"], case["name"]


def test_what_is_there_is_replaced_only_where_asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, out = tmp_path / "m", tmp_path / "a.json"
    source.write_bytes(MODEL)
    out.write_text("mine")
    assert run(source, out) == USAGE
    assert capsys.readouterr().err == f"webxpu convert tokenizer: {out} exists; --force replaces it\n"
    assert out.read_text() == "mine"
    assert run("--force", source, out) == 0
    assert out.read_text("utf-8") == vocabulary_text(load(source))
    fixtures_path(out).write_text("mine")
    out.unlink()
    assert run(source, out, "--fixtures") == USAGE
    assert not out.exists()
    capsys.readouterr()
    assert run(source, out) == USAGE, "else texts of one vocabulary would lie beside another"
    assert re.search(
        r"a\.fixtures\.json is of an earlier vocabulary; --fixtures --force makes it", capsys.readouterr().err
    )
    assert not out.exists()
    assert run(source, out, "--fixtures", "--force") == 0
    assert len(json.loads(fixtures_path(out).read_text("utf-8"))) >= 80


def test_a_run_that_is_interrupted_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "m").write_bytes(MODEL)

    def fail(*_: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "made_by_sentencepiece", fail)
    assert run(tmp_path / "m", tmp_path / "a.json", "--fixtures") == 130
    assert [path.name for path in tmp_path.iterdir()] == ["m"]
    monkeypatch.undo()
    monkeypatch.setattr(command.os, "replace", fail)
    assert run(tmp_path / "m", tmp_path / "a.json", "--fixtures") == 130
    assert [path.name for path in tmp_path.iterdir()] == ["m"]


def test_without_sentencepiece_fixtures_are_refused_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "m").write_bytes(MODEL)
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    assert run(tmp_path / "m", tmp_path / "a.json", "--fixtures") == FAILED
    assert capsys.readouterr().err.endswith("--fixtures needs the package sentencepiece: pip install sentencepiece\n")
    assert [path.name for path in tmp_path.iterdir()] == ["m"]
    assert run(tmp_path / "m", tmp_path / "a.json") == 0


@pytest.mark.parametrize(
    ("out", "message"),
    [("a.txt", "a.txt must end in .json\n"), ("folder.json", "folder.json is a folder\n")],
)
def test_a_place_that_is_none_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], out: str, message: str
) -> None:
    (tmp_path / "folder.json").mkdir()
    (tmp_path / "m").write_bytes(MODEL)
    assert run(tmp_path / "m", tmp_path / out, "--force") == USAGE
    assert capsys.readouterr().err.endswith(message)


def test_other_sources_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "a.json"
    assert run(tiny.FILE, out) == USAGE
    assert "must be a SentencePiece tokenizer, got byte-level BPE, which has no such form" in capsys.readouterr().err
    words = {"type": "BPE", "vocab": {"a": 0, "b": 1}, "merges": [], "unk_token": None}
    (tmp_path / "words.json").write_text(json.dumps({"added_tokens": [], "decoder": {"type": "Fuse"}, "model": words}))
    assert run(tmp_path / "words.json", out) == USAGE
    assert (
        "must be a SentencePiece tokenizer, got Hugging Face's BPE, which has no such form" in capsys.readouterr().err
    )
    assert run(tmp_path / "none", out) == BAD_MODEL
    assert "no file or folder" in capsys.readouterr().err
    (tmp_path / "zip").write_bytes(b"PK\x03\x04")
    assert run(tmp_path / "zip", out) == BAD_MODEL
    assert "weights 50 4b 03 04" in capsys.readouterr().err
    assert not out.exists()


def test_a_models_folder_may_be_called_tokenizer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(tiny_hf.FOLDER / "f16", "tokenizer")
    for source, out in (("tokenizer", "a"), ("./tokenizer", "b")):
        assert main(["convert", source, out, "--to", "q8"]) == 0
        assert main(["convert", "--to=q8", "--force", source, out]) == 0
        assert (tmp_path / out / "manifest.json").is_file()
    Path("tokenizer/tokenizer.model").write_bytes(MODEL)
    assert main(["convert", "--force", "tokenizer", "tokenizer", "v.json"]) == 0
    assert load(Path("v.json")).encode(TEXT) == load(Path("tokenizer")).encode(TEXT)


def test_the_help_tells_of_both_commands(capsys: pytest.CaptureFixture[str]) -> None:
    texts = []
    for words in (["convert", "--help"], ["convert", "tokenizer", "--help"], ["--help"]):
        with pytest.raises(SystemExit):
            main(words)
        texts.append(capsys.readouterr().out)
    assert "usage: webxpu convert [-h] --to" in texts[0]
    assert "webxpu convert tokenizer SOURCE OUT.json" in texts[0]
    assert "usage: webxpu convert tokenizer [-h] [--fixtures] [--force] SOURCE OUT.json" in texts[1]
    assert "convert tokenizer\n" in texts[2]


def test_the_command_says_what_it_reads_and_wrote(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "m").write_bytes(MODEL)
    assert run(tmp_path / "m", tmp_path / "a.json", "--fixtures") == 0
    reading, wrote, texts = capsys.readouterr().err.splitlines()
    assert reading == "reading m"
    pieces, size = len(TRAINED[NAMES[0]].pieces), (tmp_path / "a.json").stat().st_size
    assert wrote == f"{tmp_path / 'a.json'}: {pieces:,} pieces, {size:,} bytes"
    assert texts.startswith(f"{tmp_path / 'a.fixtures.json'}: 8")
