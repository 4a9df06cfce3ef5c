"""attention, flash_attention and grouped_attention against torch's attention, over random shapes, masks and options."""

import numpy as np
import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention

from webxpu import ops
from webxpu.ops._attention import Floats

SHAPES = 60


def random_call(rng: np.random.Generator, *, grouped: bool, least: int = 1):
    """Arrays of widths from `least` on and options of a call, and torch's output for them."""
    b, g, length, s, d, dv = (int(n) for n in rng.integers([1, 1, 1, 1, least, least], [4, 4, 12, 40, 20, 20]))
    h = g * int(rng.integers(1, 5)) if grouped else g
    shapes = [(b, h, length, d), (b, g, s, d), (b, g, s, dv)]
    q, k, v = (rng.normal(0, 1.5, n).astype(np.float32) for n in shapes)
    scale = float(rng.uniform(0.05, 1)) if rng.random() < 0.3 else None
    kind = rng.choice(["plain", "causal", "offset", "mask"])
    mask = offset = bias = None
    if kind in ("causal", "offset"):
        first = int(rng.integers(0, 40)) if kind == "offset" else 0
        offset = np.array([first], np.int32) if kind == "offset" else None
        seen = np.arange(s) <= np.arange(length)[:, None] + first
        bias = torch.from_numpy(seen)
    elif kind == "mask":
        full = np.array([b, h, length])
        shape = (*np.where(rng.random(3) < 0.5, 1, full).tolist(), s)
        mask = rng.normal(0, 2, shape).astype(np.float32)
        mask[rng.random(shape) < 0.3] = -np.inf
        if rng.random() < 0.5:
            mask[..., :1, :] = rng.choice([-np.inf, np.finfo(np.float32).min])
        bias = torch.from_numpy(mask).double()
    q_, k_, v_ = (torch.from_numpy(a).double() for a in (q, k, v))
    want = scaled_dot_product_attention(q_, k_, v_, attn_mask=bias, scale=scale, enable_gqa=grouped).numpy()
    options = {"causal": kind in ("causal", "offset"), "scale": scale}
    return (q, k, v, mask, offset), options, want


def near(got: Floats, want: np.ndarray) -> None:
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=2e-6)


@pytest.mark.parametrize("op", [ops.attention, ops.flash_attention], ids=["attention", "flash_attention"])
def test_heads_of_their_own(rng, op):
    for _ in range(SHAPES):
        args, options, want = random_call(rng, grouped=False)
        result = op(*args, **options)
        near(result[1] if isinstance(result, tuple) else result, want)


def test_grouped_heads(rng):
    for _ in range(SHAPES):
        args, options, want = random_call(rng, grouped=True)
        probs, out = ops.grouped_attention(*args, **options)
        near(out, want)
        tile = int(rng.integers(1, 50))
        near(ops.flash_attention(*args, **options, enable_gqa=True, tile=tile), want)
        sums = probs.sum(axis=-1)
        assert np.all((np.abs(sums - 1) < 1e-5) | (sums == 0))


def test_float16(rng):
    for _ in range(SHAPES):
        (q, k, v, *extra), options, _ = random_call(rng, grouped=True, least=2)
        halves = [a.astype(np.float16) for a in (q, k, v)]
        wide = [a.astype(np.float32) for a in halves]
        _, want = ops.grouped_attention(*wide, *extra, **options)
        out = ops.flash_attention(*halves, *extra, **options, enable_gqa=True)
        assert out.dtype == np.float16
        np.testing.assert_allclose(out, want, rtol=6e-4, atol=1e-6)
