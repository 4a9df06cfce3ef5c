"""What `webxpu bench` measures, before a browser is started."""

import argparse
import io

import pytest
from rich.console import Console

from webxpu.bench.speeds import SPEEDS
from webxpu.host.bench import bench
from webxpu.host.bench_model import bench_model, headline, kernels_table, speeds_table
from webxpu.host.cli import main
from webxpu.host.exits import BadModel, UsageError


@pytest.fixture
def no_browser(monkeypatch):
    """Fails where a GPU is asked for."""

    def opened(adapter):
        raise AssertionError("a browser was started")

    monkeypatch.setattr("webxpu.host.bench.open_gpu_page", opened)


@pytest.mark.parametrize("name", ["softmux", "argmax"])
def test_an_op_of_which_nothing_is_measured_is_named_before_a_browser_starts(no_browser, name):
    assert name not in {s.op.name for s in SPEEDS}
    with pytest.raises(UsageError, match=rf"^nothing is measured of {name}; there are activation, "):
        bench(argparse.Namespace(op=["softmax", name], json=None, adapter=None))


def test_the_folder_of_a_report_is_made_before_anything_is_measured(no_browser, tmp_path):
    target = tmp_path / "reports" / "speeds.json"
    with pytest.raises(AssertionError, match="a browser was started"):
        bench(argparse.Namespace(op=["softmax"], json=target, adapter=None))
    assert target.parent.is_dir()


def options(**given):
    base = {
        "op": None,
        "tokenizer": None,
        "text": None,
        "model": None,
        "synthetic": None,
        "type": None,
        "json": None,
        "adapter": None,
        "command": "bench",
    }
    return argparse.Namespace(**{**base, **given})


@pytest.mark.parametrize(
    ("given", "rule"),
    [
        ({"synthetic": "qwen9"}, r"^--synthetic must be one of smollm2-135m, .*, qwen3-1\.7b, got qwen9$"),
        ({"synthetic": "qwen3-1.7b"}, r"^--synthetic needs --type, one of f32, .*q1_0"),
        ({"synthetic": "qwen3-1.7b", "type": "q9"}, r"^synthetic: type must be one of .*, got 'q9'$"),
        ({"synthetic": "smollm2-135m", "type": "q4_k"}, r"^synthetic: rows of token_embd must be a multiple of 256 "),
        ({"model": "", "type": "q4_k"}, r"^--type is for --synthetic; a model's own weights keep theirs$"),
    ],
)
def test_a_model_that_cannot_be_made_is_refused_before_a_browser_starts(monkeypatch, given, rule):
    monkeypatch.setattr("webxpu.host.bench_model.find_chrome", lambda: None)
    monkeypatch.setattr("webxpu.host.bench_model.build_site", None)
    with pytest.raises(UsageError, match=rule):
        bench_model(options(**given))


def test_a_file_that_is_not_there_is_named(monkeypatch, tmp_path):
    monkeypatch.setattr("webxpu.host.bench_model.find_chrome", lambda: None)
    with pytest.raises(BadModel, match=r"^no file or folder .*/none\.gguf$"):
        bench_model(options(model=str(tmp_path / "none.gguf")))


def test_the_command_takes_one_thing_to_measure(capsys):
    for words in (["--op", "softmax", "--model"], ["--model", "a.gguf", "--synthetic", "qwen3-1.7b"]):
        with pytest.raises(SystemExit):
            main(["bench", *words])
        assert "not allowed with argument" in capsys.readouterr().err
    assert main(["bench", "--type", "q1_0"]) == 2
    assert capsys.readouterr().err == "webxpu bench: --type is for --synthetic\n"


def test_the_tables_say_what_was_measured():
    speed = {"tokens": 128, "tokens_per_s": 1234.5, "spread": 0.04, "gpu_ms": 0.75, "dispatches": 153}
    speed |= {"weight_bytes": 105_400_000, "of_weights": 0.0321, "of_dispatches": 0.7}
    found = {
        "device": "NVIDIA H200", "browser": "Chrome 140", "model": "m.gguf", "kv": "q8",
        "read_bytes_s": 4.05e12, "load_ms": 900.0,
        "weight_bytes": {"float32": 100, "q4_1": 105_400_000},
        "prefill": [{**speed, "tokens": 512}], "decode": {**speed, "tokens_per_s": 98.76},
        "kernels": [{"kernel": "head", "dispatches": 2, "ms": 0.5, "bytes": 10**9}],
    }  # fmt: skip
    assert headline(found) == (
        "NVIDIA H200, Chrome 140: reads 4,050 GB/s\n"
        "m.gguf: 105.4 MB of weights (q4_1, float32), q8 cache, loaded in 0.9 s"
    )
    console = Console(width=120, record=True, file=io.StringIO())
    console.print(speeds_table(found), kernels_table(found))
    lines = [line.split() for line in console.export_text().splitlines()]
    assert lines[1] == ["prompt", "of", "512", "1,234", "2.0%", "0.750", "153", "105.4", "3.2%", "70.0%"]
    assert lines[2] == ["128", "tokens,", "each", "98.8", "2.0%", "0.750", "153", "105.4", "3.2%", "70.0%"]
    assert lines[-1] == ["head", "2", "500.0", "500,000.0", "2,000"]
