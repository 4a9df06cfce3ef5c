"""reduce: its values, errors and plans. The GPU's cases are webxpu/cases/reduce.py."""

import numpy as np
import pytest

from webxpu import ops
from webxpu.errors import ShapeError
from webxpu.gpu.plan import Spec
from webxpu.ops.reduce import KINDS

X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
NAN, INF = np.float32(np.nan), np.float32(np.inf)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("axis", [0, 1, 2, -1, -3])
def test_it_is_torchs_sum_mean_amax_and_amin(golden, kind, axis):
    out = ops.reduce(golden("reduce.x"), axis=axis, kind=kind)
    assert out.dtype == np.float32
    np.testing.assert_allclose(out, golden(f"reduce.{kind}-{axis % 3}"), rtol=1e-6, atol=1e-7)


def test_a_mean_is_divided_by_the_axis_length():
    assert ops.reduce(np.ones((1, 4), np.float32), axis=1, kind="mean").tolist() == [1]
    assert ops.reduce(X, axis=1, kind="mean")[0].tolist() == [4, 5, 6, 7]


def test_one_axis_gives_a_single_value():
    out = ops.reduce(X[0, 0], axis=0, kind="sum")
    assert (out.shape, float(out)) == ((), 6)


def test_sums_are_in_float64():
    assert ops.reduce(np.array([1e8, 1, -1e8], np.float32), axis=0, kind="sum") == 1


def test_the_sum_of_nothing_is_zero():
    assert ops.reduce(X[:, :0], axis=1, kind="sum").tolist() == np.zeros((2, 4)).tolist()


def test_the_mean_of_nothing_is_nan():
    out = ops.reduce(X[:, :0], axis=1, kind="mean")
    assert out.shape == (2, 4)
    assert np.isnan(out).all()


@pytest.mark.parametrize("kind", ["max", "min"])
def test_nothing_has_no_largest_and_no_smallest(kind):
    text = rf"reduce: x must be of non-zero size along axis 1: no values have no {kind}, got float32\[2, 0, 4\]"
    with pytest.raises(ShapeError, match=f"^{text}$"):
        ops.reduce(X[:, :0], axis=1, kind=kind)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_nan_wins_in_all_four_and_stays_in_its_row(kind, place):
    x = X[0].copy()
    x[1, place] = NAN
    out = ops.reduce(x, axis=1, kind=kind)
    assert np.isnan(out).tolist() == [False, True, False]


def test_infinities_and_the_lowest_values_are_what_they_are():
    lowest = np.finfo(np.float32).min
    assert ops.reduce(np.full((1, 5), -INF), axis=1, kind="max").tolist() == [-np.inf]
    assert ops.reduce(np.full((1, 5), INF), axis=1, kind="min").tolist() == [np.inf]
    assert ops.reduce(np.full((1, 5), lowest), axis=1, kind="max").tolist() == [float(lowest)]
    assert np.isnan(ops.reduce(np.array([INF, -INF]), axis=0, kind="sum"))


@pytest.mark.parametrize(
    ("x", "axis", "kind", "text"),
    [
        (X, 3, "sum", r"axis must be at least -3 and less than 3, got 3"),
        (X, -4, "sum", r"axis must be at least -3 and less than 3, got -4"),
        (X, 0, "prod", r"kind must be one of sum, max, min, mean, got 'prod'"),
        (X.astype(np.int32), 0, "sum", r"x must be float32 with at least one axis, got int32"),
        (np.float32(1), 0, "sum", r"x must be float32 with at least one axis, got float32\[\]"),
        (X.astype(np.float16), 0, "sum", r"x must be float32 with at least one axis, got float16"),
    ],
)
def test_what_does_not_fit_is_named(x, axis, kind, text):
    with pytest.raises(ShapeError, match=f"^reduce: {text}"):
        ops.reduce(x, axis=axis, kind=kind)


@pytest.mark.parametrize(
    ("shape", "axis", "kind"), [((2, 3), -3, "sum"), ((2, 3), 2, "sum"), ((2, 0), 1, "max"), ((2, 0), 1, "min")]
)
def test_a_shape_alone_is_refused_too(shape, axis, kind):
    with pytest.raises(ShapeError, match=r"^reduce: (axis|x) must be "):
        ops.reduce.spec_of(Spec(shape, "float32"), axis=axis, kind=kind)


