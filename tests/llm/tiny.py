"""The tiny llama of tests/goldens: its file, its reference weights and what transformers says it does."""

from __future__ import annotations

import functools
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import numpy as np

from webxpu.formats.gguf import Gguf, read_gguf
from webxpu.formats.tensor_info import TensorInfo
from webxpu.llm import models
from webxpu.llm.config import Config, config_from_gguf
from webxpu.llm.weights import Weights, read_arrays
from webxpu.quant.ggml import Blocks, dequantize

GOLDENS = Path(__file__).parent.parent / "goldens"
FILE = GOLDENS / "tiny_llama.gguf"


@functools.cache
def header() -> Gguf:
    return read_header(FILE)


def finished(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """Runs a coroutine that never waits. Unlike asyncio.run it may be called where an event loop runs already."""
    try:
        coroutine.send(None)
    except StopIteration as done:
        return done.value
    raise AssertionError("the coroutine waits")


def read_header(path: Path) -> Gguf:
    with path.open("rb") as file:

        async def read_range(start: int, nbytes: int) -> tuple[bytes, int | None]:
            file.seek(start)
            return file.read(nbytes), path.stat().st_size

        return finished(read_gguf(read_range, name=path.name))  # type: ignore[no-any-return]


def loaded(path: Path, gguf: Gguf) -> tuple[Config, Weights, dict[str, Any]]:
    """The configuration, the table of weights and the reference's arrays of a file."""
    config = config_from_gguf(gguf.metadata, gguf.tensors["token_embd.weight"].shape[0])
    weights = models.find(config.architecture).weights(config, gguf.tensors)
    with path.open("rb") as file:

        def read(info: TensorInfo) -> bytes:
            file.seek(info.start)
            return file.read(info.nbytes)

        return config, weights, read_arrays(weights, read)


@functools.cache
def model() -> tuple[Config, dict[str, Any]]:
    config, _, arrays = loaded(FILE, header())
    return config, arrays


@functools.cache
def dense() -> dict[str, Any]:
    """The same weights dequantised once, for tests that are not about weight types."""
    return {name: dequantize(a) if isinstance(a, Blocks) else a for name, a in model()[1].items()}


@functools.cache
def golden() -> dict[str, np.ndarray]:
    """prompt (70,), greedy (24,), logits (24, 320): the scores of each greedy id, computed in float64."""
    with np.load(GOLDENS / "tiny_llama.npz") as file:
        return {name: file[name] for name in file.files}
