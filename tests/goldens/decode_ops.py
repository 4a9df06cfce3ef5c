"""Writes decode_ops.npz: what PyTorch and transformers make of small inputs. Needs those two; the tests do not.

    python tests/goldens/decode_ops.py       # torch 2.13.0+cpu, transformers 5.24.0

Everything is computed in float64 from float32 inputs and narrowed once. Names are `<op>.<what>`.
"""

from importlib.metadata import version
from pathlib import Path

import numpy as np
import torch
from torch.nn import functional
from transformers import MinPLogitsWarper, TemperatureLogitsWarper, TopKLogitsWarper, TopPLogitsWarper
from transformers.models.llama.modeling_llama import apply_rotary_pos_emb
from transformers.models.qwen3.modeling_qwen3 import Qwen3RMSNorm

torch.manual_seed(11)
found: dict[str, np.ndarray] = {}


def keep(name, value):
    array = value.numpy() if isinstance(value, torch.Tensor) else np.asarray(value)
    found[name] = array.astype(np.float32) if array.dtype == np.float64 else array
    return value


def random(name, *shape):
    return keep(name, torch.randn(*shape)).double()


# Attention: rows at positions 67 to 71 of 72 keys, six query heads on two kv heads.
q, k, v = random("attend.q", 5, 6, 8), random("attend.k", 72, 2, 8), random("attend.v", 72, 2, 8)
mask = torch.ones(5, 72, dtype=torch.bool).tril(67)
heads_first = [t.transpose(0, 1)[None] for t in (q, k, v)]
out = functional.scaled_dot_product_attention(*heads_first, attn_mask=mask, enable_gqa=True)
keep("attend.out", out[0].transpose(0, 1).reshape(5, 48))
out = functional.scaled_dot_product_attention(*heads_first, attn_mask=mask, enable_gqa=True, scale=0.9)
keep("attend.scaled", out[0].transpose(0, 1).reshape(5, 48))
# A sliding window as transformers masks it: a key counts if it is less than `window` positions back.
for window in (1, 10, 70):
    near = mask & torch.ones(5, 72, dtype=torch.bool).triu(68 - window)
    out = functional.scaled_dot_product_attention(*heads_first, attn_mask=near, enable_gqa=True)
    keep(f"attend.window_{window}", out[0].transpose(0, 1).reshape(5, 48))

# The start of a layer: four query heads on two kv heads of width 6, rows at positions 9 to 11.
x, gain, weight = random("layer.x", 3, 12), random("layer.gain", 12), random("layer.weight", 48, 12)
qkv_weight = weight
normed = functional.rms_norm(x, (12,), eps=1e-5) * gain
qkv = functional.linear(normed, weight).reshape(3, 8, 6)
angles = torch.arange(9, 12).double()[:, None] * 100.0 ** (-torch.arange(3).double() * 2 / 6)
cos, sin = (torch.cat([f(angles), f(angles)], -1)[None] for f in (torch.cos, torch.sin))
turned = apply_rotary_pos_emb(qkv[:, :4].transpose(0, 1)[None], qkv[:, 4:6].transpose(0, 1)[None], cos, sin)
for name, value in zip(("q", "k"), turned, strict=True):
    keep(f"layer.half.{name}", value[0].transpose(0, 1))
complex_angles = torch.polar(torch.ones_like(angles), angles)[:, None]
pairs = torch.view_as_complex(qkv[:, :6].reshape(3, 6, 3, 2).contiguous())
turned = torch.view_as_real(pairs * complex_angles).reshape(3, 6, 6)
keep("layer.adjacent.q", turned[:, :4])
keep("layer.adjacent.k", turned[:, 4:])
keep("layer.v", qkv[:, 6:])

weight = random("gate_up.weight", 14, 12)
gate, up = functional.linear(normed, weight).split(7, -1)
for kind in ("silu", "gelu"):
    keep(f"gate_up.{kind}", getattr(functional, kind)(gate) * up)
keep("gate_up.gelu_tanh", functional.gelu(gate, approximate="tanh") * up)

weight = random("head.weight", 130, 12)
keep("head.logits", functional.linear(normed, weight))

weight, residual = random("project.weight", 9, 12), random("project.residual", 3, 9)
keep("project.out", residual + functional.linear(x, weight))

# Which tokens the processors leave, each alone and after the temperature.
logits = random("filters.logits", 500)[None] * 3
found["filters.logits"] *= 3
warmers = {
    "top_k_1": [TopKLogitsWarper(1)],
    "top_k_7": [TopKLogitsWarper(7)],
    "top_p_0.1": [TopPLogitsWarper(0.1)],
    "top_p_0.9": [TopPLogitsWarper(0.9)],
    "min_p_0.05": [MinPLogitsWarper(0.05)],
    "min_p_1.0": [MinPLogitsWarper(1.0)],
    "top_k_20_top_p_0.8": [TopKLogitsWarper(20), TopPLogitsWarper(0.8)],
}
for name, chain in warmers.items():
    scores = logits
    for warper in [TemperatureLogitsWarper(1.3), *chain]:
        scores = warper(None, scores)
    keep(f"filters.{name}", torch.isfinite(scores[0]).numpy())

# The start of a Qwen3 layer with a bias as Qwen2's: heads of q and k are normed before they turn.
bias, gains = random("layer.bias", 48), [random(f"layer.{name}_gain", 6) for name in "qk"]
qkv = (functional.linear(normed, qkv_weight, bias)).reshape(3, 8, 6)
heads = []
for gain, of in zip(gains, (qkv[:, :4], qkv[:, 4:6]), strict=True):
    norm = Qwen3RMSNorm(6, eps=1e-5).double()
    norm.weight.data = gain
    heads.append(norm(of).detach().transpose(0, 1)[None])
for name, value in zip(("q", "k"), apply_rotary_pos_emb(*heads, cos, sin), strict=True):
    keep(f"layer.normed.{name}", value[0].transpose(0, 1))
keep("layer.normed.unroped_k", heads[1][0].transpose(0, 1))
keep("layer.biased.v", qkv[:, 6:])

if __name__ == "__main__":
    found["versions"] = np.array([f"{n} {version(n)}" for n in ("torch", "transformers")])
    np.savez_compressed(Path(__file__).with_suffix(".npz"), **found)
