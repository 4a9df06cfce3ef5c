"""elementwise and elementwise_rows: values, errors and plans. The GPU's cases are webxpu/cases/elementwise.py."""

import numpy as np
import pytest

from webxpu import ops
from webxpu.errors import ShapeError
from webxpu.gpu.plan import Spec


@pytest.mark.parametrize("kind", ["add", "multiply"])
def test_both_are_torchs(golden, kind):
    a, b, row = (golden(f"elementwise.{name}") for name in ("a", "b", "row"))
    np.testing.assert_array_equal(ops.elementwise(a, b, kind=kind), golden(f"elementwise.{kind}"))
    np.testing.assert_array_equal(ops.elementwise_rows(a, row, kind=kind), golden(f"elementwise_rows.{kind}"))


def test_a_square_meets_the_row_along_its_last_axis():
    a = np.zeros((3, 3), np.float32)
    assert ops.elementwise_rows(a, np.array([1, 2, 3], np.float32), kind="add")[0].tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    ("op", "shapes", "kind", "text"),
    [
        (
            ops.elementwise,
            [(2, 3), (3, 2)],
            "add",
            r"elementwise: b must be of shape \[2, 3\] as a is, got float32\[3, 2\]",
        ),
        (ops.elementwise, [(2, 3), (3,)], "add", r"elementwise: b must be of shape \[2, 3\] as a is, got float32\[3\]"),
        (ops.elementwise, [(2,), (2,)], "mul", "elementwise: kind must be one of add, multiply, got 'mul'"),
        (ops.elementwise_rows, [(2, 3), (6,)], "add", r"elementwise_rows: b must be of shape \(3,\), got float32\[6\]"),
        (ops.elementwise_rows, [(2, 3), (2,)], "add", r"elementwise_rows: b must be of shape \(3,\), got float32\[2\]"),
        (ops.elementwise_rows, [(3,), (3,)], "add", r"elementwise_rows: a must be of shape \(S, D\), got float32\[3\]"),
        (ops.elementwise_rows, [(2, 3), (3,)], "sum", "elementwise_rows: kind must be one of add, multiply, got 'sum'"),
    ],
)
def test_what_does_not_fit_is_named(op, shapes, kind, text):
    with pytest.raises(ShapeError, match=f"^{text}"):
        op(*(np.ones(shape, np.float32) for shape in shapes), kind=kind)


@pytest.mark.parametrize("name", ["a", "b"])
def test_integers_are_refused(name):
    arrays = {"a": np.ones((2, 2), np.float32), "b": np.ones((2, 2), np.float32)}
    arrays[name] = arrays[name].astype(np.int32)
    with pytest.raises(ShapeError, match=rf"^elementwise: {name} must be float32, got int32\[2, 2\]"):
        ops.elementwise(arrays["a"], arrays["b"], kind="add")


def test_only_the_width_of_a_row_is_a_constant(plain_gpu):
    _, plan = ops.elementwise_rows.plan_of(plain_gpu, Spec((500, 5), "float32"), Spec((5,), "float32"), kind="multiply")
    (dispatch,) = plan.dispatches
    assert (dispatch.kernel.label, dispatch.grid) == ("elementwise/rows", (3, 1, 1))
    assert dispatch.constants == {"KIND": 1, "D": 5}


def test_a_row_as_long_as_all_rows_is_refused():
    rows, b = np.ones((2, 3), np.float32), np.ones(6, np.float32)
    with pytest.raises(ShapeError, match=r"^elementwise_rows: b must be of shape \(3,\), got float32\[6\]$"):
        ops.elementwise_rows(rows, b, kind="add")
