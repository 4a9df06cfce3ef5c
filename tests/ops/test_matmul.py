"""matmul and linear: their values, errors and plans. The GPU's cases are webxpu/cases/matmul.py."""

import math
from dataclasses import replace

import numpy as np
import pytest

from webxpu import ops
from webxpu.cases.case import uniform
from webxpu.errors import ShapeError
from webxpu.gpu.kernels import assemble
from webxpu.gpu.plan import Spec
from webxpu.ops.matmul import tile
from webxpu.quant.ggml import BLOCK_TYPES, Blocks


def ones(*shape, dtype=np.float32):
    return np.ones(shape, dtype)


def test_matmul_is_torchs_mm(golden):
    np.testing.assert_allclose(ops.matmul(golden("matmul.a"), golden("matmul.b")), golden("matmul.out"), rtol=1e-6)


def test_linear_is_torchs_linear(golden):
    out = ops.linear(golden("linear.x"), golden("linear.weight"))
    np.testing.assert_allclose(out, golden("linear.out"), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", BLOCK_TYPES)
def test_a_block_weight_is_what_gguf_makes_of_it(golden, name):
    weight = Blocks(name, (5, 64), golden(f"linear.{name}.data").reshape(-1))
    np.testing.assert_allclose(
        ops.linear(golden("linear.x"), weight), golden(f"linear.{name}.out"), rtol=1e-5, atol=1e-6
    )


def test_sums_are_wider_than_float32():
    a, b = uniform((1, 4096), seed=1), uniform((1, 4096), seed=2)
    exact = np.float32(math.fsum(float(v) * float(w) for v, w in zip(a[0], b[0], strict=True)))
    assert ops.matmul(a, b.T) == [[exact]]
    assert ops.linear(a, b) == [[exact]]


def test_no_columns_give_zeros_and_no_rows_nothing():
    assert not ops.matmul(ones(2, 0), ones(0, 3)).any()
    assert ops.matmul(ones(2, 0), ones(0, 3)).shape == (2, 3)
    assert ops.linear(ones(0, 4), ones(3, 4)).shape == (0, 3)


@pytest.mark.parametrize(
    ("op", "args", "text"),
    [
        (ops.matmul, (ones(2, 3), ones(4, 5)), r"matmul: b must be of shape \(3, N\), got float32\[4, 5\]"),
        (ops.matmul, (ones(6), ones(6, 1)), r"matmul: a must be a float32 or float16 matrix, got float32\[6\]"),
        (
            ops.matmul,
            (ones(2, 3), ones(3, 2, dtype=np.int32)),
            r"matmul: b must be a float32 matrix as a is, got int32",
        ),
        (ops.linear, (ones(2, 3), ones(4, 5)), r"linear: x must be of shape \(L, 5\), got float32\[2, 3\]"),
        (ops.linear, (ones(5), ones(4, 5)), r"linear: x must be of shape \(L, 5\), got float32\[5\]"),
        (ops.linear, (ones(2, 5, dtype=np.int32), ones(4, 5)), r"linear: x must be float32, got int32\[2, 5\]"),
        (ops.linear, (ones(2, 5), ones(5)), r"linear: weight must be of shape \(N, K\), got float32\[5\]"),
    ],
)
def test_what_does_not_fit_is_named(op, args, text):
    with pytest.raises(ShapeError, match=f"^{text}"):
        op(*args)


@pytest.mark.parametrize(
    ("m", "n", "whole", "expected"),
    [
        (4096, 4096, True, (True, 128, 1024)),
        (4096, 4096, False, (False, 64, 4096)),
        (128, 576, True, (False, 16, 72)),  # too few tiles for a big GPU: take the smallest
        (256, 3072, True, (False, 64, 192)),
        (16, 49_152, True, (False, 16, 768)),  # taller tiles would be empty
        (17, 49_152, True, (False, 32, 768)),
        (48, 49_152, True, (False, 48, 768)),
        (65, 49_152, True, (True, 128, 384)),
        (1, 1, True, (False, 16, 1)),
    ],
)
def test_the_tallest_tile_that_keeps_a_gpu_busy_and_is_not_half_empty_wins(m, n, whole, expected):
    assert tile(m, n, whole=whole) == expected


def test_a_cpu_computes_without_tiles_in_workgroup_memory(plain_gpu):
    cpu = replace(plain_gpu, target="cpu")
    _, plan = ops.linear.plan_of(cpu, Spec((48, 576), "float32"), Spec((960, 576), "q4_1"))
    (dispatch,) = plan.dispatches
    assert dispatch.kernel.label == "matmul/linear.cpu:q4_1"
    assert (dispatch.grid, dispatch.constants) == ((24, 1, 1), {"N": 960, "K": 576})
    assert "workgroup>" not in assemble(dispatch.kernel).code


def test_large_products_take_the_large_kernels(plain_gpu):
    _, plan = ops.matmul.plan_of(plain_gpu, Spec((4096, 64), "float32"), Spec((64, 4096), "float32"))
    assert [d.kernel.label for d in plan.dispatches] == ["matmul/large"]
    _, plan = ops.linear.plan_of(plain_gpu, Spec((4096, 64), "float32"), Spec((4096, 64), "q8_0"))
    assert [d.kernel.label for d in plan.dispatches] == ["matmul/linear_large:q8_0"]


@pytest.mark.parametrize("rows", [1, 15, 16, 17, 64, 200])
def test_the_number_of_rows_is_no_constant_of_a_kernel(plain_gpu, rows):
    _, plan = ops.linear.plan_of(plain_gpu, Spec((rows, 96), "float32"), Spec((33, 96), "q4_1"))
    (dispatch,) = plan.dispatches
    assert dispatch.kernel.label == "matmul/linear:q4_1"
    assert dispatch.constants == {"N": 33, "K": 96, "ROWS": 16}
    assert dispatch.grid == (-(-rows // 16), 1, 1)
