"""legendre and pope against torch.special."""

import numpy as np
import torch

from webxpu import ops


def test_random_orders_and_arguments_agree_with_torch(rng):
    for n in rng.integers(0, 300, 60):
        x = rng.uniform(-1, 1, 20)
        want = torch.special.legendre_polynomial_p(torch.from_numpy(x), int(n))
        np.testing.assert_allclose(ops.legendre(int(n), x), want.numpy(), atol=1e-12)


def test_random_tables_agree_with_torch(rng):
    for _ in range(30):
        length, width, first = (int(n) for n in rng.integers([1, 1, 0], [30, 70, 40]))
        orders = torch.arange(first, first + length, dtype=torch.float64)[:, None]
        x = -1 + 2 * torch.arange(width, dtype=torch.float64) / width
        want = torch.special.legendre_polynomial_p(x, orders)
        np.testing.assert_allclose(ops.pope(length, width, pos_offset=first), want.numpy(), atol=1e-7)
