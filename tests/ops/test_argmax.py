"""argmax: its values, errors and plans. The GPU's cases are webxpu/cases/argmax.py."""

import numpy as np
import pytest

from webxpu import ops
from webxpu.errors import ShapeError
from webxpu.gpu.plan import Spec


def test_it_is_torchs_argmax(golden):
    out = ops.argmax(golden("argmax.x"))
    assert out.dtype == np.int32
    np.testing.assert_array_equal(out, golden("argmax.out"))


def test_the_lowest_index_wins_a_tie():
    assert ops.argmax(np.array([0, 5, 1, 5], np.float32)).tolist() == [1]
    assert ops.argmax(np.full(4, -np.inf, np.float32)).tolist() == [0]


@pytest.mark.parametrize("x", [np.zeros(0, np.float32), np.zeros((2, 2), np.float32), np.zeros(2, np.int32)])
def test_what_does_not_fit_is_named(x):
    with pytest.raises(ShapeError, match=r"^argmax: x must be float32 of shape \(V,\), V >= 1, got "):
        ops.argmax(x)


@pytest.mark.parametrize(("v", "groups"), [(1, 1), (2048, 1), (2049, 2), (49_152, 24)])
def test_many_workgroups_and_then_one_pick_the_winner(wide_gpu, v, groups):
    _, plan = ops.argmax.plan_of(wide_gpu, Spec((v,), "float32"))
    first, second = plan.dispatches
    assert (first.kernel.label, first.grid) == ("argmax/kernel.subgroups", (groups, 1, 1))
    assert (second.kernel.label, second.grid) == ("argmax/winner", (1, 1, 1))
    assert [str(s) for s in plan.scratch] == [f"float32[{groups}]", f"int32[{groups}]"]
