"""What a comparison with a tolerance cannot say: infinities and NaNs, which must stay in the row that they are in."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from playwright_tests.ops.every_plan import by_every_plan
from webxpu import ops
from webxpu.host.gpu_page import GpuPage
from webxpu.quant.ggml import Blocks


def weights(k: int, rows: int = 5) -> np.ndarray:
    """All ones; the second row begins with a NaN, which a kernel that reads past the first row would meet. The fourth
    ends with an infinity."""
    matrix = np.ones((rows, k), np.float32)
    matrix[1, 0] = np.nan
    matrix[3, -1] = np.inf
    return matrix


def halves(matrix: np.ndarray) -> Blocks:
    return Blocks("f16", matrix.shape, matrix.astype(np.float16).reshape(-1).view(np.uint8))


def brains(matrix: np.ndarray) -> Blocks:
    words = (matrix.view(np.uint32) >> 16).astype(np.uint16)
    return Blocks("bf16", matrix.shape, words.reshape(-1).view(np.uint8))


@pytest.mark.parametrize("stored", [np.asarray, halves, brains], ids=["f32", "f16", "bf16"])
@pytest.mark.parametrize("k", [33, 36, 40, 4, 1])
def test_a_matvec_keeps_rows_apart_and_an_infinity_at_the_end(gpu_page: GpuPage, stored: Any, k: int) -> None:
    x = np.ones(k, np.float32)
    for name, out in by_every_plan(gpu_page, ops.matvec, (stored(weights(k)), x)).items():
        assert (out[0], np.isnan(out[1]), out[2], out[3]) == (k, True, k, np.inf), name
    x[-1] = np.inf
    for name, out in by_every_plan(gpu_page, ops.matvec, (stored(weights(k)), x)).items():
        assert (out[0], out[4]) == (np.inf, np.inf), name


@pytest.mark.parametrize("stored", [np.asarray, halves, brains], ids=["f32", "f16", "bf16"])
@pytest.mark.parametrize(("m", "n", "k"), [(3, 5, 33), (3, 5, 40), (65, 132, 36)])
def test_linear_keeps_rows_apart_and_an_infinity_at_the_end(
    gpu_page: GpuPage, stored: Any, m: int, n: int, k: int
) -> None:
    x = np.ones((m, k), np.float32)
    x[0, -1] = np.inf
    x[2, 0] = np.nan
    for name, out in by_every_plan(gpu_page, ops.linear, (x, stored(weights(k, n)))).items():
        assert (out[0, [0, 2]] == np.inf).all(), name
        assert (out[1, 0], out[1, n - 1], out[1, 3]) == (k, k, np.inf), name
        assert np.isnan(out[:, 1]).all(), name
        assert np.isnan(out[2]).all(), name


@pytest.mark.parametrize(("m", "n", "k"), [(3, 5, 33), (65, 132, 36)])
def test_matmul_keeps_rows_and_columns_apart_and_an_infinity_at_the_end(
    gpu_page: GpuPage, m: int, n: int, k: int
) -> None:
    a, b = np.ones((m, k), np.float32), np.ones((k, n), np.float32)
    a[0, -1] = np.inf
    a[2, 0] = np.nan
    b[-1, 3] = np.inf
    for name, out in by_every_plan(gpu_page, ops.matmul, (a, b)).items():
        assert (out[0] == np.inf).all(), name
        assert (out[1, 0], out[1, n - 1], out[1, 3]) == (k, k, np.inf), name
        assert np.isnan(out[2]).all(), name


def test_a_softmax_of_negative_infinities_is_nan_and_its_neighbour_is_not(gpu_page: GpuPage) -> None:
    x = np.full((2, 70), -np.inf, np.float32)
    x[1, 5] = 1
    for name, out in by_every_plan(gpu_page, ops.softmax, (x,)).items():
        assert np.isnan(out[0]).all(), name
        assert out[1].sum() == 1, name


def test_an_argmax_among_nans_stays_within_the_array(gpu_page: GpuPage) -> None:
    for x in (np.full(3000, np.nan, np.float32), np.where(np.arange(3000) % 2, np.float32(np.nan), np.float32(1))):
        for name, out in by_every_plan(gpu_page, ops.argmax, (x,)).items():
            assert 0 <= out[0] < 3000, name


def test_positions_outside_the_table_take_its_nearest_row(gpu_page: GpuPage) -> None:
    x = np.arange(1, 17, dtype=np.float32).reshape(4, 1, 4)
    table = ops.rope_table(5, 4, base=1e4)
    positions = np.array([-1, 5, 2**31 - 1, -(2**31)], np.int32)
    want = ops.rope(x, np.array([0, 4, 4, 0], np.int32), table, pairs="half")
    for name, out in by_every_plan(gpu_page, ops.rope, (x, positions, table), pairs="half").items():
        np.testing.assert_allclose(out, want, rtol=1e-5, err_msg=name)
