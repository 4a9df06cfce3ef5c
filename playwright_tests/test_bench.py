"""The bench measures on the device, and states no speed of a CPU."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from pathlib import Path

import pytest

import webxpu.bench.roofline as roofline
from playwright_tests.python_page import PythonPage
from tests.llm import tiny
from tests.text.sentencepiece_files import trained
from webxpu import ops
from webxpu.bench.speeds import speed
from webxpu.bench.texts import samples
from webxpu.bench.tokenizer import CHARACTERS, ROUNDS
from webxpu.cases._fill import Fill
from webxpu.host import bench, exits
from webxpu.host.bench import measure, measure_roofline
from webxpu.host.gpu_page import GpuPage
from webxpu.host.serve import Server
from webxpu.text.sentencepiece import SentencePiece


@pytest.mark.parametrize("gpu_page", ["adapter"], indirect=True)
def test_a_call_is_timed_and_held_against_the_devices_own_ceilings(
    gpu_page: GpuPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(roofline, "READ_BYTES", 2**22)
    monkeypatch.setattr(roofline, "MULTIPLY_ROUNDS", 10)
    monkeypatch.setattr(roofline, "MULTIPLY_GROUPS", 16)
    monkeypatch.setattr(bench, "BUSY_MS", 5)
    ceilings = measure_roofline(gpu_page)
    assert 1e6 < ceilings.read_bytes_s < 20e12
    assert 1e6 < ceilings.flops_s < 10e15
    work = speed(ops.matvec, "64x1024", Fill((64, 1024)), Fill((1024,)), flops=2.0 * 64 * 1024)
    found = measure(gpu_page, work, ceilings)
    assert found.kernels.startswith("matvec/")
    seconds = found.milliseconds / 1000
    assert found.bytes_s == pytest.approx(work.nbytes / seconds)
    assert found.fraction == pytest.approx(ceilings.least_seconds(work.nbytes, work.flops) / seconds)
    assert found.bound_by in ("memory", "arithmetic")


def test_a_model_is_timed_and_held_against_the_bytes_that_it_reads(python: PythonPage, site_server: Server) -> None:
    found = python.run(
        """
from webxpu.bench import model as bench, roofline
from webxpu.errors import ShapeError
model = await webxpu.load(given["url"], context_tokens=128)
modules = {roofline: {"READ_BYTES": 2**20}, bench: {"READ_COPIES": 2, "PROFILE_ROUNDS": 2}}
before = {module: {name: getattr(module, name) for name in values} for module, values in modules.items()}
done = []
def put(modules):
    for module, values in modules.items():
        vars(module).update(values)
put(modules)
try:
    sizes = {"prompts": [20], "decode_prompt": 10, "decode_tokens": 5, "rounds": 2}
    found = await bench.measure(model, **sizes, progress=lambda *at: done.append(at))
finally:
    put(before)
generation = model.generate(given["prompt"], max_tokens=8, stop_ids=[])
async for _ in generation:
    pass
try:
    await bench.measure(model)
except ShapeError as e:
    refused = str(e)
model.dispose()
return {**found, "ids": generation.ids, "done": done, "refused": refused,
    "steps": generation.timings.dispatches_per_token}
""",
        url=site_server.share(tiny.FILE),
        prompt=tiny.golden()["prompt"].tolist(),
    )
    assert 1e6 < found["read_bytes_s"] < 20e12
    tensors = tiny.header().tensors
    embedding = tensors["token_embd.weight"]
    token = sum(t.nbytes for t in tensors.values()) - embedding.nbytes + embedding.nbytes // embedding.shape[0]
    decode, [prefill] = found["decode"], found["prefill"]
    assert token <= decode["weight_bytes"] < token + 32 * len(tensors)  # planes are filled up
    assert decode["weight_bytes"] < prefill["weight_bytes"]
    assert (decode["tokens"], decode["dispatches"], prefill["tokens"]) == (5, found["steps"], 20)
    for measured in (decode, prefill):
        assert measured["gpu_ms"] > 0
        assert measured["spread"] >= 0
        assert 0 < measured["of_weights"] < measured["of_dispatches"]
    seconds = 1 / decode["tokens_per_s"]
    assert decode["of_weights"] == pytest.approx(decode["weight_bytes"] / found["read_bytes_s"] / seconds)
    assert sum(kernel["dispatches"] for kernel in found["kernels"]) == found["steps"]
    assert found["done"] == [[i + 1, 7] for i in range(7)]
    assert found["ids"] == tiny.golden()["greedy"].tolist()[:8]
    assert found["refused"] == "measure: the model's context must be at least 513 tokens, got 128"


@pytest.mark.parametrize("measured", [[], ["--synthetic", "qwen3-1.7b", "--type", "q4_k"]], ids=["ops", "model"])
def test_no_speed_is_stated_of_an_adapter_that_computes_on_the_cpu(measured: list[str]) -> None:
    command = [sys.executable, "-m", "webxpu.host.cli", "bench", *measured, "--adapter", "swiftshader"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("webxpu bench: no speed is measured here: the adapter is a fallback adapter")


def test_tokenizers_are_timed_in_a_python_of_their_own_on_any_adapter(tmp_path: Path) -> None:
    models = {name: tmp_path / name for name in ("unigram_bytes.model", "bpe_bytes.model")}
    for name, path in models.items():
        path.write_bytes(trained()[name])
    report = tmp_path / "found.json"
    command = [sys.executable, "-m", "webxpu.host.cli", "bench", "--tokenizer", *map(str, models.values())]
    command += ["--adapter", "swiftshader", "--json", str(report)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "unigram_bytes.model" in done.stdout
    found = json.loads(report.read_text("utf-8"))
    assert found["browser"].startswith("Chrome ")
    assert found["cpu"]
    assert [one["model_type"] for one in found["tokenizers"]] == ["unigram", "bpe"]
    for one, (name, path) in zip(found["tokenizers"], models.items(), strict=True):
        tokenizer = SentencePiece.from_bytes(trained()[name])
        texts = samples(CHARACTERS, ROUNDS)
        assert (one["source"], one["vocab_size"]) == (str(path), tokenizer.vocab_size)
        assert 1e6 < one["heap_bytes"]["before"] <= one["heap_bytes"]["loaded"] <= one["heap_bytes"]["after"]
        for kind in ("English", "Japanese"):
            counts = [len(tokenizer.encode(text)) for text in texts[kind]]
            assert one["texts"][kind]["tokens"] == statistics.median(counts)
            assert one["texts"][kind]["encode_ms"] > 0


def test_a_file_without_a_tokenizer_is_named_by_its_path(tmp_path: Path) -> None:
    path = tmp_path / "some.bin"
    path.write_bytes(b"\xff" * 40)
    command = [sys.executable, "-m", "webxpu.host.cli", "bench", "--tokenizer", str(path), "--adapter", "swiftshader"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (exits.BAD_MODEL, "")
    assert done.stderr.startswith(f"webxpu bench: {path}: must be a GGUF file, ")
