"""Gemma 3 270M on NumPy arrays against transformers: `make test-gemma`, since the file is 253 MB."""

from __future__ import annotations

import asyncio
from typing import Any

import numpy as np
import pytest

from tests.gemma.files import golden, model_file
from tests.llm.fake_bridge import FakeBridge
from webxpu.formats.tensor_info import TensorInfo
from webxpu.llm.cache import Cache
from webxpu.llm.checkpoint import Checkpoint, open_checkpoint
from webxpu.llm.state import State
from webxpu.llm.weights import read_arrays
from webxpu.ops.rmsnorm import rmsnorm
from webxpu.quant.ggml import Blocks, dequantize

GOLDEN = golden()
LOGIT_ABS = 2e-2
# Rows of the vocabulary that are dequantised at once.
CHUNK = 16_384


@pytest.fixture(scope="module")
def model() -> tuple[Checkpoint, dict[str, Any]]:
    """The layers dequantised once; the embedding, which is the head too, stays in blocks."""
    path = model_file()
    found = asyncio.run(open_checkpoint(path.name, FakeBridge(path.parent)))  # type: ignore[arg-type]
    data = np.memmap(path, np.uint8, "r")

    def read(info: TensorInfo) -> bytes:
        return data[info.start : info.start + info.nbytes].tobytes()

    arrays = read_arrays(found.weights, read)
    return found, {
        name: dequantize(a) if isinstance(a, Blocks) and a.shape[0] < 262_144 else a for name, a in arrays.items()
    }


def scores(model: tuple[Checkpoint, dict[str, Any]], ids: list[int], last: int) -> np.ndarray:
    """(last, V): the logits after each of the last ids."""
    found, arrays = model
    cache = Cache.new(found.config, 64, empty=np.zeros, put=lambda a: a)
    cache.history[: len(ids)] = ids
    cache.state[:] = State(position=0, rows=len(ids), capacity=64).to_words()
    x = found.architecture.forward(found.config, arrays, cache, rows=len(ids), parts=1)[-last:]
    normed = rmsnorm(np.asarray(x), arrays["head_gain"], eps=found.config.rms_eps)
    vocab = np.arange(found.config.vocab)
    parts = [dequantize(arrays["head"].rows(some)) for some in np.split(vocab, vocab[CHUNK::CHUNK])]
    return np.concatenate([normed @ part.T for part in parts], axis=1)


@pytest.mark.parametrize("prompt", GOLDEN["prompts"], ids=lambda prompt: prompt["prompt"])
def test_the_first_logits_are_transformers(model: tuple[Checkpoint, dict[str, Any]], prompt: dict[str, Any]) -> None:
    (logits,) = scores(model, prompt["prompt_ids"], 1)
    top = prompt["first_step_top5"]
    assert np.argsort(-logits)[:5].tolist() == [token["id"] for token in top]
    np.testing.assert_allclose(logits[[t["id"] for t in top]], [t["logit"] for t in top], rtol=0, atol=LOGIT_ABS)


def test_the_best_ids_along_the_counting_prompts_reply_are_transformers(
    model: tuple[Checkpoint, dict[str, Any]],
) -> None:
    counting = GOLDEN["prompts"][1]
    greedy = counting["greedy_ids"]
    logits = scores(model, counting["prompt_ids"] + greedy[:-1], len(greedy))
    assert logits.argmax(axis=1).tolist() == greedy


def test_its_pattern_and_local_base_are_the_ones_that_its_files_leave_out(
    model: tuple[Checkpoint, dict[str, Any]],
) -> None:
    config, theirs = model[0].config, GOLDEN["config"]
    kinds = ["full_attention" if config.window(i) == 0 else "sliding_attention" for i in range(config.layers)]
    assert kinds == theirs["layer_types"]
    assert config.local_rope_base == theirs["rope_parameters"]["sliding_attention"]["rope_theta"]
