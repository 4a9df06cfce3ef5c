"""penalize: each option against transformers' processor, then their order, the ring, and what is banned.

The GPU's cases are webxpu/cases/penalize.py.
"""

import numpy as np
import pytest

from webxpu import ops
from webxpu.errors import ShapeError
from webxpu.gpu.plan import Spec
from webxpu.llm.dry import Dry
from webxpu.llm.state import State
from webxpu.ops.penalize import BANNED, came_before, repeats

NONE = np.zeros(1, np.int32), np.zeros(1, np.float32)
RUN = [5, 6, 7, 8, 5, 6, 7, 9, 5, 6, 7]


def penalized(logits, ids, biases=None, dry=None, capacity=100, **options):
    """The ids as a prompt that has just been fed."""
    history = np.full(capacity, -1, np.int32)
    history[: len(ids)] = ids
    state = State(rows=len(ids), capacity=capacity, biases=len(biases or {}), **options).to_words()
    tables = [table(biases)] + ([table(dry)] if dry is not None else [])
    return ops.penalize(np.float32(logits), history, state, *(array for pair in tables for array in pair))


def table(values):
    if not values:
        return NONE
    return np.array(list(values), np.int32), np.array(list(values.values()), np.float32)


def banned(result):
    return np.flatnonzero(result == BANNED).tolist()


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("repetition_0.7", {"repetition": 0.7}), ("repetition_1.3", {"repetition": 1.3}),
        *((f"no_repeat_{n}", {"no_repeat": n}) for n in (1, 2, 3, 4, 5)),
        ("biases", {"biases": {3: 2.5, 17: -4.0, 59: 0.75, 0: -np.inf}}),
        ("presence_0.6", {"presence": 0.6}), ("frequency_0.2", {"frequency": 0.2}),
    ],
)  # fmt: skip
def test_each_option_is_the_processor_of_transformers(golden, name, options):
    got, want = penalized(golden("penalize.logits"), golden("penalize.ids"), **options), golden(f"penalize.{name}")
    finite = np.isfinite(want)
    assert banned(got) == np.flatnonzero(~finite).tolist()
    np.testing.assert_allclose(got[finite], want[finite], rtol=3e-7, atol=5e-7)
    if name != "no_repeat_5":  # no run of five would come twice
        assert (got != golden("penalize.logits")).any()


def test_without_options_nothing_changes(golden):
    logits = golden("penalize.logits")
    np.testing.assert_array_equal(penalized(logits, golden("penalize.ids")), logits)


def test_options_apply_in_their_order():
    """Each id of 1, 2 and 3 came as often as its name says."""
    options = {"repetition": 2.0, "presence": 0.5, "frequency": 0.25, "biases": {1: 3.0, 2: -5.0, 4: 1.0}}
    got = penalized([1, 1, 1, 1, 1], [1, 2, 2, 3, 3, 3], dry={2: 0.125, 3: 7.0}, **options)
    want = [1, 4 / 2 - 0.75, -4 * 2 - 1 - 0.125, 1 / 2 - 1.25 - 7, 2]
    np.testing.assert_array_equal(got, np.float32(want))


def test_an_n_gram_ban_outlasts_every_bias_and_penalty():
    got = penalized(np.zeros(10), [4, 5, 4], biases={5: 100.0}, presence=-50.0, no_repeat=2, dry={5: -20.0})
    assert banned(got) == [5]


@pytest.mark.parametrize(
    ("ids", "n", "wanted"),
    [
        (RUN, 2, [8, 9]), (RUN, 3, [8, 9]), (RUN, 4, [8, 9]), ([1, 2], 1, [1, 2]), ([1], 3, []), (RUN, 5, []),
        ([], 2, []),
    ],
)  # fmt: skip
def test_what_would_repeat_an_n_gram_is_what_followed_it(ids, n, wanted):
    assert sorted({*repeats(np.array(ids, np.int32), n).tolist()}) == wanted


