"""What `webxpu bench --tokenizer` refuses before a browser starts, and what its table says."""

import argparse
import io

import pytest
from rich.console import Console

from webxpu.host.bench_tokenizer import bench_tokenizer, cpu_name, headline, read_text, table
from webxpu.host.cli import main
from webxpu.host.exits import BadModel, UsageError


@pytest.fixture
def no_browser(monkeypatch):
    monkeypatch.setattr("webxpu.host.bench_tokenizer.find_chrome", lambda: None)
    monkeypatch.setattr("webxpu.host.bench_tokenizer.build_site", None)


def test_a_tokenizer_that_is_not_there_is_named_before_a_browser_starts(no_browser, tmp_path):
    given = argparse.Namespace(tokenizer=[str(tmp_path), str(tmp_path / "x.model")], text=None, json=None, adapter=None)
    with pytest.raises(BadModel, match=r"^no file or folder .*/x\.model$"):
        bench_tokenizer(given)


@pytest.mark.parametrize(
    ("content", "rule"),
    [
        (None, "No such file or directory"),
        (b"", "must have characters, got none"),
        (b"a\xffb", "must be UTF-8, got ff at byte 1"),
    ],
)
def test_a_text_that_cannot_be_cut_is_refused(no_browser, tmp_path, content, rule):
    path = tmp_path / "t.txt"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(UsageError, match=rf"^--text .*/t\.txt: {rule}$"):
        bench_tokenizer(argparse.Namespace(tokenizer=["x"], text=path, json=None, adapter=None))
    path.write_text("日本", "utf-8")
    assert read_text(path) == "日本"


def test_a_text_is_for_tokenizers_alone(capsys):
    assert main(["bench", "--text", "t.txt"]) == 2
    assert capsys.readouterr().err == "webxpu bench: --text is for --tokenizer\n"
    with pytest.raises(SystemExit):
        main(["bench", "--tokenizer", "a", "--op", "softmax"])


def test_the_processor_is_named_as_the_system_names_it(tmp_path):
    info = tmp_path / "cpuinfo"
    info.write_text("processor\t: 0\nmodel name\t: Some CPU @ 2.10GHz\n")
    assert cpu_name(info) == "Some CPU @ 2.10GHz"
    assert cpu_name(tmp_path / "none")


def test_the_table_has_a_row_for_each_text():
    speed = {"characters": 10_000, "tokens": 2345, "first_ms": 20.04, "encode_ms": 12.34, "decode_ms": 1.0}
    one = {
        "source": "models/a.model", "vocab_size": 32_000, "model_type": "bpe", "load_ms": 612.4, "python": "3.12.7",
        "heap_bytes": {"before": 36e6, "loaded": 50e6, "after": 52e6}, "texts": {"English": speed, "Python": speed},
    }  # fmt: skip
    found = {"cpu": "Some CPU", "browser": "Chrome 140", "date": "2030-01-02", "tokenizers": [one]}
    assert headline(found) == "Some CPU, Chrome 140, Python 3.12.7, 2030-01-02"
    console = Console(width=140, record=True, file=io.StringIO())
    console.print(table(found))
    lines = [line.split() for line in console.export_text().splitlines()]
    times = ["10,000", "2,345", "20.0", "12.3", "1.0"]
    assert lines[1] == ["a.model", "bpe", "32,000", "612", "36", "to", "52", "English", *times]
    assert lines[2] == ["Python", *times]
