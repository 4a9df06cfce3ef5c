"""advance: which token, and how the state moves. The GPU's cases are webxpu/cases/advance.py."""

from dataclasses import replace

import numpy as np
import pytest

from webxpu import ops
from webxpu.errors import ShapeError
from webxpu.llm.state import State

BEFORE = State(position=3, rows=1, step=8, capacity=20, seed=77, top_k=4, temperature=0.5, stops=(7, 9))


def run(before, values=(1, 3, 2), ids=(5, 6, 8), length=20):
    history, state = np.full(length, -1, np.int32), before.to_words()
    assert ops.advance(np.float32(values), np.int32(ids), history, state) is None
    return history, State.from_words(state)


def test_the_best_candidate_is_appended_and_the_state_moves_on():
    history, after = run(BEFORE)
    assert after == replace(BEFORE, position=4, step=9, runs=1)
    assert history[4] == 6
    assert np.delete(history, 4).tolist() == [-1] * 19


def test_after_a_prefill_the_next_step_has_one_row():
    history, after = run(replace(BEFORE, position=0, rows=11))
    assert (after.position, after.rows, history[11]) == (11, 1, 6)


@pytest.mark.parametrize(
    ("values", "ids", "best"),
    [((2, 2, 1), (9, 4, 1), 4), ((2, 2, 2), (3, 8, 5), 3), ((-1, -2, -3), (3, 8, 5), 3)],
)
def test_the_lowest_id_wins_a_tie(values, ids, best):
    assert run(replace(BEFORE, stops=()), values, ids)[0][4] == best


@pytest.mark.parametrize(("stops", "done"), [((6,), True), ((1, 2, 6), True), ((5, 8), False), ((), False)])
def test_a_stop_id_is_kept_and_ends_the_sequence(stops, done):
    history, after = run(replace(BEFORE, stops=stops))
    assert after.done == done
    assert history[4] == 6


@pytest.mark.parametrize(("position", "done", "written"), [(17, False, True), (18, False, True), (19, True, False)])
def test_the_sequence_ends_where_the_next_position_has_no_place(position, done, written):
    history, after = run(replace(BEFORE, position=position))
    assert (after.done, after.position, (history != -1).any()) == (done, position + 1, written)


def test_a_finished_sequence_changes_nothing():
    done = replace(BEFORE, done=True)
    history, after = run(done)
    assert after == done
    assert (history == -1).all()


@pytest.mark.parametrize(
    ("args", "text"),
    [
        (([], [], 5), r"values must be at least one candidate, got float32\[0\]"),
        (([1.0], [1, 2], 5), r"ids must be int32\[1\], got int32\[2\]"),
    ],
)
def test_what_does_not_fit_is_named(args, text):
    values, ids, length = args
    with pytest.raises(ShapeError, match=f"^advance: {text}"):
        ops.advance(np.float32(values), np.int32(ids), np.zeros(length, np.int32), BEFORE.to_words())
    with pytest.raises(ShapeError, match=r"^advance: history must be int32\[C\], got int64\[5\]"):
        ops.advance(np.float32([1]), np.int32([1]), np.zeros(5, np.int64), BEFORE.to_words())
