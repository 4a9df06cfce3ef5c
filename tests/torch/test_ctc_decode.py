"""ctc_decode against torch's argmax and unique_consecutive on random scores."""

import numpy as np
import torch

from webxpu import ops


def test_it_is_torchs_best_path_at_random_sizes(rng):
    for _ in range(100):
        b, t, c = (int(n) for n in rng.integers(1, [5, 60, 12]))
        scores = rng.standard_normal((b, t, c), np.float32)
        blank = int(rng.integers(-1, c + 1))
        tokens, lengths = ops.ctc_decode(scores, blank=blank)
        for i, path in enumerate(torch.from_numpy(scores).argmax(-1)):
            kept = torch.unique_consecutive(path)
            want = kept[kept != blank].tolist()
            assert tokens[i].tolist() == want + [-1] * (t - len(want)), (b, t, c, blank)
            assert lengths[i] == len(want)
