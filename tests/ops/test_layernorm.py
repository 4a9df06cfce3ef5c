"""layernorm: its values, errors and plans. The GPU's cases are webxpu/cases/layernorm.py."""

import numpy as np
import pytest

from webxpu import ops
from webxpu.errors import ShapeError
from webxpu.gpu.plan import Spec

X = np.arange(12, dtype=np.float32).reshape(3, 4)
ONES, ZEROS = np.ones(4, np.float32), np.zeros(4, np.float32)


@pytest.mark.parametrize("suffix", ["", "-f16"])
def test_it_is_torchs_layer_norm(golden, suffix):
    x, weight, bias, want = (golden(f"layernorm{suffix}.{name}") for name in ("x", "weight", "bias", "out"))
    out = ops.layernorm(x, weight, bias, eps=1e-5)
    assert out.dtype == x.dtype
    if suffix:
        np.testing.assert_array_equal(out, want)
    else:
        np.testing.assert_allclose(out, want, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("mean", [1024, 8192])
def test_a_small_spread_about_a_large_mean_is_not_lost(mean):
    # torch 2.13.0: torch.var(((37 * torch.arange(256)) % 9 - 4).double(), correction=0) is 6.67816162109375
    spread = (37 * np.arange(256)) % 9 - 4
    out = ops.layernorm(
        (mean + spread).astype(np.float32), np.ones(256, np.float32), np.zeros(256, np.float32), eps=0.0
    )
    np.testing.assert_allclose(out, (spread - spread.mean()) / np.sqrt(6.67816162109375), rtol=1e-6)


def test_a_constant_row_gives_the_bias():
    out = ops.layernorm(np.full((1, 4), 3.5, np.float32), ONES, X[0], eps=1e-5)
    assert out.tolist() == [[0, 1, 2, 3]]


def test_eps_lies_inside_the_root_and_the_variance_is_biased():
    out = ops.layernorm(np.array([[-1, 1, -1, 1]], np.float32), ONES, ZEROS, eps=3.0)
    assert out.tolist() == [[-0.5, 0.5, -0.5, 0.5]]


@pytest.mark.parametrize(
    ("x", "weight", "bias", "eps", "text"),
    [
        (X, ONES[:3], ZEROS, 0, r"layernorm: weight must be float32 of shape \(4,\), got float32\[3\]"),
        (X, ONES[None], ZEROS, 0, r"layernorm: weight must be float32 of shape \(4,\), got"),
        (X, ONES, ZEROS[:1], 0, r"layernorm: bias must be float32 of shape \(4,\), got float32\[1\]"),
        (X, ONES, ZEROS.astype(np.float16), 0, r"layernorm: bias must be float32 of shape \(4,\), got float16"),
        (X.astype(np.float16), ONES, ZEROS, 0, r"layernorm: weight must be float16 of shape \(4,\), got float32"),
        (X.astype(np.int32), ONES, ZEROS, 0, r"layernorm: x must be float32 or float16 of shape \(\.\.\., D\), D >= 1"),
        (X[:, :0], ONES, ZEROS, 0, r"layernorm: x must be float32 or float16 of shape"),
        (np.float32(1), ONES, ZEROS, 0, r"layernorm: x must be float32 or float16 of shape"),
        (X, ONES, ZEROS, -1e-6, r"layernorm: eps must be at least 0, got -1e-06"),
    ],
)
def test_what_does_not_fit_is_named(x, weight, bias, eps, text):
    with pytest.raises(ShapeError, match=f"^{text}"):
        ops.layernorm(x, weight, bias, eps=eps)


def test_a_workgroup_a_row_and_no_constant_that_counts_rows(wide_gpu):
    for rows, d, threads, grid in [
        (1, 576, 64, (1, 1, 1)),
        (70_000, 8, 64, (35_000, 2, 1)),
        (1, 70_000, 256, (1, 1, 1)),
    ]:
        specs = Spec((rows, d), "float32"), Spec((d,), "float32"), Spec((d,), "float32")
        _, plan = ops.layernorm.plan_of(wide_gpu, *specs, eps=1e-5)
        (dispatch,) = plan.dispatches
        assert dispatch.kernel.label == "layernorm/kernel.subgroups"
        assert dispatch.constants == {"D": d, "EPS": 1e-5, "THREADS": threads}
        assert dispatch.grid == grid
