"""The plain llama that real models are held to gives what transformers gives."""

import numpy as np

from tests.llm import tiny
from tests.llm.formats import FORMATS, golden
from tests.llm.teacher import Teacher, margins


def test_its_scores_and_ids_are_transformers_own():
    given = tiny.golden()
    prompt, ids = given["prompt"].tolist(), given["greedy"].tolist()
    teacher = Teacher(*tiny.model())
    whole = teacher.feed([*prompt, *ids[:-1]], last=len(ids))
    np.testing.assert_allclose(whole, given["logits"], atol=2e-5)
    np.testing.assert_allclose(teacher.greedy(prompt, len(ids)), whole, atol=1e-9)
    assert whole.argmax(axis=1).tolist() == ids


def test_a_margin_is_the_distance_from_the_best_to_the_second():
    assert margins(np.array([[1.0, 5.0, 4.5], [3.0, -1.0, 3.0]])).tolist() == [0.5, 0.0]


def test_each_format_has_its_ids_and_margins():
    found = golden()
    assert tuple(found["formats"]) == FORMATS
    for given in found["formats"].values():
        assert len(given["ids"]) == len(given["margins"]) == 48
        assert min(given["margins"]) > 0
