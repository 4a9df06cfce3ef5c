"""Gemma 3 270M in Pyodide on the GPU, from a file that the page registered: transformers' ids and logits."""

from __future__ import annotations

import pytest

from playwright_tests.python_page import PythonPage
from tests.gemma.files import golden, model_file
from webxpu.host.serve import Server

COUNTING = golden()["prompts"][1]
LOGIT_ABS = 2e-2
LOAD = """
model = kept["gemma"] = await webxpu.load(given["url"], context_tokens=256)
generation = model.generate(given["prompt"], max_tokens=given["tokens"], stop_ids=[])
async for _ in generation:
    pass
return generation.ids
"""
FIRST = """
logits = await kept["gemma"].forward(given["prompt"])
return np.argsort(-logits)[:5].tolist(), logits[given["ids"]].tolist()
"""


@pytest.fixture(scope="module")
def greedy(python: PythonPage, site_server: Server) -> list[int]:
    """The ids that the GPU chooses after the counting prompt."""
    url = site_server.share(model_file())
    return list(python.run(LOAD, url=url, prompt=COUNTING["prompt_ids"], tokens=len(COUNTING["greedy_ids"])))


def test_the_counting_prompts_ids_are_transformers(greedy: list[int]) -> None:
    assert greedy == COUNTING["greedy_ids"]


@pytest.mark.parametrize("prompt", golden()["prompts"], ids=lambda prompt: prompt["prompt"])
def test_the_first_logits_are_transformers(greedy: list[int], python: PythonPage, prompt: dict) -> None:
    ids = [token["id"] for token in prompt["first_step_top5"]]
    best, found = python.run(FIRST, prompt=prompt["prompt_ids"], ids=ids)
    assert best == ids
    assert found == pytest.approx([token["logit"] for token in prompt["first_step_top5"]], abs=LOGIT_ABS)
