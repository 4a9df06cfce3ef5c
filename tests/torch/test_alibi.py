"""alibi inside torch's attention: the paper's code adds slope * j, which a softmax cannot tell from slope * (j - i)."""

import numpy as np
import torch
from torch.nn.functional import scaled_dot_product_attention

from webxpu import ops


def test_it_is_the_papers_bias_after_a_softmax(rng):
    for _ in range(60):
        heads, length, s = (int(n) for n in rng.integers(1, [20, 9, 30]))
        offset = int(rng.integers(0, 30))
        q, k, v = (rng.normal(size=(2, heads, n, 8)).astype(np.float32) for n in (length, s, s))
        slopes = torch.from_numpy(ops.alibi_slopes(heads)).double()
        bias = slopes[:, None, None] * torch.arange(s).double()
        arrays = (torch.from_numpy(a).double() for a in (q, k, v))
        want = scaled_dot_product_attention(*arrays, attn_mask=bias.expand(heads, length, s)[None]).numpy()
        mask = ops.alibi(np.zeros((heads, length, s), np.float32), pos_offset=offset)[None]
        np.testing.assert_allclose(ops.flash_attention(q, k, v, mask), want, rtol=1e-4, atol=5e-6)


def test_each_element_is_the_formula(rng):
    for _ in range(60):
        heads, m, n = (int(n) for n in rng.integers(1, [20, 9, 30]))
        offset = int(rng.integers(0, 30))
        scores, slopes = (rng.normal(size=size).astype(np.float32) for size in ((heads, m, n), heads))
        distance = torch.arange(n)[None, :] - (torch.arange(m)[:, None] + offset)
        want = torch.from_numpy(scores).double() + torch.from_numpy(slopes).double()[:, None, None] * distance
        np.testing.assert_allclose(ops.alibi(scores, slopes, offset), want.numpy(), rtol=1e-6, atol=1e-6)
