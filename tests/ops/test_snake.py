"""snake and snake_beta: values of upstream's formulas, errors and plans. The GPU's cases are webxpu/cases/snake.py."""

import numpy as np
import pytest

from webxpu import ops
from webxpu.errors import ShapeError
from webxpu.gpu.plan import Spec

X = np.linspace(-3, 3, 12, dtype=np.float32).reshape(1, 2, 6)
ALPHA = np.array([0.5, 2], np.float32)


def test_it_is_dacs_snake(golden):
    out = ops.snake(golden("snake.x"), golden("snake.alpha"))
    assert out.dtype == np.float32
    np.testing.assert_allclose(out, golden("snake.out"), rtol=1e-6)


def test_it_is_bigvgans_snake_beta(golden):
    out = ops.snake_beta(golden("snake.x"), golden("snake.alpha"), golden("snake.beta"))
    np.testing.assert_allclose(out, golden("snake.with_beta"), rtol=1e-6)


def test_the_sine_is_squared_and_not_of_a_square():
    x = np.array([[[np.pi / 2, np.pi]]], np.float32)
    np.testing.assert_allclose(ops.snake(x, np.ones(1, np.float32)), [[[np.pi / 2 + 1, np.pi]]], rtol=1e-6)


def test_an_alpha_of_zero_is_the_identity():
    out = ops.snake(X, np.array([0, 2], np.float32))
    np.testing.assert_array_equal(out[:, 0], X[:, 0])
    assert np.all(out[:, 1] >= X[:, 1])
    assert not np.allclose(out[:, 1], X[:, 1])


def test_an_alpha_as_small_as_eps_sees_it():
    out = ops.snake(np.full((1, 1, 1), 1e6, np.float32), np.array([1e-9], np.float32))
    np.testing.assert_allclose(out, 1e6 + 1e-6 / 2e-9, rtol=1e-6)


def test_beta_equal_to_alpha_is_snake():
    np.testing.assert_array_equal(ops.snake_beta(X, ALPHA, ALPHA), ops.snake(X, ALPHA))
    assert not np.allclose(ops.snake_beta(X, ALPHA, ALPHA[::-1]), ops.snake(X, ALPHA))


def test_a_beta_of_zero_is_huge_and_finite():
    out = ops.snake_beta(X, np.array([1.5, 0], np.float32), np.zeros(2, np.float32))
    assert np.isfinite(out).all()
    assert out[0, 0].max() > 1e8
    np.testing.assert_array_equal(out[0, 1], X[0, 1])


def test_a_sign_is_kept():
    np.testing.assert_allclose(ops.snake(X, -ALPHA), 2 * X - ops.snake(X, ALPHA), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("op", "arguments", "text"),
    [
        (ops.snake, (X[0], ALPHA), r"snake: x must be float32 of shape \(N, C, L\), got float32\[2, 6\]$"),
        (ops.snake, (X.astype(np.int32), ALPHA), r"snake: x must be float32 of shape \(N, C, L\), got int32"),
        (ops.snake, (X, ALPHA[:1]), r"snake: alpha must be float32 of shape \(2,\), got float32\[1\]$"),
        (ops.snake_beta, (X, np.ones(6, np.float32), ALPHA), r"snake_beta: alpha must be float32 of shape \(2,\), got"),
        (ops.snake_beta, (X, ALPHA, ALPHA[None]), r"snake_beta: beta must be float32 of shape \(2,\), got"),
        (
            ops.snake_beta,
            (X, ALPHA, np.ones(2, np.int32)),
            r"snake_beta: beta must be float32 of shape \(2,\), got int",
        ),
    ],
)
def test_what_does_not_fit_is_named(op, arguments, text):
    with pytest.raises(ShapeError, match=f"^{text}"):
        op(*arguments)


def test_one_pipeline_serves_both_and_every_shape(wide_gpu):
    kinds = {}
    for n, c, length in [(1, 2, 6), (3, 7, 1000), (70_000, 1, 4)]:
        x, parameter = Spec((n, c, length), "float32"), Spec((c,), "float32")
        _, plain = ops.snake.plan_of(wide_gpu, x, parameter)
        _, beta = ops.snake_beta.plan_of(wide_gpu, x, parameter, parameter)
        for plan, parameters in [(plain, [1, 1]), (beta, [1, 2])]:
            (dispatch,) = plan.dispatches
            assert dispatch.grid == (-(-n * c * length // 1024), 1, 1)
            assert [b.index for b in dispatch.bindings] == [0, *parameters, 0, 0]
            kinds[dispatch.kernel.label, str(dispatch.constants)] = dispatch
    assert len(kinds) == 1


def test_empty_arrays_are_planned(plain_gpu):
    for shape in [(0, 3, 4), (2, 3, 0), (2, 0, 4)]:
        _, plan = ops.snake.plan_of(plain_gpu, Spec(shape, "float32"), Spec(shape[1:2], "float32"))
        assert plan.dispatches[0].grid == (0, 1, 1)
        x = np.zeros(shape, np.float32)
        assert ops.snake(x, np.ones(shape[1], np.float32)).shape == shape
