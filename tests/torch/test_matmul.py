"""matmul, linear and the quantised products against torch, at random sizes."""

import numpy as np
import torch
from torch.nn import functional

from webxpu import ops
from webxpu.quant.q4g128 import pack_q4, quantize_q4g128
from webxpu.quant.q8 import pack_q8, quantize_rows

SIZES = 60


def sizes(rng):
    for _ in range(SIZES):
        yield int(rng.integers(1, 40)), int(rng.integers(1, 40)), int(rng.integers(0, 400))


def values(rng, *shape):
    return rng.standard_normal(shape).astype(np.float32)


def wide(array):
    return torch.from_numpy(array).double()


def agrees(ours, theirs):
    np.testing.assert_allclose(ours, theirs.float().numpy(), rtol=1e-6, atol=1e-7)


def test_matmul_is_torchs_mm(rng):
    for m, n, k in sizes(rng):
        a, b = values(rng, m, k), values(rng, k, n)
        agrees(ops.matmul(a, b), torch.mm(wide(a), wide(b)))


def test_linear_is_torchs_linear(rng):
    for m, n, k in sizes(rng):
        x, weight = values(rng, m, k), values(rng, n, k)
        agrees(ops.linear(x, weight), functional.linear(wide(x), wide(weight)))


def test_float16_is_torchs_product_in_float64_rounded_to_float16(rng):
    for m, n, k in sizes(rng):
        a, b = values(rng, m, k).astype(np.float16), values(rng, k, n).astype(np.float16)
        want = torch.mm(wide(a), wide(b)).numpy().astype(np.float16)  # torch goes by way of float32
        np.testing.assert_array_equal(ops.matmul(a, b), want)
        np.testing.assert_array_equal(ops.linear(a, np.ascontiguousarray(b.T)), want)


def test_q8_is_torchs_linear_of_float32_codes_times_scales(rng):
    for m, n, k in sizes(rng):
        a = values(rng, m, k)
        codes, scales = quantize_rows(values(rng, n, k))
        weight = torch.from_numpy(codes).float() * torch.from_numpy(scales)[:, None]
        agrees(ops.matmul_q8(a, pack_q8(codes), scales), functional.linear(wide(a), weight.double()))


def test_q4g128_is_torchs_linear_of_float32_codes_times_the_scales_of_their_groups(rng):
    for m, n, k in sizes(rng):
        a = values(rng, m, k)
        codes, scales = quantize_q4g128(values(rng, n, k))
        weight = torch.from_numpy(codes).float() * torch.from_numpy(scales).repeat_interleave(128, dim=1)[:, :k]
        agrees(ops.matmul_q4g128(a, pack_q4(codes), scales), functional.linear(wide(a), weight.double()))