def test_dry_penalties_come_off_last():
    dry = Dry(0.8, 1.75, 2).penalties(RUN)
    got = penalized([0.0] * 4 + [2.8, 0, 0, 0, 3, 2.9], RUN, dry=dry)
    np.testing.assert_allclose(got[[4, 8, 9]], [2.8, 1.6, 1.5], rtol=1e-6)


@pytest.mark.parametrize(
    ("position", "rows", "evicted", "wanted"),
    [(0, 2, 0, [0, 1]), (3, 1, 0, [0, 1, 2, 3]), (2, 1, 3, [1, 2, 3, 4, 0]), (3, 1, 128, [2, 3, 4, 0, 1])],
)
def test_what_came_before_is_what_the_ring_still_has(position, rows, evicted, wanted):
    """The ring of five has its place as id."""
    state = State(position=position, rows=rows, evicted=evicted)
    assert came_before(np.arange(5, dtype=np.int32), state).tolist() == wanted


def test_a_token_that_was_banned_stays_so():
    logits = np.array([-np.inf, -3e38, 1.0], np.float32)
    got = penalized(logits, [0, 1], biases={0: 5.0}, repetition=0.5, presence=-9.0, dry={1: -3.0})
    assert got.tolist() == [BANNED, BANNED, 1.0]


def test_ids_outside_the_vocabulary_change_nothing():
    got = penalized([1, 2, 3], [7, -1, 7, 2], biases={9: 1.0}, dry={-1: 1.0, 3: 4.0}, presence=1.0, no_repeat=1)
    assert got.tolist() == [1, 2, BANNED]


def test_the_logits_given_are_left_as_they_are():
    logits = np.ones(4, np.float32)
    penalized(logits, [1], presence=1.0)
    assert logits.tolist() == [1, 1, 1, 1]


@pytest.mark.parametrize(
    ("changed", "text"),
    [
        ({0: np.zeros((2, 2), np.float32)}, r"logits must be float32\[V\], got float32\[2, 2\]"),
        ({0: np.zeros(0, np.float32)}, r"logits must be at least one token, got float32\[0\]"),
        ({1: np.zeros(4, np.float32)}, r"history must be int32\[C\], got float32\[4\]"),
        ({1: np.zeros(0, np.int32)}, r"history must be of at least one place, got int32\[0\]"),
        ({2: np.zeros(9, np.uint32)}, r"state must be uint32\[64\], got uint32\[9\]"),
        ({3: np.zeros(0, np.int32)}, r"bias_ids must be int32\[B\] of at least one entry, got int32\[0\]"),
        ({4: np.zeros(2, np.float32)}, r"bias_values must be float32\[1\], got float32\[2\]"),
        ({5: NONE[0][None], 6: NONE[1]}, r"dry_ids must be int32\[D\] of at least one entry, got int32\[1, 1\]"),
        ({5: np.zeros(2, np.int32), 6: NONE[1]}, r"dry_values must be float32\[2\], got float32\[1\]"),
        ({5: np.zeros(2, np.int32)}, "dry_values must be given with dry_ids, got None"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_named(changed, text):
    arguments = [np.zeros(3, np.float32), np.zeros(4, np.int32), State().to_words(), *NONE, None, None]
    for place, value in changed.items():
        arguments[place] = value
    with pytest.raises(ShapeError, match=f"^penalize: {text}$"):
        ops.penalize(*arguments)


def test_grids_cover_vocabulary_history_and_tables(plain_gpu):
    def grids(history, biases, *dry):
        specs = [Spec((5000,), "float32"), Spec((history,), "int32"), Spec((64,), "uint32")]
        tables = [Spec((n,), dtype) for n in (biases, *dry) for dtype in ("int32", "float32")]
        _, plan = ops.penalize.plan_of(plain_gpu, *specs, *tables)
        return {d.kernel.label: d.grid[0] for d in plan.dispatches}

    assert grids(512, 8) == {"penalize/begin": 5, "penalize/count": 2, "penalize/apply": 2}
    assert grids(513, 1024, 257) == {"penalize/begin": 5, "penalize/count": 4, "penalize/apply": 3, "penalize/dry": 2}
