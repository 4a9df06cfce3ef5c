"""Writes rope_ops.npz: transformers' stretched frequencies and rotations of several axes. Needs those two; the tests do
not.

    python tests/goldens/rope_ops.py        # torch 2.13.0+cpu, transformers 5.24.0

Frequencies are float32, as transformers computes them. Names are `rope.<what>` and `rope_axes.<what>`.
"""

from importlib.metadata import version
from pathlib import Path

import numpy as np
import torch
from transformers import LlamaConfig
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

found: dict[str, np.ndarray] = {}


def scaled(name, d, base, length, seq_len=None, **parameters):
    kind = parameters.pop("rope_type")
    config = LlamaConfig(
        head_dim=d,
        max_position_embeddings=length,
        rope_parameters={"rope_type": kind, "rope_theta": base, **parameters},
    )
    frequencies, gain = ROPE_INIT_FUNCTIONS[kind](config, torch.device("cpu"), seq_len)
    found[f"rope.{name}.frequencies"] = frequencies.numpy()
    found[f"rope.{name}.gain"] = np.float32(gain)


YARN = {"rope_type": "yarn", "factor": 8.0}
scaled("yarn-16", 16, 1e4, 64, original_max_position_embeddings=64, **YARN)
scaled("yarn-128", 128, 1e4, 4096, original_max_position_embeddings=4096, **YARN)
scaled("yarn-2048", 128, 1e4, 2048, original_max_position_embeddings=2048, **YARN)
scaled("yarn-slow", 16, 1e4, 64, original_max_position_embeddings=64, beta_slow=0.25, **YARN)
scaled("yarn-6", 16, 1e4, 6, original_max_position_embeddings=6, **YARN)
scaled("yarn-gain", 16, 1e4, 64, original_max_position_embeddings=64, attention_factor=1.5, **YARN)
# Dynamic NTK at the length at which its base is that of a static factor of 8: factor * seq / length - (factor - 1).
scaled("ntk-16", 16, 1e4, 64, seq_len=120, rope_type="dynamic", factor=8.0)
LLAMA3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0}
scaled("llama3", 128, 5e5, 131_072, original_max_position_embeddings=8192, **LLAMA3)

# Z-Image's rotation: every axis turns its own block, by complex numbers of adjacent channels.
torch.manual_seed(11)
dims = [32, 48, 48]
x, positions = torch.randn(3, 2, 128), torch.tensor([[1, 20, 31], [0, -1.5, 5], [300, 0.25, -7]])
angles = [positions[:, i : i + 1].double() * 256.0 ** (-torch.arange(0, d, 2).double() / d) for i, d in enumerate(dims)]
turn = torch.polar(torch.ones(3, 64).double(), torch.cat(angles, -1))[:, None]
turned = torch.view_as_real(torch.view_as_complex(x.double().reshape(3, 2, 64, 2)) * turn).reshape(3, 2, 128)
found |= {"rope_axes.x": x.numpy(), "rope_axes.positions": positions.numpy(), "rope_axes.out": turned.float().numpy()}

found["versions"] = np.array([f"{name} {version(name)}" for name in ("torch", "transformers")])
np.savez_compressed(Path(__file__).with_suffix(".npz"), **found)
