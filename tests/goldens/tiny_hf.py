"""Makes tiny_hf/ and tiny_hf.npz: folders as Hugging Face keeps them, with transformers' logits and greedy ids.

Run with torch 2.13, transformers 5.24 and safetensors 0.8: `python tests/goldens/tiny_hf.py`. The suite needs none of
them. Seeded random weights, rounded to the type of the folder; the logits are computed in float64 from the folder's.
Between them the folders have each type, one file and two, a head of its own and the embedding's, head_dim that is and
is not hidden / heads, and both model types.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import torch
from transformers import LlamaConfig, LlamaForCausalLM, MistralConfig, MistralForCausalLM

HERE = Path(__file__).parent
PROMPT_TOKENS, DECODE_TOKENS = 20, 12
SIZES = {
    "vocab_size": 96, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "max_position_embeddings": 64, "initializer_range": 0.25, "attn_implementation": "eager",
}  # fmt: skip
MODELS = {
    "f32": (
        LlamaForCausalLM,
        LlamaConfig(**SIZES, head_dim=16, rms_norm_eps=1e-5, tie_word_embeddings=False),
        torch.float32,
        "64KB",
    ),
    "f16": (
        LlamaForCausalLM,
        LlamaConfig(
            **SIZES,
            rms_norm_eps=1e-6,
            tie_word_embeddings=True,
            rope_parameters={"rope_theta": 500.0, "rope_type": "default"},
        ),
        torch.float16,
        "1MB",
    ),
    "bf16": (
        MistralForCausalLM,
        MistralConfig(**SIZES, head_dim=16, rms_norm_eps=1e-5, tie_word_embeddings=False, sliding_window=None),
        torch.bfloat16,
        "1MB",
    ),
}


def main() -> None:
    shutil.rmtree(HERE / "tiny_hf", ignore_errors=True)
    golden: dict[str, np.ndarray] = {}
    for number, (name, (kind, config, dtype, shard)) in enumerate(MODELS.items()):
        torch.manual_seed(number)
        model = kind(config).eval()
        for module in model.modules():
            if type(module).__name__.endswith("RMSNorm"):
                torch.nn.init.normal_(module.weight, 1.0, 0.2)
        model = model.to(dtype)
        model.save_pretrained(HERE / "tiny_hf" / name, max_shard_size=shard)
        (HERE / "tiny_hf" / name / "generation_config.json").unlink()  # nothing reads it
        # Read again, because `to(float16)` rounds the frequencies of rope too.
        model = kind.from_pretrained(HERE / "tiny_hf" / name, dtype=torch.float64, attn_implementation="eager").eval()
        ids = torch.randint(0, config.vocab_size, (PROMPT_TOKENS,)).tolist()
        prompt = len(ids)
        with torch.no_grad():
            for _ in range(DECODE_TOKENS):
                ids.append(int(model(torch.tensor([ids])).logits[0, -1].argmax()))
            logits = model(torch.tensor([ids[:-1]])).logits[0, prompt - 1 :].numpy()
        ranked = np.sort(logits, axis=1)
        margin = (ranked[:, -1] - ranked[:, -2]).min()
        print(name, "least margin", margin, "largest", np.abs(logits).max(), ids[prompt:])
        golden[f"{name}.prompt"] = np.array(ids[:prompt], np.int32)
        golden[f"{name}.greedy"] = np.array(ids[prompt:], np.int32)
        golden[f"{name}.logits"] = logits.astype(np.float32)
    np.savez_compressed(HERE / "tiny_hf.npz", **golden)


if __name__ == "__main__":
    main()
