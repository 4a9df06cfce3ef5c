"""rope and rope_axes against torch's complex product, and stretched frequencies against transformers', at random."""

import numpy as np
import pytest
import torch
from transformers import LlamaConfig
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

from webxpu import ops
from webxpu.ops.rope import frequencies

SHAPES = 60


def complex_product(x, angles):
    """Adjacent pairs of (L, H, D) turned by (L, D / 2)."""
    pairs = torch.view_as_complex(torch.from_numpy(x).double().unflatten(-1, (-1, 2)))
    turn = torch.polar(torch.ones(angles.shape).double(), torch.from_numpy(angles))
    return torch.view_as_real(pairs * turn[:, None]).flatten(-2).numpy()


def test_random_rotations_are_torchs(rng):
    for _ in range(SHAPES):
        length, h, d = (int(rng.integers(1, n)) for n in (9, 6, 66))
        d *= 2
        base = float(rng.choice([100.0, 1e4, 5e5, 1e7]))
        x = rng.standard_normal((length, h, d), np.float32)
        positions = rng.integers(-8000, 8000, length).astype(np.int32)
        angles = positions[:, None] * base ** (-2 * np.arange(d // 2) / d)
        adjacent = ops.rope(x, positions, pairs="adjacent", base=base)
        np.testing.assert_allclose(adjacent, complex_product(x, angles), atol=1e-6)
        split = np.stack(np.split(x, 2, axis=-1), axis=-1).reshape(x.shape)  # channels i and i + D / 2 side by side
        halves = complex_product(split, angles).reshape(length, h, d // 2, 2)
        half = ops.rope(x, positions, pairs="half", base=base)
        np.testing.assert_allclose(half, np.concatenate([halves[..., 0], halves[..., 1]], axis=-1), atol=1e-6)


def test_random_axes_are_torchs(rng):
    for _ in range(SHAPES):
        axes_dims = tuple(2 * int(n) for n in rng.integers(1, 20, int(rng.integers(1, 5))))
        x = rng.standard_normal((int(rng.integers(1, 7)), int(rng.integers(1, 4)), sum(axes_dims)), np.float32)
        positions = rng.uniform(-300, 300, (len(x), len(axes_dims))).astype(np.float32)
        angles = [positions[:, i : i + 1] * 256.0 ** (-2 * np.arange(d // 2) / d) for i, d in enumerate(axes_dims)]
        got = ops.rope_axes(x, positions, axes_dims=axes_dims, base=256.0)
        np.testing.assert_allclose(got, complex_product(x, np.concatenate(angles, axis=1)), atol=1e-6)


def transformers_frequencies(d, base, length, seq_len=None, **parameters):
    config = LlamaConfig(head_dim=d, max_position_embeddings=length, rope_parameters={"rope_theta": base, **parameters})
    found, gain = ROPE_INIT_FUNCTIONS[parameters["rope_type"]](config, torch.device("cpu"), seq_len)
    return found.numpy(), gain


@pytest.mark.parametrize("kind", ["yarn", "ntk", "llama3"])
def test_random_scalings_are_transformers(rng, kind):
    for _ in range(SHAPES):
        d, length = 2 * int(rng.integers(2, 80)), int(rng.integers(64, 40_000))
        base, factor = float(rng.choice([1e3, 1e4, 5e5])), float(rng.uniform(1, 40))
        gain = 1.0
        if kind == "yarn":
            fast, slow = float(rng.uniform(8, 64)), float(rng.uniform(0.2, 4))
            yarn = {"factor": factor, "beta_fast": fast, "beta_slow": slow}
            params = ops.rope_frequency_params(d, base=base, scaling=ops.YarnScaling(factor, length, fast, slow))
            got, gain = frequencies(d, params), params.attention_factor
            want = transformers_frequencies(
                d, base, length, rope_type="yarn", original_max_position_embeddings=length, **yarn
            )
        elif kind == "ntk":
            # Theirs follows the length: at twice of it factor * 2 - (factor - 1) is a static factor of factor + 1.
            got = frequencies(d, ops.rope_frequency_params(d, base=base, scaling=ops.NtkScaling(factor + 1)))
            want = transformers_frequencies(d, base, length, 2 * length, rope_type="dynamic", factor=factor)
        else:
            llama = {"factor": factor, "low_freq_factor": 1.0, "high_freq_factor": float(rng.uniform(2, 8))}
            factors = ops.llama3_freq_factors(d, base=base, original_context_length=length, **llama)
            got = frequencies(d, ops.rope_frequency_params(d, base=base)) / factors
            want = transformers_frequencies(
                d, base, length * 8, rope_type="llama3", original_max_position_embeddings=length, **llama
            )
        np.testing.assert_allclose(got, want[0], rtol=5e-6)
        np.testing.assert_allclose(gain, want[1], rtol=1e-7)
