"""The model that the tests of the running engine use: `--engine-model smollm2` takes the default one, on a real GPU."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.llm import tiny
from webxpu.host.assets import DEFAULT_MODEL
from webxpu.host.fetch import fetch

GOLDENS = Path(__file__).parents[2] / "tests" / "goldens"


@dataclass(frozen=True)
class EngineModel:
    """A GGUF file, a prompt's ids, and those that follow it greedily, as transformers has them."""

    path: Path
    prompt: list[int]
    greedy: list[int]


@pytest.fixture(scope="session")
def engine_model(request: pytest.FixtureRequest) -> EngineModel:
    if request.config.getoption("--engine-model") == "tiny":
        golden = tiny.golden()
        return EngineModel(tiny.FILE, golden["prompt"].tolist(), golden["greedy"].tolist())
    golden = json.loads((GOLDENS / "smollm2.json").read_text("utf-8"))["prompts"][0]
    return EngineModel(fetch([DEFAULT_MODEL])[DEFAULT_MODEL], golden["prompt_ids"], golden["greedy_ids"])
