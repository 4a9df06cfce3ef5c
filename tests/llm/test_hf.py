"""Folders of Hugging Face on NumPy arrays against transformers (tests/goldens/tiny_hf.py)."""

from __future__ import annotations

import asyncio
import dataclasses
from typing import Any

import numpy as np
import pytest

from tests.llm import tiny_hf
from tests.llm.fake_bridge import FakeBridge
from tests.llm.numpy_device import numpy_engine
from webxpu.errors import FormatError
from webxpu.gpu.device import open_device
from webxpu.llm import head
from webxpu.llm.cache import Cache
from webxpu.llm.generate import Generation
from webxpu.llm.models import llama
from webxpu.llm.sampler import Sampling
from webxpu.llm.source import Source
from webxpu.llm.state import State
from webxpu.llm.weights import allocate, pieces, upload
from webxpu.quant.ggml import Blocks, dequantize

# Activations are float32 between ops: 6.2e-6 measured, on logits up to 5.5; the least margin between the two best
# tokens is 7e-3.
LOGIT_ABS = 3e-5


def run(name: str, **changes: Any) -> tuple[np.ndarray, list[int]]:
    """(12, 96) logits and the ids chosen greedily after the prompt."""
    config, _, arrays = tiny_hf.loaded(name)
    config, prompt = dataclasses.replace(config, **changes), tiny_hf.golden(name)["prompt"]
    cache = Cache.new(config, 64, empty=np.zeros, put=lambda a: a)
    cache.history[: len(prompt)] = prompt
    cache.state[:] = State(position=0, rows=len(prompt), capacity=64).to_words()
    x, rows = llama.forward(config, arrays, cache, rows=64, parts=1), []
    for _ in range(12):
        rows.append(np.array(head.logits(config, arrays, cache, x)))
        head.choose(config, arrays, cache, x, greedy=True)
        x = llama.forward(config, arrays, cache, rows=1, parts=4)
    return np.stack(rows), cache.history[len(prompt) :][:12].tolist()


@pytest.mark.parametrize("name", tiny_hf.NAMES)
def test_a_folder_gives_transformers_logits_and_greedy_ids(name: str) -> None:
    golden = tiny_hf.golden(name)
    logits, ids = run(name)
    np.testing.assert_allclose(logits, golden["logits"], rtol=0, atol=LOGIT_ABS)
    assert ids == golden["greedy"].tolist()


@pytest.mark.parametrize("name", tiny_hf.NAMES)
def test_the_golden_logits_notice_pairs_of_the_other_kind_and_another_base(name: str) -> None:
    golden = tiny_hf.golden(name)["logits"]
    assert np.abs(run(name, rope_pairs="adjacent")[0] - golden).max() > 100 * LOGIT_ABS
    assert np.abs(run(name, rope_base=9000.0)[0] - golden).max() > 10 * LOGIT_ABS


@pytest.mark.parametrize("name", tiny_hf.NAMES)
def test_no_weight_is_permuted_or_rounded(name: str) -> None:
    """Rows as the file has them: query, key and value stacked, whatever their type."""
    _, weights, arrays = tiny_hf.loaded(name)
    tensors = tiny_hf.table(name).tensors
    for key, weight in weights.items():
        raw = b"".join(
            (tiny_hf.FOLDER / name / p.file).read_bytes()[p.start : p.start + p.nbytes] for p in weight.parts
        )
        stored = arrays[key]
        if isinstance(stored, Blocks):
            assert (stored.type, stored.data.tobytes()) == (name, raw)
        elif name == "f32":
            assert stored.tobytes() == raw
        else:
            assert dequantize(Blocks(name, stored.shape, np.frombuffer(raw, np.uint8))).tobytes() == stored.tobytes()
    assert {part.name for weight in weights.values() for part in weight.parts} == set(tensors)
    assert [part.name for part in weights["1.qkv"].parts] == [
        f"model.layers.1.self_attn.{x}_proj.weight" for x in ("q", "k", "v")
    ]


def test_the_engine_runs_a_folder_as_it_runs_a_gguf_file() -> None:
    config, _, arrays = tiny_hf.loaded("bf16")
    golden = tiny_hf.golden("bf16")
    engine = numpy_engine(config, arrays, 64)

    async def ids() -> list[int]:
        generation = Generation(
            engine, golden["prompt"].tolist(), sampling=Sampling(0.0, 0, 1.0, 0.0, None), max_tokens=12, stop_ids=(),
            timestamps=False, load_ms=0.0,
        )  # fmt: skip
        return [i async for some in generation for i in some]

    assert asyncio.run(ids()) == golden["greedy"].tolist()


def test_a_tied_model_uses_its_embedding_as_the_head_and_uploads_it_once() -> None:
    _, weights, arrays = tiny_hf.loaded("f16")
    assert weights["head"].parts == weights["embedding"].parts
    np.testing.assert_array_equal(arrays["head"].data, arrays["embedding"].data)


class Recording(FakeBridge):
    """Keeps what is written into buffers."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.written: dict[tuple[int, int], bytes] = {}

    def submit(self, device: int, steps: Any) -> None:
        super().submit(device, steps)
        self.written.update({(handle, at): bytes(data) for _, handle, at, data in steps})


@pytest.mark.parametrize("name", tiny_hf.NAMES)
def test_gains_of_16_bits_are_written_as_float32_and_all_else_is_streamed_once(name: str) -> None:
    _, weights, arrays = tiny_hf.loaded(name)
    bridge = Recording(tiny_hf.FOLDER / name)
    device = asyncio.run(open_device(bridge=bridge))  # type: ignore[arg-type]
    tensors = allocate(device, weights)
    asyncio.run(upload(device, Source.parse("model.safetensors"), weights, tensors))
    streamed = {(p["start"], p["bytes"], u["source"]["url"]) for u in bridge.uploads for p in u["pieces"]}
    parts = {(p.start, p.nbytes, p.file) for w in weights.values() if not w.widened for p in w.parts}
    assert streamed == parts
    gains = {key: arrays[key] for key, weight in weights.items() if weight.widened}
    assert set(gains) == (set() if name == "f32" else {key for key in weights if key.endswith("gain")})
    assert bridge.written == {(tensors[key].handle, tensors[key].offset): gains[key].tobytes() for key in gains}


def test_a_gain_that_is_cut_off_is_refused_at_its_place() -> None:
    _, weights, _ = tiny_hf.loaded("f16")
    part = dataclasses.replace(weights["head_gain"].parts[0], start=10**6)
    weights = dict(weights) | {"head_gain": dataclasses.replace(weights["head_gain"], parts=(part,))}
    device = asyncio.run(open_device(bridge=FakeBridge(tiny_hf.FOLDER / "f16")))  # type: ignore[arg-type]
    with pytest.raises(FormatError, match=r"'model\.norm\.weight' at byte 1000000 must be 64 bytes, got 0 \(bytes \)$"):
        asyncio.run(upload(device, Source.parse("model.safetensors"), weights, allocate(device, weights)))
    assert "model.norm.weight" not in str(pieces(weights, allocate(device, weights), []))
