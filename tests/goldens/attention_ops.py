"""Writes attention_ops.npz: what PyTorch makes of small inputs. Needs torch; the tests do not.

    python tests/goldens/attention_ops.py        # torch 2.13.0+cpu

Everything is computed in float64 from float32 inputs and narrowed once. Names are `<op>.<what>`. The slopes are
those of get_slopes in the paper's code: fairseq/models/transformer.py of
https://github.com/ofirpress/attention_with_linear_biases
"""

import math
from importlib.metadata import version
from pathlib import Path

import numpy as np
import torch
from torch.nn.attention.bias import causal_lower_right
from torch.nn.functional import scaled_dot_product_attention

found: dict[str, np.ndarray] = {}
LOWEST = torch.finfo(torch.float32).min


def keep(name, value):
    array = value.numpy() if isinstance(value, torch.Tensor) else np.asarray(value)
    found[name] = array.astype(np.float32) if array.dtype == np.float64 else array
    return value


def wave(shape, k, phase=0.0, amp=1.5):
    values = np.sin(np.arange(math.prod(shape)) * k + phase) * amp
    return torch.from_numpy(values.astype(np.float32)).reshape(shape)


def attend(name, q, k, v, **options):
    """The output, and the probabilities as the output for an identity of values."""
    keep(f"{name}.out", scaled_dot_product_attention(q, k, v, **options))
    identity = torch.eye(k.shape[2], dtype=torch.float64).expand(*k.shape[:2], -1, -1)
    keep(f"{name}.probs", scaled_dot_product_attention(q, k, identity, **options))


q = keep("attention.q", wave((2, 2, 3, 5), 0.37)).double()
k = keep("attention.k", wave((2, 2, 4, 5), 0.11, 0.5)).double()
v = keep("attention.v", wave((2, 2, 4, 3), 0.23, 1.25)).double()
attend("attention.plain", q, k, v)
attend("attention.causal", q, k, v, is_causal=True)
attend("attention.lower_right", q, k, v, attn_mask=causal_lower_right(3, 4))
attend("attention.scale", q, k, v, scale=0.25)
padding = keep("attention.keep", torch.tensor([[1, 1, 0, 0], [1, 0, 1, 1]], dtype=torch.int32)).bool()
attend("attention.padding", q, k, v, attn_mask=padding[:, None, None, :])
for shape in [(2, 1, 1, 4), (2, 2, 3, 4), (1, 2, 3, 4), (2, 2, 1, 4), (2, 1, 3, 4)]:
    name = "attention.mask-" + ".".join(map(str, shape))
    mask = keep(name, wave(shape, 0.53, 0.2))
    attend(name, q, k, v, attn_mask=mask.double())
dead = wave((2, 1, 3, 4), 0.53, 0.2).double()
dead[0] = -torch.inf
dead[1, 0, 1] = LOWEST
keep("attention.dead", dead.float())
attend("attention.dead", q, k, v, attn_mask=dead)

q = keep("gqa.q", wave((2, 6, 3, 5), 0.37)).double()
for g in (1, 2, 3, 6):
    k = keep(f"gqa.k{g}", wave((2, g, 4, 5), 0.11, 0.5)).double()
    v = keep(f"gqa.v{g}", wave((2, g, 4, 3), 0.23, 1.25)).double()
    attend(f"gqa.{g}", q, k, v, is_causal=True, enable_gqa=True)


def get_slopes(n):
    def get_slopes_power_of_2(n):
        start = 2 ** (-(2 ** -(math.log2(n) - 3)))
        return [start * start**i for i in range(n)]

    if math.log2(n).is_integer():
        return get_slopes_power_of_2(n)
    below = 2 ** math.floor(math.log2(n))
    return get_slopes_power_of_2(below) + get_slopes(2 * below)[0::2][: n - below]


for n in (1, 2, 3, 8, 9, 12, 15, 16, 40, 255, 256, 257, 300):
    keep(f"alibi.slopes{n}", np.array(get_slopes(n)))

keep("versions", np.array([f"torch {version('torch')}"]))
np.savez_compressed(Path(__file__).with_suffix(".npz"), **found)
