"""Writes moe_ops.npz: routing of PyTorch and a block of transformers' Qwen3-MoE with small random weights. Needs those
two; the tests do not.

    python tests/goldens/moe_ops.py        # torch 2.13.0+cpu, transformers 5.24.0

Everything is computed in float64 from float32 inputs and narrowed once, except the block's softmax, which transformers
takes in float32. Names are `router.<what>` and `moe_block.<what>`.
"""

from importlib.metadata import version
from pathlib import Path

import numpy as np
import torch
from transformers import Qwen3MoeConfig
from transformers.models.qwen3_moe.modeling_qwen3_moe import Qwen3MoeSparseMoeBlock

torch.manual_seed(5)
found: dict[str, np.ndarray] = {}

logits = torch.randn(9, 8)  # no two are equal, so topk has one answer
gates, experts = torch.topk(torch.softmax(logits.double(), -1), 3)
found["router.logits"], found["router.expert"] = logits.numpy(), experts.int().numpy()
found["router.plain"] = gates.float().numpy()
found["router.normalized"] = (gates / gates.sum(-1, keepdim=True)).float().numpy()

HIDDEN, FFN, EXPERTS, TOP_K, TOKENS = 32, 16, 6, 3, 21
config = Qwen3MoeConfig(
    hidden_size=HIDDEN,
    moe_intermediate_size=FFN,
    num_experts=EXPERTS,
    num_experts_per_tok=TOP_K,
    norm_topk_prob=True,
    hidden_act="silu",
)
config._experts_implementation = "eager"
block = Qwen3MoeSparseMoeBlock(config)
with torch.no_grad():
    for parameter in block.parameters():
        parameter.copy_(torch.randn(parameter.shape) * parameter.shape[-1] ** -0.5)
x = torch.randn(1, TOKENS, HIDDEN)
names = {"gate.weight": "router", "experts.gate_up_proj": "gate_up", "experts.down_proj": "down"}
weights = dict(block.named_parameters())
assert weights.keys() == names.keys()
for name, short in names.items():
    found[f"moe_block.{short}"] = weights[name].detach().float().numpy()
with torch.no_grad():
    out = block.double()(x.double())
found["moe_block.x"] = x[0].numpy()
found["moe_block.out"] = out[0].float().numpy()

found["versions"] = np.array([f"{name} {version(name)}" for name in ("torch", "transformers")])
np.savez_compressed(Path(__file__).with_suffix(".npz"), **found)
