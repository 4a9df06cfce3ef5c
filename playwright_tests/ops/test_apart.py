"""Quantised products where a comparison with a tolerance says nothing: infinities and NaNs stay in their rows, and
chunks of rows are put together as they were."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from playwright_tests.ops.every_plan import by_every_plan
from webxpu import ops
from webxpu.cases.case import agree, uniform
from webxpu.cases.matmul import Q4 as MATMUL_Q4
from webxpu.cases.matmul import Q8 as MATMUL_Q8
from webxpu.cases.matvec import FFN, Q4, Q8, q4_weight, q8_weight
from webxpu.gpu.op import spec as spec_of
from webxpu.host.gpu_page import GpuPage
from webxpu.quant.q4g128 import pack_q4
from webxpu.quant.q8 import pack_q8


def weight(op: str, n: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Codes of 1, and scales of 1 except for row 1, whose scales are NaN."""
    pack = pack_q4 if "q4" in op else pack_q8
    scale = np.ones((n, -(-k // 128) if "q4" in op else 1), np.float32)
    scale[1] = np.nan
    return pack(np.ones((n, k), np.int32)), scale if "q4" in op else scale[:, 0]


# K of whole loads, of half a block of 32, and past a word.
@pytest.mark.parametrize("k", [256, 48, 129, 5])
@pytest.mark.parametrize("op", ["matvec_q8", "matvec_q4g128"])
def test_a_matvec_keeps_scales_to_their_rows_and_an_infinity_at_the_end(gpu_page: GpuPage, op: str, k: int) -> None:
    x = np.ones(k, np.float32)
    for name, out in by_every_plan(gpu_page, getattr(ops, op), (*weight(op, 5, k), x)).items():
        assert out[[0, 2, 3, 4]].tolist() == [k] * 4, name
        assert np.isnan(out[1]), name
    x[-1] = np.inf
    for name, out in by_every_plan(gpu_page, getattr(ops, op), (*weight(op, 5, k), x)).items():
        assert out[[0, 2, 3, 4]].tolist() == [np.inf] * 4, name


@pytest.mark.parametrize("k", [48, 5])
def test_a_fused_layer_keeps_scales_to_their_rows(gpu_page: GpuPage, k: int) -> None:
    words, scale = weight("q8", 5, k)
    x, ones = np.ones(k, np.float32), np.ones(5, np.float32)
    for name, out in by_every_plan(gpu_page, ops.matvec_q8_residual, (words, scale, x, ones)).items():
        assert (out[[0, 2, 3, 4]].tolist(), np.isnan(out[1])) == ([k + 1] * 4, True), name
    want = k / (1 + np.exp(-np.float64(k))) * k
    for args in ((words, scale, words, ones, x), (words, ones, words, scale, x)):
        for name, out in by_every_plan(gpu_page, ops.matvec_q8_ffn, args).items():
            np.testing.assert_allclose(out[[0, 2, 3, 4]], [want] * 4, rtol=1e-5, err_msg=name)
            assert np.isnan(out[1]), name


@pytest.mark.parametrize("k", [96, 129])
@pytest.mark.parametrize("op", ["matmul_q8", "matmul_q4g128"])
def test_a_product_keeps_scales_to_their_features_and_rows_to_themselves(gpu_page: GpuPage, op: str, k: int) -> None:
    a = np.ones((3, k), np.float32)
    a[0, -1], a[2, 0] = np.inf, np.nan
    for name, out in by_every_plan(gpu_page, getattr(ops, op), (a, *weight(op, 5, k))).items():
        assert out[0, [0, 2, 3, 4]].tolist() == [np.inf] * 4, name
        assert out[1, [0, 2, 3, 4]].tolist() == [k] * 4, name
        assert np.isnan(out[:, 1]).all(), name
        assert np.isnan(out[2]).all(), name


N, K = 300, 256
X = uniform((K,), seed=2)
A = uniform((N, K), seed=3)


@pytest.mark.parametrize(
    ("op", "args", "tolerance"),
    [
        ("matvec", (uniform((N, K), seed=1), X), Q8),
        ("matvec_q8", (*q8_weight(N, K), X), Q8),
        ("matvec_q8_ffn", (*q8_weight(N, K), *q8_weight(N, K, 2.0), X * np.float32(0.02)), FFN),
        ("matvec_q8_residual", (*q8_weight(N, K), X, uniform((N,), seed=4)), Q8),
        ("matvec_q4g128", (*q4_weight(N, K), X), Q4),
        ("matmul", (A, uniform((K, 68), seed=5)), MATMUL_Q8),
        ("linear", (A, uniform((68, K), seed=5)), MATMUL_Q8),
        ("matmul_q8", (A, *q8_weight(12, K)), MATMUL_Q8),
        ("matmul_q4g128", (A, *q4_weight(12, K)), MATMUL_Q4),
    ],
)
def test_chunks_of_rows_make_the_whole(gpu_page: GpuPage, op: str, args: tuple[Any, ...], tolerance: Any) -> None:
    limit = 2 * 64 * (K if "_" in op else 4 * K)  # a few chunks, the last of them short
    gpu = replace(gpu_page.gpu, limits={**gpu_page.gpu.limits, "maxStorageBufferBindingSize": limit})
    function = getattr(ops, op)
    _, plan = function.plan_of(gpu, *map(spec_of, args))
    assert len(plan.dispatches) > 1
    (result,) = gpu_page.run(function, args, {}, [plan])
    assert agree(result.outputs[0], function(*args), tolerance) is None
