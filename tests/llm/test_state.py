"""The state's table: the same in Python and WGSL, and lossless."""

import re
from dataclasses import fields, replace

import numpy as np
import pytest

from webxpu.data import data_folder
from webxpu.errors import ShapeError
from webxpu.llm import state as words
from webxpu.llm.state import State

WORDS_OF = {"u32": 1, "f32": 1, "vec4<u32>": 4, "array<vec4<u32>, 4>": 16, "array<vec4<u32>, 5>": 20}


def struct_offsets():
    """Word offset of every field of the WGSL struct, by its layout rules for these types, and the size in words."""
    code = (data_folder("kernels") / "_with" / "state.wgsl").read_text("utf-8")
    body = re.search(r"struct State \{(.*?)\}", code, re.DOTALL)[1]
    offsets, at = {}, 0
    for name, kind in re.findall(r"(\w+): (.+),", body):
        size = WORDS_OF[kind]
        at = -(-at // min(size, 4)) * min(size, 4)
        offsets[name] = at
        at += size
    return offsets, at


def test_the_wgsl_struct_has_pythons_offsets():
    offsets, size = struct_offsets()
    assert size == words.WORDS
    named = {name: at for name, at in offsets.items() if not name.startswith("reserved")}
    assert {name: getattr(words, name.upper()) for name in named} == named
    constants = {n for n, v in vars(words).items() if n.isupper() and isinstance(v, int)} - {"WORDS", "MAX_STOPS"}
    assert {n.lower() for n in constants} == set(named)


def test_every_value_survives_the_round_trip():
    penalties = {"repetition": 1.25, "presence": 0.5, "frequency": -0.5, "top_n_sigma": 1.5}
    counts = {"evicted": 128, "sinks": 64, "no_repeat": 3, "biases": 7, "ngram": 4, "drafts": 8, "runs": 5}
    first = State(7, 3, 9, True, 2**63 + 5, 40, 0.75, 0.875, 0.0625, 4096, (2, 49_151))
    state = replace(first, **penalties, **counts)
    assert not [f.name for f in fields(State) if getattr(state, f.name) == getattr(State(), f.name)]
    raw = state.to_words()
    assert (raw.shape, raw.dtype) == ((64,), np.uint32)
    assert State.from_words(raw) == state
    assert raw[[words.SEED_LO, words.SEED_HI]].tolist() == [5, 2**31]
    assert raw[words.STOPS : words.STOPS + 3].tolist() == [2, 49_151, 0]
    assert raw[words.TEMPERATURE] == np.float32(0.75).view(np.uint32)


def test_sixteen_stops_fit_and_seventeen_are_refused():
    assert State.from_words(State(stops=tuple(range(16))).to_words()).stops == tuple(range(16))
    with pytest.raises(ShapeError, match=r"^State: stops must be at most 16 ids, got 17"):
        State(stops=tuple(range(17))).to_words()


@pytest.mark.parametrize(
    ("state", "rows", "expected"),
    [
        (State(5, 3, capacity=99), 8, [5, 6, 7]),  # padding is not live
        (State(5, 9, capacity=99), 2, [5, 6]),
        (State(97, 4, capacity=99), 4, [97, 98]),  # nor is what passes the capacity
        (State(100, 1, capacity=99), 1, []),
        (State(5, 0, capacity=99), 4, []),
    ],
)
def test_live_positions(state, rows, expected):
    assert state.positions(rows).tolist() == expected