@pytest.mark.parametrize(("axis", "shape"), [(-1, (2, 3)), (-2, (2, 4)), (-3, (3, 4)), (1, (2, 4))])
def test_a_negative_axis_counts_from_the_end(axis, shape):
    assert ops.reduce.spec_of(Spec((2, 3, 4), "float32"), axis=axis, kind="sum") == (Spec(shape, "float32"),)


def planned(gpu, shape, axis=-1, kind="sum"):
    plan = ops.reduce.plan_of(gpu, Spec(shape, "float32"), axis=axis, kind=kind)[1]
    return plan, [(d.kernel.label.removeprefix("reduce/"), d.constants["PARTS"], d.grid) for d in plan.dispatches]


@pytest.mark.parametrize(
    ("shape", "axis", "wanted"),
    [
        ((3, 300), -1, [("rows.subgroups", 1, (3, 1, 1))]),  # side by side: a workgroup each
        ((3, 31), -1, [("kernel", 1, (1, 1, 1))]),  # few: a thread each
        ((70_000, 300), -1, [("rows.subgroups", 1, (35_000, 2, 1))]),
        ((70_000, 8), -1, [("kernel", 1, (1094, 1, 1))]),
        ((1, 70_000), -1, [("rows.subgroups", 16, (16, 1, 1)), ("kernel", 1, (1, 1, 1))]),
        ((1, 1 << 24), -1, [("rows.subgroups", 1024, (1024, 1, 1)), ("rows.subgroups", 1, (1, 1, 1))]),
        ((1024, 1 << 14), -1, [("rows.subgroups", 1, (1024, 1, 1))]),  # enough rows to keep a GPU busy
        ((300, 1000), 0, [("kernel", 4, (63, 1, 1)), ("kernel", 1, (16, 1, 1))]),  # apart: neighbours side by side
        ((255, 1000), 0, [("kernel", 1, (16, 1, 1))]),
        ((300, 131_072), 0, [("kernel", 1, (2048, 1, 1))]),
        (
            (1 << 20, 4), 0,
            [
                ("kernel", 16_384, (1024, 1, 1)), ("kernel", 256, (16, 1, 1)),
                ("kernel", 4, (1, 1, 1)), ("kernel", 1, (1, 1, 1)),
            ],
        ),
    ],
)  # fmt: skip
def test_the_plan_keeps_many_threads_busy_and_lets_them_read_side_by_side(wide_gpu, shape, axis, wanted):
    assert planned(wide_gpu, shape, axis)[1] == wanted


def test_the_shares_of_a_mean_are_divided_once(wide_gpu):
    plan, _ = planned(wide_gpu, (1, 70_000), kind="mean")
    assert [d.constants["KIND"] for d in plan.dispatches] == [KINDS["mean"], KINDS["sum"]]
    assert [str(s) for s in plan.scratch] == ["float32[1, 16, 1]"]


def test_no_constant_knows_the_length_or_the_number_of_outputs(wide_gpu):
    constants = [dict(planned(wide_gpu, shape)[0].dispatches[0].constants) for shape in ((3, 300), (5, 301))]
    assert constants[0] == constants[1] == {"KIND": 0, "INNER": 1, "PARTS": 1, "THREADS": 64}


def test_on_a_cpu_adapter_there_is_no_barrier(cpu_gpu):
    assert planned(cpu_gpu, (9, 200))[1] == [("kernel", 1, (3, 1, 1))]


def test_more_than_one_binding_holds_is_taken_in_chunks(plain_gpu):
    plan, _ = planned(plain_gpu, (3, 1 << 24))  # 64 MiB a row, and 128 fit
    first, *_ = plan.dispatches
    assert (first.bindings[0].offset, first.bindings[0].nbytes) == (0, 1 << 27)
    second = plan.dispatches[1]
    assert (second.bindings[0].offset, second.bindings[0].nbytes) == (1 << 27, 1 << 26)


@pytest.mark.parametrize(("kind", "bits"), [("sum", 0), ("mean", 0x7FC00000)])
def test_nothing_is_written_as_a_constant(plain_gpu, kind, bits):
    plan = ops.reduce.plan_of(plain_gpu, Spec((2, 0, 3), "float32"), axis=1, kind=kind)[1]
    (dispatch,) = plan.dispatches
    assert (dispatch.kernel.label, dispatch.constants, len(dispatch.bindings)) == ("reduce/empty", {"BITS": bits}, 1)


def test_no_outputs_ask_nothing_of_the_gpu(plain_gpu):
    assert not planned(plain_gpu, (0, 3))[0].dispatches
