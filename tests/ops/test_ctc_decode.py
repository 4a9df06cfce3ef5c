"""ctc_decode: its values, errors and plans. The GPU's cases are webxpu/cases/ctc_decode.py."""

from dataclasses import replace

import numpy as np
import pytest

from webxpu import ops
from webxpu.cases import ctc_decode as cases
from webxpu.errors import ShapeError
from webxpu.gpu.plan import Spec


def decoded(path, classes=6, **kwargs):
    (scores,) = cases.scores([path], classes)
    assert scores[0].argmax(-1).tolist() == path
    tokens, lengths = ops.ctc_decode(scores, **kwargs)
    assert (tokens.dtype, lengths.dtype, tokens.shape) == (np.int32, np.int32, (1, len(path)))
    assert (tokens[0, lengths[0] :] == -1).all()
    return tokens[0, : lengths[0]].tolist()


@pytest.mark.parametrize(
    ("path", "tokens"),
    [
        ([0, 0, 3, 4], [3, 4]),
        ([3, 4, 0, 0], [3, 4]),
        ([3, 0, 0, 0, 4], [3, 4]),
        ([3, 3, 3, 4], [3, 4]),
        ([3, 0, 3], [3, 3]),
        ([3, 0, 0, 3], [3, 3]),
        ([0, 0, 0], []),
        ([3, 4, 5, 4], [3, 4, 5, 4]),
        ([0, 0, 3, 3, 0, 3, 0, 0, 4, 4, 0, 5, 5, 5, 0], [3, 3, 4, 5]),
    ],
)
def test_repeats_become_one_and_then_blanks_are_dropped(path, tokens):
    assert decoded(path) == tokens


def test_another_class_may_be_the_blank():
    assert decoded([5, 5, 0, 0, 5, 0, 3, 5, 3], blank=5) == [0, 0, 3, 3]
    assert decoded([0, 5, 0, 2], blank=5) == [0, 0, 2]


@pytest.mark.parametrize("blank", [99, -1])
def test_a_blank_that_is_no_class_drops_nothing(blank):
    assert decoded([0, 0, 3, 3, 0], blank=blank) == [0, 3, 0]


def test_of_equal_scores_the_lowest_class_wins():
    scores = np.zeros((1, 1, 6), np.float32)
    scores[0, 0, [2, 5]] = 1
    assert ops.ctc_decode(scores)[0].tolist() == [[2]]


def test_sequences_of_a_batch_have_their_own_lengths():
    (scores,) = cases.scores([[0] * 4, [1, 2, 1, 2], [3, 3, 3, 3]], 6)
    tokens, lengths = ops.ctc_decode(scores)
    assert lengths.tolist() == [0, 4, 1]
    assert tokens.tolist() == [[-1] * 4, [1, 2, 1, 2], [3, -1, -1, -1]]


def test_it_is_torchs_argmax_and_unique_consecutive(golden):
    tokens, lengths = ops.ctc_decode(golden("ctc_decode.scores"))
    for i in range(4):
        assert tokens[i, : lengths[i]].tolist() == golden(f"ctc_decode.tokens.{i}").tolist()
    assert (lengths <= 40).all()


def test_no_frames_give_empty_sequences():
    tokens, lengths = ops.ctc_decode(np.zeros((3, 0, 6), np.float32))
    assert (tokens.shape, lengths.tolist()) == ((3, 0), [0, 0, 0])


@pytest.mark.parametrize("case", [case for case in cases.CASES if "x" in case.name and case.name[0].isdigit()], ids=str)
def test_the_random_cases_say_something(case):
    tokens, lengths = ops.ctc_decode(*case.make())
    assert 0 < lengths.sum() < tokens.size


@pytest.mark.parametrize(
    ("scores", "blank", "text"),
    [
        (np.zeros((4, 6), np.float32), 0, r"ctc_decode: scores must be float32 of shape \(B, T, C\), C >= 1, got"),
        (np.zeros((1, 4, 0), np.float32), 0, r"ctc_decode: scores must be float32 of shape \(B, T, C\), C >= 1, got"),
        (np.zeros((1, 4, 6), np.int32), 0, r"ctc_decode: scores must be float32 of shape \(B, T, C\), C >= 1, got"),
        (np.zeros((1, 4, 6), np.float32), 2**31, "ctc_decode: blank must be an int32, got 2147483648"),
    ],
)
def test_what_does_not_fit_is_named(scores, blank, text):
    with pytest.raises(ShapeError, match=f"^{text}"):
        ops.ctc_decode(scores, blank=blank)


def test_frames_share_workgroups_by_what_the_device_has(plain_gpu, wide_gpu, cpu_gpu):
    scores = Spec((2, 70_000, 32), "float32")
    for gpu, name, groups in [(plain_gpu, "path", 140_000), (wide_gpu, "path.subgroups", 35_000)]:
        _, plan = ops.ctc_decode.plan_of(gpu, scores)
        path, collapse = plan.dispatches
        assert path.kernel.label == f"ctc_decode/{name}"
        assert path.constants == {"C": 32}
        assert path.grid[0] * path.grid[1] >= groups
        assert (collapse.constants, collapse.grid) == ({"BLANK": 0, "EMPTY": 0}, (2, 1, 1))
    _, plan = ops.ctc_decode.plan_of(cpu_gpu, scores)
    assert (plan.dispatches[0].kernel.label, plan.dispatches[0].grid) == ("ctc_decode/path.cpu", (2188, 1, 1))


def test_scores_past_a_bindings_size_are_decided_in_parts(plain_gpu):
    small = replace(plain_gpu, limits={**plain_gpu.limits, "maxStorageBufferBindingSize": 1000 * 32 * 4})
    _, plan = ops.ctc_decode.plan_of(small, Spec((2, 800, 32), "float32"))
    assert [d.bindings[1].offset for d in plan.dispatches[:-1]] == [0, 960 * 4]
    assert plan.dispatches[-1].kernel.label == "ctc_decode/collapse"
