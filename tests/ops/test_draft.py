"""draft: which tokens it writes behind the history. The GPU's cases are webxpu/cases/draft.py."""

from dataclasses import replace

import numpy as np
import pytest

from webxpu import ops
from webxpu.errors import ShapeError
from webxpu.llm.state import State
from webxpu.ops.draft import drafts_after

HISTORY = [5, 6, 7, 8, 5, 6, 7, 9, 5, 6, 7]
BEFORE = State(position=10, capacity=30, ngram=3, drafts=8, step=6, runs=5, stops=(9,))


def run(before, ids=HISTORY, length=30):
    history, state = np.full(length, -1, np.int32), before.to_words()
    history[: len(ids)] = ids
    assert ops.draft(history, state) is None
    assert history[: len(ids)].tolist() == ids
    after = State.from_words(state)
    assert replace(after, rows=before.rows) == before, "only rows may change"
    assert (history[len(ids) + after.rows - 1 :] == -1).all()
    return history[len(ids) : len(ids) + after.rows - 1].tolist()


# The table of onebit's runtime: n-grams of at most 3 and 8 drafts, of 2 and 2 drafts, and nothing to draft from.
@pytest.mark.parametrize(
    ("ids", "ngram", "drafts", "wanted"),
    [(HISTORY, 3, 8, [9, 5, 6, 7]), (HISTORY, 2, 2, [9, 5]), ([1, 2, 3], 3, 8, [])],
)
def test_it_drafts_what_followed_the_last_tokens(ids, ngram, drafts, wanted):
    assert run(replace(BEFORE, position=len(ids) - 1, ngram=ngram, drafts=drafts), ids) == wanted
    assert drafts_after(np.int32(ids), ngram, drafts) == wanted


@pytest.mark.parametrize(
    ("ids", "wanted"),
    [
        ([1, 2, 3, 8, 2, 3, 9, 1, 2, 3], [8, 2, 3, 9, 1, 2, 3]),
        ([7, 2, 3, 8, 4, 1, 2, 3], [8, 4, 1, 2, 3]),
        ([4, 4, 4], [4]),
        ([4, 4], []),
        ([3, 1, 2, 3], []),
    ],
    ids=["longest first", "a shorter one", "overlapping itself", "no end that is earlier", "one id is no run"],
)
def test_the_longest_run_wins_and_then_the_latest(ids, wanted):
    assert run(replace(BEFORE, position=len(ids) - 1), ids) == wanted


def test_it_is_the_plain_search_of_every_run_at_every_place():
    rng = np.random.default_rng(8)
    for _ in range(300):
        ids = rng.integers(0, 3, rng.integers(1, 20)).tolist()
        ngram, most = int(rng.integers(0, 6)), int(rng.integers(0, 6))
        wanted = []
        for n in range(2, ngram + 1):
            for end in range(n, len(ids)):
                if ids[end - n : end] == ids[-n:]:
                    wanted = ids[end : end + most]
        assert drafts_after(np.int32(ids), ngram, most) == wanted, (ids, ngram, most)


@pytest.mark.parametrize(("capacity", "length", "room"), [(11, 30, 0), (12, 30, 1), (30, 13, 2), (10, 30, 0)])
def test_nothing_is_drafted_past_the_capacity(capacity, length, room):
    assert run(replace(BEFORE, capacity=capacity), length=length) == [9, 5, 6, 7][:room]


def test_a_sequence_that_is_done_or_rolls_drafts_nothing():
    done = replace(BEFORE, done=True, rows=4)
    history, state = np.array(HISTORY, np.int32), done.to_words()
    ops.draft(history, state)
    assert State.from_words(state) == done
    assert run(replace(BEFORE, sinks=64, rows=4)) == []


def test_what_does_not_fit_is_named():
    with pytest.raises(ShapeError, match=r"^draft: history must be int32\[C\], got uint32\[9\]"):
        ops.draft(np.zeros(9, np.uint32), BEFORE.to_words())
    with pytest.raises(ShapeError, match=r"^draft: state must be uint32\[64\], got uint32\[9\]"):
        ops.draft(np.zeros(9, np.int32), np.zeros(9, np.uint32))
