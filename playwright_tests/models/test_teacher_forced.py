"""SmolLM2 in every weight type and with every cache, fed the greedy ids of a plain float64 llama: how far its scores
lie from that one's, and that each choice which is surer than this is the same.

Two of the six run always. `make test-models` runs all, in a minute on a GPU; SwiftShader takes about 20 s for each.
"""

from __future__ import annotations

import base64
import functools
from pathlib import Path

import numpy as np
import pytest

from playwright_tests.python_page import PythonPage
from tests.llm.formats import arrays, golden, model_file
from tests.llm.teacher import Teacher, margins
from webxpu.host.page import served
from webxpu.host.serve import Server

# A choice counts where the score above the second one is more than so many times the largest error of any score.
SURE = 10
# Choices that count at least, of 48. Keys and values in 8 bits move scores by 0.45, so there 26 count; a cache that is
# read wrongly moves them by more, and few choices or none would count.
LEAST_SURE = {"f32": 40, "f16": 40, "q8": 20}
# Choices that are the same at least, with 8-bit keys and values.
LEAST_EQUAL_Q8 = 46
models = pytest.mark.models


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("formats")


@functools.cache
def taught(name: str, folder: Path) -> np.ndarray:
    """The scores of the teacher, (48, V)."""
    prompt, ids = golden()["prompt_ids"], golden()["formats"][name]["ids"]
    return Teacher(*arrays(model_file(name, folder))).feed([*prompt, *ids[:-1]], last=len(ids))


@pytest.mark.parametrize(
    ("name", "kv"),
    [
        pytest.param("own", "q8"),
        pytest.param("q1_0", "f32"),
        pytest.param("own", "f32", marks=models),
        pytest.param("own", "f16", marks=models),
        pytest.param("q8", "f32", marks=models),
        pytest.param("q4g128", "f32", marks=models),
    ],
)
def test_choices_that_are_sure_are_the_teachers(
    python: PythonPage, site_server: Server, folder: Path, seen: list[str], name: str, kv: str
) -> None:
    prompt, given = golden()["prompt_ids"], golden()["formats"][name]
    wanted = taught(name, folder)
    assert wanted.argmax(axis=1).tolist() == given["ids"]
    np.testing.assert_allclose(margins(wanted), given["margins"], atol=1e-3)
    text = python.run(
        """
import base64
model = await webxpu.load(given["url"], context_tokens=128, kv=given["kv"], cache=False)
try:
    scores = await model.forward(given["ids"], rows="all")
finally:
    model.dispose()
return base64.b64encode(np.ascontiguousarray(scores[given["first"]:], "<f4").tobytes()).decode()
""",
        url=served(site_server, model_file(name, folder)),
        ids=[*prompt, *given["ids"][:-1]],
        first=len(prompt) - 1,
        kv=kv,
    )
    scores = np.frombuffer(base64.b64decode(text), "<f4").reshape(wanted.shape)
    error = float(np.abs(scores - wanted).max())
    equal = scores.argmax(axis=1) == wanted.argmax(axis=1)
    sure = margins(wanted) > SURE * error
    seen.append(
        f"SmolLM2, weights {name}, cache {kv}: scores within {error:.2g}, {int(sure.sum())} of {len(sure)} choices "
        f"surer than {SURE} times that, {int(equal.sum())} the same"
    )
    assert equal[sure].all()
    assert sure.sum() >= LEAST_SURE[kv]
    if kv == "q8":
        assert equal.sum() >= LEAST_EQUAL_Q8
