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


FULL = replace(BEFORE, position=191, capacity=192, sinks=64)


def roll(before, pages=(5, 1, 4), length=192):
    history, state, table = np.full(length, -1, np.int32), before.to_words(), np.array(pages, np.int32)
    ops.advance(np.float32([1, 3, 2]), np.int32([5, 6, 8]), history, state, table)
    return history, State.from_words(state), table.tolist()


def test_a_full_window_moves_the_page_after_its_sinks_to_the_end():
    history, after, pages = roll(FULL)
    assert pages == [5, 4, 1]
    assert after == replace(FULL, position=128, evicted=64, step=9, runs=1)
    assert history[(64 + 128) % 192] == 6
    assert (history != -1).sum() == 1


def test_the_keys_that_stay_keep_their_slots():
    """A capacity of no whole pages: what lay at position 399 lies at 335, in the page that the table now has there."""
    before = replace(FULL, position=399, capacity=400, sinks=128)
    _, after, pages = roll(before, range(7), 400)
    assert pages == [0, 1, 3, 4, 5, 6, 2]
    assert (after.position, after.evicted, after.done) == (336, 64, False)
    assert (pages[335 // 64], 335 % 64) == (399 // 64, 399 % 64)


def test_pages_that_the_capacity_does_not_need_stay_where_they_are():
    assert roll(FULL, (5, 1, 4, 7, 9))[2] == [5, 4, 1, 7, 9]


def test_a_window_rolls_for_ever():
    state, pages, history = FULL.to_words(), np.array([5, 1, 4], np.int32), np.zeros(192, np.int32)
    for _ in range(1000):
        ops.advance(np.float32([1]), np.int32([6]), history, state, pages)
    after = State.from_words(state)
    assert (after.done, after.step, after.runs) == (False, 1008, 1000)
    assert after.position + after.evicted == 191 + 1000
    assert 128 <= after.position < 192
    assert (history == 6).all()


@pytest.mark.parametrize(
    "change",
    [{"position": 190}, {"sinks": 0}, {"sinks": 129}, {"sinks": 192}, {"done": True}],
    ids=lambda change: next(iter(change)) + f"-{next(iter(change.values()))}",
)
def test_nothing_rolls_before_it_must_or_where_sinks_leave_no_page(change):
    before = replace(FULL, **change)
    _, after, pages = roll(before)
    assert pages == [5, 1, 4]
    assert (after.evicted, after.done) == (0, before.position == 191 or before.done)


def test_a_stop_id_rolls_as_any_other():
    _, after, pages = roll(replace(FULL, stops=(6,)))
    assert (after.done, after.position, pages) == (True, 128, [5, 4, 1])


def test_without_the_page_table_a_full_window_ends():
    history, after = run(FULL, length=192)
    assert (after.done, after.position, after.evicted) == (True, 192, 0)
    assert (history == -1).all()


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
    with pytest.raises(ShapeError, match=r"^advance: pages must be int32\[m\], got uint32\[5\]"):
        ops.advance(np.float32([1]), np.int32([1]), np.zeros(5, np.int32), BEFORE.to_words(), np.zeros(5, np.uint32))
