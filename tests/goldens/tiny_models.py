"""Makes tiny_models.npz: what transformers computes with the models of tests/llm/tiny_models.py.

Run with torch 2.13, transformers 5.24, gguf 0.19 and libgguf 0.2.2: `python -m tests.goldens.tiny_models`. The suite
needs neither torch nor transformers: it makes the same weights. The logits are computed in float64 from the float32
weights that a file of each type holds.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import torch
from transformers import AutoModelForCausalLM

from tests.llm.tiny_models import DECODE_TOKENS, GOLDENS, MODELS, VARIANTS, prompt, rounded, write_folder


def computed(name: str, kind: str) -> tuple[list[int], np.ndarray]:
    """The ids that follow the prompt, and the logits of each, (8, 320)."""
    with tempfile.TemporaryDirectory() as folder:
        write_folder(Path(folder), MODELS[name].config, rounded(name, kind))
        model, info = AutoModelForCausalLM.from_pretrained(
            folder,
            dtype=torch.float64,
            attn_implementation="eager",
            experts_implementation="eager",
            output_loading_info=True,
        )
        assert not info["missing_keys"], info
        assert not info["unexpected_keys"], info
        assert not info["mismatched_keys"], info
    ids = prompt(name).tolist()
    with torch.no_grad():
        for _ in range(DECODE_TOKENS):
            ids.append(int(model.eval()(torch.tensor([ids]), use_cache=False).logits[0, -1].argmax()))
        logits = model(torch.tensor([ids[:-1]]), use_cache=False).logits[0, -DECODE_TOKENS:].numpy()
    return ids[-DECODE_TOKENS:], logits


def main() -> None:
    found: dict[str, np.ndarray] = {}
    for name, kind in VARIANTS:
        ids, logits = computed(name, kind)
        ranked = np.sort(logits, axis=1)
        margin = (ranked[:, -1] - ranked[:, -2]).min()
        print(
            f"{name:11} {kind:6} least margin {margin:.4f}, largest {np.abs(logits).max():.2f}, ids {ids}", flush=True
        )
        found[f"{name}.{kind}.greedy"] = np.array(ids, np.int32)
        found[f"{name}.{kind}.logits"] = logits[[0, -1]].astype(np.float32)
    np.savez_compressed(GOLDENS / "tiny_models.npz", **found)


if __name__ == "__main__":
    main()
