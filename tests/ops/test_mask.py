"""mask: bits, words and what is left of forbidden tokens. The GPU's cases are webxpu/cases/mask.py."""

import numpy as np
import pytest

from webxpu import ops
from webxpu.cases.case import uniform
from webxpu.errors import ShapeError
from webxpu.llm.state import State
from webxpu.ops.mask import FORBIDDEN
from webxpu.ops.penalize import BANNED
from webxpu.ops.sample import scores


@pytest.mark.parametrize("v", [1, 31, 32, 33, 70])
def test_a_bit_a_token_lowest_first(v):
    logits = uniform((v,), v)
    for token in {0, v // 2, v - 1}:
        allowed = np.zeros(-(-v // 32), np.uint32)
        allowed[token // 32] = 1 << token % 32
        got = ops.mask(logits, allowed)
        assert got[token] == logits[token]
        assert (np.delete(got, token) == FORBIDDEN).all()
    np.testing.assert_array_equal(ops.mask(logits, np.full(-(-v // 32), 2**32 - 1, np.uint32)), logits)


@pytest.mark.parametrize("temperature", [0.0, 1e-3, 1.0, 50.0])
def test_a_banned_token_that_is_allowed_beats_every_forbidden_one(temperature):
    logits = uniform((40,), 3, amp=9)
    logits[[7, 33]] = BANNED
    allowed = np.array([1 << 7, 1 << 1], np.uint32)
    drawn = {
        int(np.argmax(scores(ops.mask(logits, allowed), State(temperature=temperature, seed=seed))))
        for seed in range(30)
    }
    assert drawn == ({7} if temperature == 0 else {7, 33})


@pytest.mark.parametrize(
    ("logits", "allowed", "text"),
    [
        (np.zeros(40, np.float32), np.zeros(3, np.uint32), r"allowed must be uint32\[2\], got uint32\[3\]"),
        (np.zeros(40, np.float32), np.zeros(2, np.int32), r"allowed must be uint32\[2\], got int32\[2\]"),
        (np.zeros(0, np.float32), np.zeros(0, np.uint32), r"logits must be at least one token, got float32\[0\]"),
    ],
)
def test_what_does_not_fit_is_named(logits, allowed, text):
    with pytest.raises(ShapeError, match=f"^mask: {text}$"):
        ops.mask(logits, allowed)
