"""Every architecture and every weight type on NumPy arrays against transformers (tests/goldens/tiny_models.py), from
GGUF files and Hugging Face folders as the engine opens them."""

from __future__ import annotations

import asyncio
import dataclasses
import functools
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.llm import tiny_models
from tests.llm.fake_bridge import FakeBridge
from tests.llm.tiny_models import DECODE_TOKENS, MODELS, PROMPT_TOKENS, VARIANTS
from webxpu.formats.tensor_info import TensorInfo
from webxpu.llm import head
from webxpu.llm.cache import Cache
from webxpu.llm.checkpoint import Checkpoint, open_checkpoint
from webxpu.llm.state import State
from webxpu.llm.weights import read_arrays
from webxpu.quant.ggml import Blocks, dequantize

CAPACITY = 64
# Activations are float32 between ops: 1.3e-5 measured, on logits up to 10; the least margin between the two best ids is
# 5.6e-3.
LOGIT_ABS = 5e-5


def opened(folder: Path, source: str) -> tuple[Checkpoint, dict[str, Any]]:
    """What the engine computes with. Blocks are dequantised once: the tests are not about weight types' arithmetic."""
    found = asyncio.run(open_checkpoint(source, FakeBridge(folder)))  # type: ignore[arg-type]
    data = {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}

    def read(info: TensorInfo) -> bytes:
        return data[info.file][info.start : info.start + info.nbytes]

    arrays = read_arrays(found.weights, read)
    return found, {name: dequantize(a) if isinstance(a, Blocks) else a for name, a in arrays.items()}


