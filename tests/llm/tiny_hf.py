"""The folders of tests/goldens/tiny_hf as the engine would load them, and what transformers says they do."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

import numpy as np

from tests.llm.tiny import GOLDENS, finished
from webxpu.formats.safetensors import INDEX_NAME, Safetensors, read_safetensors, read_sharded
from webxpu.formats.tensor_info import TensorInfo
from webxpu.formats.window import ReadRange
from webxpu.llm.config import Config
from webxpu.llm.hf_config import config_from_hf, model_tensors, names_of, vocab_of
from webxpu.llm.models import llama
from webxpu.llm.weights import Weights, read_arrays

FOLDER = GOLDENS / "tiny_hf"
NAMES = ("f32", "f16", "bf16")


def reader(path: Path) -> ReadRange:
    async def read_range(start: int, nbytes: int) -> tuple[bytes, int | None]:
        data = path.read_bytes()
        return data[start : start + nbytes], len(data)

    return read_range


def settings(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((FOLDER / name / "config.json").read_text())
    return found


def table(name: str) -> Safetensors:
    folder = FOLDER / name
    index = folder / INDEX_NAME
    if index.exists():
        return finished(read_sharded(reader(index), lambda part: reader(folder / part)))  # type: ignore[no-any-return]
    return finished(read_safetensors(reader(folder / "model.safetensors")))  # type: ignore[no-any-return]


@functools.cache
def loaded(name: str) -> tuple[Config, Weights, dict[str, Any]]:
    """The configuration, the table of weights and the reference's arrays of a folder."""
    values, tensors = settings(name), table(name).tensors
    config = config_from_hf(values, vocab_of(tensors))
    weights = llama.weights(config, model_tensors(values, tensors), names_of("llama"))

    def read(info: TensorInfo) -> bytes:
        return (FOLDER / name / info.file).read_bytes()[info.start : info.start + info.nbytes]

    return config, weights, read_arrays(weights, read)


def golden(name: str) -> dict[str, np.ndarray]:
    """prompt (20,), greedy (12,), logits (12, 96): the scores of each greedy id, computed in float64."""
    with np.load(GOLDENS / "tiny_hf.npz") as file:
        return {key.partition(".")[2]: file[key] for key in file.files if key.startswith(f"{name}.")}
