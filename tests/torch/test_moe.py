"""The routing to experts against torch.topk, and the way to experts and back against a loop over experts in torch."""

import numpy as np
import torch

from webxpu import ops

SHAPES = 100


def test_random_routings_are_torchs(rng):
    for _ in range(SHAPES):
        t, e = int(rng.integers(1, 40)), int(rng.integers(1, 130))
        k = int(rng.integers(1, e + 1))
        logits = np.stack([rng.permutation(4 * e)[:e] for _ in range(t)]).astype(np.float32) / 3  # no two are equal
        gates, experts = torch.topk(torch.softmax(torch.from_numpy(logits).double(), -1), k)
        for normalize in (False, True):
            expert, gate = ops.router(logits, k=k, normalize=normalize)
            np.testing.assert_array_equal(expert, experts)
            want = gates / gates.sum(-1, keepdim=True) if normalize else gates
            np.testing.assert_allclose(gate, want, rtol=1e-6, atol=1e-38)


def test_random_ties_are_those_of_a_stable_sort(rng):
    for _ in range(SHAPES):
        logits = rng.integers(0, 4, (int(rng.integers(1, 20)), int(rng.integers(1, 40)))).astype(np.float32)
        ranked = torch.sort(torch.from_numpy(logits), dim=-1, descending=True, stable=True).indices
        k = int(rng.integers(1, logits.shape[1] + 1))
        np.testing.assert_array_equal(ops.router(logits, k=k, normalize=False)[0], ranked[:, :k])


def test_random_ways_to_experts_and_back_are_a_loop_over_the_seated(rng):
    for _ in range(SHAPES):
        t, e, d, capacity = (int(rng.integers(1, n)) for n in (60, 12, 9, 30))
        k = int(rng.integers(1, 5))
        x, gate = rng.standard_normal((t, d), np.float32), rng.random((t, k), np.float32)
        expert = rng.integers(-1, e + 1, (t, k)).astype(np.int32)
        weight = torch.from_numpy(rng.standard_normal((e, d, d), np.float32)).double()
        seats: dict[int, int] = {}
        want = torch.zeros(t, d).double()
        dropped = np.zeros((t, k), bool)
        for rank in range(k):
            for token in range(t):
                chosen = int(expert[token, rank])
                seats[chosen] = seats.get(chosen, 0) + 1
                dropped[token, rank] = not 0 <= chosen < e or seats[chosen] > capacity
                if not dropped[token, rank]:
                    row = torch.from_numpy(x[token]).double() @ weight[chosen]
                    want[token] += float(gate[token, rank]) * row
        buffer, pos = ops.moe_dispatch(x, expert, experts=e, capacity=capacity)
        np.testing.assert_array_equal(pos < 0, dropped)
        y = torch.bmm(torch.from_numpy(buffer).double(), weight).float().numpy()
        np.testing.assert_allclose(ops.moe_gather(y, expert, pos, gate), want, rtol=1e-5, atol=1e-5)
