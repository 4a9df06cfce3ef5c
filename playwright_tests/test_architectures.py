"""Tiny models of every architecture through Pyodide to ids and logits, in mixed weight types and each kind of cache."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from playwright_tests.python_page import PythonPage
from tests.llm import tiny_models
from webxpu.host.serve import Server

# The cache's rounding, measured in tests/llm/test_architectures.py; with float32 5e-5 there and 3e-4 on a GPU.
LOGIT_ABS = {"f32": 1e-3, "f16": 2e-2, "q8": 0.5}
RUN = """
model = await webxpu.load(given["url"], context_tokens=64, kv=given["kv"])
generation = model.generate(given["prompt"], max_tokens=given["tokens"], stop_ids=[])
async for _ in generation:
    pass
logits = await model.forward(given["prompt"])
model.dispose()
return generation.ids, logits.tolist()
"""


@pytest.mark.parametrize(
    ("name", "kind", "kv"),
    [
        ("llama3", "f32", "f32"),
        ("qwen2", "mixed", "f32"),
        *(("qwen3", "q8_0", kv) for kv in ("f32", "f16", "q8")),
        ("qwen3-tied", "f32", "q8"),
        ("qwen3-yarn", "f32", "f16"),
        ("qwen3moe", "mixed", "f32"),
        ("gemma3", "mixed", "f32"),
    ],
)
def test_a_page_gives_transformers_ids_and_logits(
    python: PythonPage, site_server: Server, tmp_path: Path, name: str, kind: str, kv: str
) -> None:
    file = tmp_path / f"{name}-{kind}.gguf"
    tiny_models.write_gguf(file, name, kind)
    golden = tiny_models.golden(name, kind)
    ids, logits = python.run(
        RUN, url=site_server.share(file), prompt=tiny_models.prompt(name).tolist(), tokens=len(golden["greedy"]), kv=kv
    )
    assert ids == golden["greedy"].tolist()
    np.testing.assert_allclose(logits, golden["logits"][0], rtol=0, atol=LOGIT_ABS[kv])
