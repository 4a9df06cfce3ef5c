"""accept: which drafts stay, and that the state ends as after single steps. The GPU's cases are
webxpu/cases/accept.py."""

from dataclasses import replace

import numpy as np
import pytest

from webxpu import ops
from webxpu.errors import ShapeError
from webxpu.llm.state import State

BEFORE = State(position=3, rows=4, step=8, runs=5, capacity=20, seed=77, ngram=3, drafts=3, stops=(7, 9))


def run(before, best=(1, 2, 3, 4), drafts=(1, 2, 3), length=20):
    """Row r's best id is best[r]."""
    history, state = np.full(length, -1, np.int32), before.to_words()
    history[before.position + 1 : before.position + 1 + len(drafts)] = drafts
    ids = np.tile(np.arange(10, dtype=np.int32), (len(best), 1))
    values = (ids == np.array(best)[:, None]).astype(np.float32)
    assert ops.accept(values, ids, history, state) is None
    return history, State.from_words(state)


def stepped(before, tokens, length=20):
    """What `advance` makes of the tokens, one after the other."""
    history, state = np.full(length, -1, np.int32), replace(before, rows=1).to_words()
    for token in tokens:
        ops.advance(np.ones(1, np.float32), np.array([token], np.int32), history, state)
    return history, State.from_words(state)


@pytest.mark.parametrize(
    ("drafts", "kept"),
    [((1, 2, 3), 4), ((1, 2, 5), 3), ((1, 5, 3), 2), ((5, 2, 3), 1), ((1, 2), 3), ((), 1)],
)
def test_drafts_stay_up_to_the_first_that_differs_and_one_token_follows(drafts, kept):
    history, after = run(replace(BEFORE, rows=1 + len(drafts)), drafts=drafts)
    wanted, alone = stepped(BEFORE, [1, 2, 3, 4][:kept])
    assert after == replace(alone, runs=6)
    assert after.step == 8 + kept
    assert history[: 4 + kept].tolist() == wanted[: 4 + kept].tolist()


@pytest.mark.parametrize(("stop", "kept"), [(1, 1), (2, 2), (3, 3), (4, 4)])
def test_no_row_counts_behind_a_stop_id(stop, kept):
    before = replace(BEFORE, stops=(7, stop))
    _, after = run(before)
    assert after == replace(stepped(before, [1, 2, 3, 4][:kept])[1], runs=6)
    assert after.done


@pytest.mark.parametrize("position", range(13, 20))
def test_the_end_of_the_capacity_is_that_of_single_steps(position):
    before = replace(BEFORE, position=position, rows=min(4, 20 - position))
    drafts = (1, 2, 3)[: before.rows - 1]
    history, after = run(before, drafts=drafts)
    wanted, alone = stepped(before, [1, 2, 3, 4][: before.rows])
    assert after == replace(alone, runs=6)
    assert history.tolist() == wanted.tolist()


def test_padding_rows_do_not_count_and_rows_are_held_to_those_there():
    assert run(replace(BEFORE, rows=2), best=(1, 2, 3, 4), drafts=(1,))[1].step == 10
    assert run(replace(BEFORE, rows=9), best=(1, 2), drafts=(1, 2))[1].step == 10
    assert run(replace(BEFORE, rows=0), best=(1, 2), drafts=(1,))[1].step == 9


def test_the_lowest_id_wins_a_tie():
    history, state = np.full(20, -1, np.int32), replace(BEFORE, rows=1).to_words()
    ops.accept(np.float32([[2, 2, 1], [0, 0, 0]]), np.int32([[8, 4, 1], [0, 0, 0]]), history, state)
    assert history[4] == 4


def test_rows_of_other_sequences_come_before():
    ids, values = np.tile(np.arange(10, dtype=np.int32), (4, 1)), np.zeros((4, 10), np.float32)
    values[np.arange(4), [1, 2, 3, 4]] = 1
    for first, wanted in [(0, 1), (2, 3), (3, 4)]:
        history, state = np.full(20, -1, np.int32), replace(BEFORE, rows=1).to_words()
        ops.accept(values, ids, history, state, first=first)
        assert history[4] == wanted
    for wrong in (-1, 4):
        with pytest.raises(ShapeError, match=rf"^accept: first must be from 0 to 3, got {wrong}"):
            ops.accept(values, ids, history, state, first=wrong)


def test_a_finished_sequence_changes_nothing():
    done = replace(BEFORE, done=True)
    history, after = run(done)
    assert after == done
    assert history[4:8].tolist() == [1, 2, 3, -1]


@pytest.mark.parametrize(
    ("shape", "ids", "text"),
    [
        ((0, 3), (0, 3), r"values must be at least one row and one candidate, got float32\[0, 3\]"),
        ((3,), (3,), r"values must be float32\[L, n\], got float32\[3\]"),
        ((2, 3), (2, 4), r"ids must be int32\[2, 3\], got int32\[2, 4\]"),
    ],
)
def test_what_does_not_fit_is_named(shape, ids, text):
    with pytest.raises(ShapeError, match=f"^accept: {text}"):
        ops.accept(np.zeros(shape, np.float32), np.zeros(ids, np.int32), np.zeros(5, np.int32), BEFORE.to_words())
    with pytest.raises(ShapeError, match=r"^accept: history must be at least one place, got int32\[0\]"):
        ops.accept(np.zeros((1, 1), np.float32), np.zeros((1, 1), np.int32), np.zeros(0, np.int32), BEFORE.to_words())
