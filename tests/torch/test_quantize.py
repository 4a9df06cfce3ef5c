"""quantize against torch in float64: torch rounds to even where this goes up, so ties are set apart and counted."""

import numpy as np
import torch

from webxpu import ops


def test_random_rows_are_torchs_round_but_for_ties(rng):
    ties = 0
    for _ in range(100):
        x = rng.standard_normal((int(rng.integers(1, 6)), int(rng.integers(1, 300))), np.float32)
        if rng.integers(2):
            x = np.round(x * 32) / 32  # every other one lies on a tie
            x[:, 0] = 127 / 16
        wide = torch.from_numpy(x).double()
        largest = wide.abs().amax(1, keepdim=True)
        v = wide * (127 / largest)
        codes, scales = ops.quantize(x)
        tie = ((v - v.floor()) == 0.5).numpy()
        ties += int(tie.sum())
        np.testing.assert_array_equal(codes[~tie], torch.round(v).numpy()[~tie])
        np.testing.assert_array_equal(codes[tie], (v + 0.5).numpy()[tie])
        np.testing.assert_array_equal(scales, (largest / 127).float().numpy()[:, 0])
    assert ties > 100
