"""Models in folders, from the local server through Pyodide to ids: converted, Hugging Face's and bitgpu's."""

from __future__ import annotations

import asyncio
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from playwright_tests.python_page import PythonPage
from tests.llm import tiny, tiny_hf
from tests.llm.numpy_device import numpy_engine
from tests.llm.one_bit_files import parts, write_bitgpu
from webxpu.formats.tensor_info import TensorInfo
from webxpu.host.convert import convert
from webxpu.host.serve import Server
from webxpu.llm.checkpoint import open_checkpoint
from webxpu.llm.generate import Generation
from webxpu.llm.local_files import LocalBridge
from webxpu.llm.sampler import Sampling
from webxpu.llm.weights import read_arrays
from webxpu.quant.ggml import Blocks, dequantize

TOKENS = 6


def on_numpy(folder: Path, prompt: list[int]) -> list[int]:
    """What the reference gives for the same folder."""
    bridge: Any = LocalBridge()
    found = asyncio.run(open_checkpoint(f"file:{folder}/", bridge))

    def read(info: TensorInfo) -> bytes:
        return bridge.read(Path(found.source.sibling(info.file).place), info.start, info.nbytes)

    arrays = read_arrays(found.weights, read)
    dense = {name: dequantize(a) if isinstance(a, Blocks) else a for name, a in arrays.items()}

    async def run() -> list[int]:
        generation = Generation(numpy_engine(found.config, dense, 64), prompt, sampling=Sampling(), max_tokens=TOKENS)
        async for _ in generation:
            pass
        return generation.ids

    return tiny.finished(run())


def made(kind: str, folder: Path) -> tuple[Path, list[int]]:
    """A folder, and a prompt for its model."""
    if kind == "hugging-face":
        shutil.copytree(tiny_hf.FOLDER / "bf16", folder / "m")
        return folder / "m", tiny_hf.golden("bf16")["prompt"].tolist()
    if kind == "bitgpu":
        write_bitgpu(folder / "m", parts(), baked=True)
        return folder / "m", [5, 300, 7, 41, 8]
    convert(tiny.FILE, folder / "m", kind)
    return folder / "m", tiny.golden()["prompt"].tolist()[:20]


@pytest.mark.parametrize("kind", ["q8", "q4g128", "hugging-face", "bitgpu"])
def test_a_folder_is_loaded_and_gives_numpys_ids(
    python: PythonPage, site_server: Server, tmp_path: Path, kind: str
) -> None:
    with ThreadPoolExecutor() as apart:  # this thread has Playwright's loop
        folder, prompt = apart.submit(made, kind, tmp_path).result()
        expected = apart.submit(on_numpy, folder, prompt).result()
    answer = python.run(
        """
model = await webxpu.load(given["url"], context_tokens=64)
generation = model.generate(given["prompt"], max_tokens=given["tokens"], stop_ids=[])
async for _ in generation:
    pass
try:
    text = model.tokenizer.decode(generation.ids, skip_special=False)
except webxpu.errors.Unsupported as e:
    text = str(e)
model.dispose()
return {"ids": generation.ids, "text": text}
""",
        url=site_server.share(folder),
        prompt=prompt,
        tokens=TOKENS,
    )
    assert len(set(expected)) > 1
    assert answer["ids"] == expected
    assert answer["text"].startswith("tokenizer: the folder has neither") == (kind in ("hugging-face", "bitgpu"))
