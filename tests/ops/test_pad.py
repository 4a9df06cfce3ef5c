"""pad: its values, errors and plans. The GPU's cases are webxpu/cases/pad.py."""

from dataclasses import replace

import numpy as np
import pytest

from webxpu import ops
from webxpu.errors import ShapeError
from webxpu.gpu.plan import Spec

X = np.array([1, 2, 3, 4], np.float32)
FILL = {"constant": {"value": 1.5}, "reflect": {}, "replicate": {}}


@pytest.mark.parametrize(
    ("mode", "out"),
    [
        ("reflect", [3, 2, 1, 2, 3, 4, 3]),
        ("replicate", [1, 1, 1, 2, 3, 4, 4]),
        ("constant", [0, 0, 1, 2, 3, 4, 0]),
    ],
)
def test_each_mode_by_hand(mode, out):
    assert ops.pad(X, axis=0, before=2, after=1, mode=mode).tolist() == out


@pytest.mark.parametrize("mode", FILL)
def test_each_mode_is_torchs_on_one_axis_and_on_several(golden, mode):
    x = golden("pad.x")
    last = ops.pad(x, axis=-1, before=3, after=1, mode=mode, **FILL[mode])
    np.testing.assert_array_equal(last, golden(f"pad.{mode}"))
    both = golden(f"pad.{mode}-two-axes")
    np.testing.assert_array_equal(ops.pad(last, axis=1, before=2, after=0, mode=mode, **FILL[mode]), both)
    other = ops.pad(x, axis=1, before=2, after=0, mode=mode, **FILL[mode])
    np.testing.assert_array_equal(ops.pad(other, axis=2, before=3, after=1, mode=mode, **FILL[mode]), both)


def test_reflect_and_replicate_differ_at_the_edge_alone():
    reflect, replicate = (ops.pad(X, axis=0, before=2, after=2, mode=m).tolist() for m in ("reflect", "replicate"))
    assert reflect[2:-2] == replicate[2:-2] == X.tolist()
    assert (reflect[:2], replicate[:2]) == ([3, 2], [1, 1])
    assert (reflect[-2:], replicate[-2:]) == ([3, 2], [4, 4])


def test_a_causal_pad_is_before_only():
    assert ops.pad(X, axis=0, before=2, after=0, value=-1).tolist() == [-1, -1, 1, 2, 3, 4]


def test_an_inner_axis_is_padded_within_its_rows():
    x = np.arange(8, dtype=np.float32).reshape(2, 2, 2)
    assert ops.pad(x, axis=1, before=1, after=0, mode="replicate").tolist() == [
        [[0, 1], [0, 1], [2, 3]],
        [[4, 5], [4, 5], [6, 7]],
    ]


def test_reflect_goes_as_far_as_the_axis_has_other_places():
    assert ops.pad(X, axis=0, before=3, after=3, mode="reflect").tolist() == [4, 3, 2, 1, 2, 3, 4, 3, 2, 1]


def test_integers_stay_what_they_are():
    out = ops.pad(np.array([2**32 - 1], np.uint32), axis=0, before=1, after=0, value=2**32 - 2)
    assert (out.dtype, out.tolist()) == (np.uint32, [2**32 - 2, 2**32 - 1])


def test_a_value_beyond_float32_is_infinite():
    assert ops.pad(X, axis=0, before=1, after=0, value=1e39)[0] == np.inf


@pytest.mark.parametrize(
    ("x", "kwargs", "text"),
    [
        (X, {"before": 4}, "before must be less than the axis' 4 to be reflected, got 4"),
        (X, {"after": 4}, "after must be less than the axis' 4 to be reflected, got 4"),
        (X[:0], {"before": 1}, "before must be less than the axis' 0 to be reflected, got 1"),
        (X[:0], {"before": 1, "mode": "replicate"}, "x must be not empty along the axis to replicate, got"),
        (X, {"before": -1}, "before must be a whole number, at least 0, got -1"),
        (X, {"after": -1}, "after must be a whole number, at least 0, got -1"),
        (X, {"before": 1.5}, r"before must be a whole number, at least 0, got 1\.5"),
        (X, {"axis": 1}, r"axis must be an axis of float32\[4\], got 1"),
        (X, {"axis": -2}, r"axis must be an axis of float32\[4\], got -2"),
        (X, {"mode": "circular"}, "mode must be one of constant, reflect, replicate, got 'circular'"),
        (X[0], {}, r"x must be float32, int32 or uint32 with at least one axis, got float32\[\]"),
        (X.astype(np.float16), {}, r"x must be float32, int32 or uint32 with at least one axis, got float16\[4\]"),
        (
            X.astype(np.int32),
            {"mode": "constant", "value": 0.5},
            r"value must be a whole number that fits int32, got 0\.5",
        ),
        (
            X.astype(np.uint32),
            {"mode": "constant", "value": -1},
            "value must be a whole number that fits uint32, got -1",
        ),
    ],
)
def test_what_does_not_fit_is_named(x, kwargs, text):
    with pytest.raises(ShapeError, match=f"^pad: {text}"):
        ops.pad(x, **{"axis": 0, "before": 0, "after": 0, "mode": "reflect", **kwargs})


def test_the_length_of_the_axis_is_no_constant(plain_gpu):
    plans = [
        ops.pad.plan_of(plain_gpu, Spec((3, n, 2), "float32"), axis=1, before=2, after=1, value=-0.5)[1]
        for n in (7, 70_000)
    ]
    first, second = (plan.dispatches[0] for plan in plans)
    assert first.constants == second.constants
    assert first.constants == {"BATCH": 3, "INNER": 2, "BEFORE": 2, "AFTER": 1, "MODE": 0, "VALUE": 0xBF000000}
    assert (first.grid, second.grid) == ((1, 1, 1), (411, 1, 1))


def test_what_stands_before_the_axis_is_padded_in_parts_where_it_cannot_be_bound_at_once(plain_gpu):
    small = replace(plain_gpu, limits={**plain_gpu.limits, "maxStorageBufferBindingSize": 2048})
    _, plan = ops.pad.plan_of(small, Spec((10, 64), "float32"), axis=1, before=64, after=0)
    assert [d.constants["BATCH"] for d in plan.dispatches] == [4, 4, 2]
    assert [(d.bindings[0].offset, d.bindings[1].offset) for d in plan.dispatches] == [
        (0, 0),
        (1024, 2048),
        (2048, 4096),
    ]
