"""rmsnorm, layernorm, group_norm and softmax against PyTorch, at random shapes, dtypes and magnitudes."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.nn import functional

from webxpu import ops

DTYPES = (np.float32, np.float16)


def values(rng: np.random.Generator, dtype: type, *shape: int) -> np.ndarray:
    spread, mean = 10 ** rng.uniform(-2, 1), rng.choice([0, 0, 1, 100])
    return (rng.standard_normal(shape) * spread + mean).astype(dtype)


def shape(rng: np.random.Generator) -> tuple[int, ...]:
    return (*rng.integers(1, 5, rng.integers(0, 3)), int(rng.integers(1, 300)))


def assert_rounded(got: np.ndarray, want: torch.Tensor) -> None:
    """Equal but for one step of the dtype, where float64 sums in another order fall on its other side, and near 0."""
    step = np.finfo(got.dtype).eps
    wide = want.numpy()
    np.testing.assert_allclose(
        got.astype(np.float64), wide, rtol=step, atol=np.finfo(got.dtype).smallest_subnormal + 1e-12
    )


def wide(*arrays: np.ndarray) -> list[torch.Tensor]:
    return [torch.from_numpy(array.astype(np.float64)) for array in arrays]


@pytest.mark.parametrize("dtype", DTYPES)
def test_layernorm(rng, dtype):
    for _ in range(100):
        x = values(rng, dtype, *shape(rng))
        weight, bias = values(rng, dtype, x.shape[-1]), values(rng, dtype, x.shape[-1])
        eps = 10 ** rng.uniform(-8, 0)
        out = ops.layernorm(x, weight, bias, eps=eps)
        assert (out.dtype, out.shape) == (x.dtype, x.shape)
        assert_rounded(out, functional.layer_norm(wide(x)[0], x.shape[-1:], *wide(weight, bias), eps))


@pytest.mark.parametrize("dtype", DTYPES)
def test_group_norm(rng, dtype):
    for _ in range(100):  # torch refuses a single sample of single values, so there are two at least
        groups, per = rng.integers(1, 6, 2)
        c = int(groups * per)
        x = values(rng, dtype, int(rng.integers(2, 5)), c, *rng.integers(1, 9, rng.integers(0, 4)))
        weight, bias = values(rng, dtype, c), values(rng, dtype, c)
        eps = 10 ** rng.uniform(-8, 0)
        out = ops.group_norm(x, weight, bias, groups=int(groups), eps=eps)
        assert_rounded(out, functional.group_norm(wide(x)[0], int(groups), *wide(weight, bias), eps))


@pytest.mark.parametrize("dtype", DTYPES)
def test_rmsnorm(rng, dtype):
    for _ in range(100):
        x = values(rng, dtype, *shape(rng))
        weight, eps = values(rng, dtype, x.shape[-1]), 10 ** rng.uniform(-8, 0)
        assert_rounded(
            ops.rmsnorm(x, weight, eps=eps),
            functional.rms_norm(wide(x)[0], x.shape[-1:], eps=eps) * wide(weight)[0],
        )


@pytest.mark.parametrize("dtype", DTYPES)
def test_softmax(rng, dtype):
    for _ in range(100):
        x = values(rng, dtype, *shape(rng))
        x[rng.random(x.shape) < rng.choice([0, 0.3, 0.9])] = -np.inf
        out, want = ops.softmax(x), torch.softmax(wide(x)[0], -1)
        np.testing.assert_array_equal(np.isnan(out), np.isnan(want.numpy()))
        assert_rounded(np.nan_to_num(out), torch.nan_to_num(want))
