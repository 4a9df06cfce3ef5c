"""matvec and its quantised forms against torch.mv, at random sizes."""

import numpy as np
import pytest
import torch
from torch.nn import functional

from webxpu import ops
from webxpu.quant.q4g128 import pack_q4, quantize_q4g128
from webxpu.quant.q8 import pack_q8, quantize_rows

SIZES = 60


def sizes(rng):
    for _ in range(SIZES):
        yield int(rng.integers(1, 40)), int(rng.integers(0, 700))


def values(rng, *shape):
    return rng.standard_normal(shape).astype(np.float32)


def wide(array):
    return torch.from_numpy(array).double()


def agrees(ours, theirs):
    np.testing.assert_allclose(ours, theirs.numpy(), rtol=1e-6, atol=1e-7)


def test_it_is_torchs_mv(rng):
    for n, k in sizes(rng):
        weight, x = values(rng, n, k), values(rng, k)
        agrees(ops.matvec(weight, x), torch.mv(wide(weight), wide(x)).float())


def test_float16_is_torchs_mv_in_float64_rounded_to_float16(rng):
    for n, k in sizes(rng):
        weight, x = values(rng, n, k).astype(np.float16), values(rng, k).astype(np.float16)
        want = torch.mv(wide(weight), wide(x)).numpy().astype(np.float16)  # torch goes by way of float32
        np.testing.assert_array_equal(ops.matvec(weight, x), want)


def q8(rng, n, k):
    """A weight in 8 bits: words and scales, and what torch makes of codes and scales."""
    codes, scales = quantize_rows(values(rng, n, k))
    return (pack_q8(codes), scales), wide(codes) * wide(scales)[:, None]


def test_q8_is_torchs_mv_of_codes_times_scales(rng):
    for n, k in sizes(rng):
        (weight, want), x = q8(rng, n, k), values(rng, k)
        agrees(ops.matvec_q8(*weight, x), torch.mv(want, wide(x)).float())


def test_q8_ffn_is_torchs_silu_of_the_gate_times_up(rng):
    for n, k in sizes(rng):
        (gate, wide_gate), (up, wide_up), x = q8(rng, n, k), q8(rng, n, k), values(rng, k) / 20
        first = functional.silu(torch.mv(wide_gate, wide(x)))
        agrees(ops.matvec_q8_ffn(*gate, *up, x), (first * torch.mv(wide_up, wide(x))).float())


def test_q8_residual_is_torchs_addmv(rng):
    for n, k in sizes(rng):
        (weight, want), x, residual = q8(rng, n, k), values(rng, k), values(rng, n)
        ours = ops.matvec_q8_residual(*weight, x, residual)
        np.testing.assert_allclose(ours, torch.addmv(wide(residual), want, wide(x)).numpy(), rtol=1e-6, atol=1e-5)


def test_q4g128_is_torchs_mv_of_codes_times_the_scales_of_their_groups(rng):
    for n, k in sizes(rng):
        codes, scales = quantize_q4g128(values(rng, n, k))
        weight = wide(codes) * wide(scales).repeat_interleave(128, dim=1)[:, :k]
        x = values(rng, k)
        agrees(ops.matvec_q4g128(pack_q4(codes), scales, x), torch.mv(weight, wide(x)).float())


@pytest.mark.parametrize(("quantize", "most"), [(quantize_rows, 127), (quantize_q4g128, 7)])
def test_codes_are_torchs_nearest_where_no_tie_is_near(rng, quantize, most):
    for n, _ in sizes(rng):
        weight = values(rng, n, 128)  # one group, so that both formats have a scale a row
        codes, scales = quantize(weight)
        exact = wide(weight) * (most / wide(weight).abs().amax(dim=1, keepdim=True))
        clear = ((exact - exact.floor()) - 0.5).abs() > 1e-9
        assert (torch.from_numpy(codes)[clear] == exact.round()[clear]).all()
        np.testing.assert_array_equal(scales.reshape(-1), (wide(weight).abs().amax(dim=1) / most).float().numpy())