@functools.cache
def from_gguf(name: str, kind: str) -> tuple[Checkpoint, dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        tiny_models.write_gguf(Path(folder) / "m.gguf", name, kind)
        return opened(Path(folder), "m.gguf")


@functools.cache
def from_folder(name: str) -> tuple[Checkpoint, dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        tiny_models.write_folder(Path(folder) / "m", MODELS[name].config, tiny_models.tensors(name))
        return opened(Path(folder), "m/")


def run(
    found: Checkpoint, arrays: dict[str, Any], prompt: np.ndarray, kv: str = "f32", sinks: int = 0
) -> tuple[list[int], np.ndarray]:
    """The ids chosen greedily after the prompt, and the logits of the first and the last of them."""
    config, architecture = found.config, found.architecture
    cache = Cache.new(config, CAPACITY, empty=np.zeros, put=lambda a: a, kv=kv, sinks=sinks)
    rows = []
    cache.history[: len(prompt)] = prompt
    cache.state[:] = State(position=0, rows=len(prompt), capacity=CAPACITY, sinks=sinks).to_words()
    x = architecture.forward(config, arrays, cache, rows=len(prompt), parts=1)
    for _ in range(DECODE_TOKENS):
        rows.append(np.array(head.logits(config, arrays, cache, x)))
        head.choose(config, arrays, cache, x, greedy=True)
        x = architecture.forward(config, arrays, cache, rows=1, parts=3)
    return cache.history[PROMPT_TOKENS:][:DECODE_TOKENS].tolist(), np.stack(rows)[[0, -1]]


# llama.cpp's converter calls a mistral llama, which has no window.
@pytest.mark.parametrize(("name", "kind"), [v for v in VARIANTS if v[0] != "mistral"])
def test_a_gguf_file_gives_transformers_ids_and_logits(name: str, kind: str) -> None:
    golden = tiny_models.golden(name, kind)
    ids, logits = run(*from_gguf(name, kind), tiny_models.prompt(name))
    np.testing.assert_allclose(logits, golden["logits"], rtol=0, atol=LOGIT_ABS)
    assert ids == golden["greedy"].tolist()


@pytest.mark.parametrize("name", MODELS)
def test_a_hugging_face_folder_gives_transformers_ids_and_logits(name: str) -> None:
    golden = tiny_models.golden(name, "f32")
    ids, logits = run(*from_folder(name), tiny_models.prompt(name))
    np.testing.assert_allclose(logits, golden["logits"], rtol=0, atol=LOGIT_ABS)
    assert ids == golden["greedy"].tolist()


# How far the cache's rounding moves logits of up to 10: 7e-3 and 0.23 measured.
KV_ABS = {"f32": LOGIT_ABS, "f16": 2e-2, "q8": 0.5}


@pytest.mark.parametrize("kv", KV_ABS)
@pytest.mark.parametrize("kind", ["f32", "q8_0"])
@pytest.mark.parametrize("name", ["llama", "qwen3", "gemma3"])
def test_every_cache_type_gives_transformers_ids_whether_keys_lie_turned_or_not(name: str, kind: str, kv: str) -> None:
    golden = tiny_models.golden(name, kind)
    sinks = 0 if kind == "f32" else 64
    ids, logits = run(*from_gguf(name, kind), tiny_models.prompt(name), kv, sinks)
    np.testing.assert_allclose(logits, golden["logits"], rtol=0, atol=KV_ABS[kv])
    assert ids == golden["greedy"].tolist()


def changed(name: str, **changes: Any) -> float:
    """How far the logits go from the golden where the configuration is another."""
    found, arrays = from_folder(name) if name == "mistral" else from_gguf(name, "f32")
    config, prompt = dataclasses.replace(found.config, **changes), tiny_models.prompt(name)
    cache = Cache.new(config, CAPACITY, empty=np.zeros, put=lambda a: a)
    cache.history[: len(prompt)] = prompt
    cache.state[:] = State(position=0, rows=len(prompt), capacity=CAPACITY).to_words()
    x = found.architecture.forward(config, arrays, cache, rows=len(prompt), parts=1)
    logits = np.asarray(head.logits(config, arrays, cache, x))
    return float(np.abs(logits - tiny_models.golden(name, "f32")["logits"][0]).max())


GEMMA_WINDOWS = (16, 16, 16, 16, 16, 0)


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("llama", {"rope_pairs": "half"}),
        ("llama3", {"rope_factors": ()}),
        ("mistral", {"windows": (17, 17)}),
        ("mistral", {"windows": ()}),
        ("qwen2", {"rope_pairs": "adjacent"}),
        ("qwen3", {"rms_eps": 1e-3}),
        ("qwen3-yarn", {"rope_scaling": None}),
        ("qwen3moe", {"normalize_gates": False}),
        ("qwen3moe", {"experts_used": 3}),
        ("gemma3", {"windows": ()}),
        ("gemma3", {"windows": (16,) * 6}),
        ("gemma3", {"windows": (17, *GEMMA_WINDOWS[1:])}),
        ("gemma3", {"local_rope_base": None}),
        ("gemma3", {"embedding_scale": 1.0}),
        ("gemma3", {"activation": "gelu"}),
        ("gemma3", {"attention_scale": 1 / 16}),
        ("gemma3", {"rope_pairs": "adjacent"}),
    ],
)
def test_the_goldens_notice_each_trait(name: str, changes: dict[str, Any]) -> None:
    assert from_gguf("gemma3", "f32")[0].config.windows == GEMMA_WINDOWS
    assert changed(name, **changes) > 5 * LOGIT_ABS


def test_a_file_of_several_types_in_one_projection_keeps_them_apart() -> None:
    found, _ = from_gguf("gemma3", "mixed")
    assert [(found.weights[f"0.qkv.{i}"].type, found.weights[f"0.qkv.{i}"].shape[0]) for i in range(2)] == [
        ("q5_0", 6 * 64), ("q8_0", 2 * 64),
    ]  # fmt: skip
    assert [found.weights[f"0.gate_up.{i}"].type for i in range(2)] == ["q5_0", "q4_1"]


def test_experts_are_one_weight_from_either_format() -> None:
    for found, arrays in (from_gguf("qwen3moe", "f32"), from_folder("qwen3moe")):
        assert len(found.weights["0.gate_up"].parts) in (2, 8)
        np.testing.assert_array_equal(arrays["0.gate_up"], from_gguf("qwen3moe", "f32")[1]["0.gate_up"])
        np.testing.assert_array_equal(arrays["0.down"], from_gguf("qwen3moe", "f32")[1]["0.down"])


def test_a_gemma_folders_gains_get_the_1_that_its_gguf_file_has() -> None:
    ours, theirs = from_folder("gemma3")[1], from_gguf("gemma3", "f32")[1]
    gains = [name for name in ours if name.endswith("gain")]
    assert len(gains) == 6 * 6 + 1
    for name in gains:
        np.testing.assert_array_equal(ours[name], theirs[name])
