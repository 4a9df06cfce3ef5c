"""logprobs: values as in transformers, order, which entry is written. The GPU's cases are webxpu/cases/logprobs.py."""

import numpy as np
import pytest

from webxpu import ops
from webxpu.errors import ShapeError
from webxpu.gpu.plan import Spec
from webxpu.llm.state import State


def written(logits, token, most, capacity=4, **state):
    history, raw = np.full(capacity, -1, np.int32), State(**{"position": 1, "capacity": capacity, **state}).to_words()
    now = State.from_words(raw)
    history[(now.evicted + now.position) % capacity] = token
    ring = np.full((capacity, 1 + 2 * most), 9, np.float32)
    ops.logprobs(np.float32(logits), history, raw, ring, most=most)
    return ring


def test_values_are_those_of_transformers_and_the_highest_come_in_order(golden):
    logits, want = golden("logprobs.logits"), golden("logprobs.out")
    entry = written(logits, 1234, 32)[1]
    assert entry[0] == want[1234]
    best = np.argsort(-logits)[:32]
    assert entry[1::2].tolist() == best.tolist()
    np.testing.assert_array_equal(entry[2::2], want[best])


@pytest.mark.parametrize(
    ("state", "place"), [({}, 1), ({"position": 3}, 3), ({"evicted": 64, "position": 2}, 2), ({"evicted": 65}, 2)]
)
def test_only_the_entry_of_the_last_id_is_written(state, place):
    ring = written([0.0, 0.0], 1, 1, **state)
    np.testing.assert_allclose(ring[place], [np.log(0.5), 0, np.log(0.5)], rtol=1e-7)
    assert (np.delete(ring, place, 0) == 9).all()


def test_a_finished_sequence_writes_nothing():
    assert (written([0.0, 1.0], 1, 1, done=True) == 9).all()


def test_the_lowest_id_comes_first_among_equals():
    assert written([1, 3, 2, 3, 2, 2], 0, 5)[1, 1::2].tolist() == [1, 3, 2, 4, 5]


def test_a_banned_token_has_next_to_no_probability_and_changes_no_other():
    lowest = float(np.finfo(np.float32).min)
    entry = written([0.0, lowest, -(2.0**127), 0.0], 1, 3)[1]
    assert entry[0] == lowest
    np.testing.assert_allclose(entry[1:], [0, np.log(0.5), 3, np.log(0.5), 2, -(2.0**127)], rtol=1e-7)


@pytest.mark.parametrize(("most", "rule"), [(-1, 20), (33, 20), (21, 20), (True, 32)])
def test_as_many_as_the_vocabulary_has_at_most(most, rule):
    if most is True:  # one: no more than any number
        assert written(np.zeros(20), 0, 1).shape == (4, 3)
        return
    with pytest.raises(ShapeError, match=f"^logprobs: most must be from 0 to {rule}, got {most}$"):
        ops.logprobs(
            np.zeros(20, np.float32), np.zeros(4, np.int32), State().to_words(), np.zeros((4, 1), np.float32), most=most
        )


@pytest.mark.parametrize(("shape", "dtype"), [((4, 4), "float32"), ((3, 5), "float32"), ((4, 5), "uint32")])
def test_a_ring_that_does_not_fit_is_named(shape, dtype):
    with pytest.raises(ShapeError, match=r"^logprobs: ring must be float32\[4, 5\], got"):
        ops.logprobs(np.zeros(9, np.float32), np.zeros(4, np.int32), State().to_words(), np.zeros(shape, dtype), most=2)


@pytest.mark.parametrize(
    ("v", "most", "passes"),
    [(262_144, 32, [256, 8, 1]), (49_152, 32, [48, 2, 1]), (1024, 32, [1]), (1025, 1, [2, 1]), (49_152, 0, [])],
)
def test_passes_shrink_the_candidates_to_one_workgroup(plain_gpu, cpu_gpu, v, most, passes):
    specs = Spec((v,), "float32"), Spec((4096,), "int32"), Spec((64,), "uint32"), Spec((4096, 1 + 2 * most), "float32")
    for gpu, share in ((plain_gpu, 1024), (cpu_gpu, 4096)):
        _, plan = ops.logprobs.plan_of(gpu, *specs, most=most)
        labels = [d.kernel.label.removeprefix("logprobs/") for d in plan.dispatches]
        assert labels == ["sums", *["first", *["next"] * (len(passes) - 1)][: len(passes)], "write"]
        assert [d.grid[0] for d in plan.dispatches[1:-1]] == passes
        assert plan.dispatches[0].grid[0] == -(-v // share)
