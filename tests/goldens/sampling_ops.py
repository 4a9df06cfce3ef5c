"""Writes sampling_ops.npz: logits after processors of transformers, one each. Needs torch and transformers; the tests
do not.

    python tests/goldens/sampling_ops.py       # torch 2.13.0+cpu, transformers 5.24.0

Processors run in float64 and their result is narrowed once. Presence and frequency penalties have none in transformers:
they are written out below as vLLM's `apply_penalties` has them. Names are `penalize.<what>` and `logprobs.<what>`.
"""

from importlib.metadata import version
from pathlib import Path

import numpy as np
import torch
from transformers.generation.logits_process import (
    LogitNormalization,
    NoRepeatNGramLogitsProcessor,
    RepetitionPenaltyLogitsProcessor,
    SequenceBiasLogitsProcessor,
)

torch.manual_seed(29)
found: dict[str, np.ndarray] = {}

VOCAB = 60
logits = torch.randn(VOCAB) * 4
ids = torch.randint(0, 20, (70,))
ids[-3:] = ids[10:13]  # what followed there would repeat a run of four
found["penalize.logits"], found["penalize.ids"] = logits.numpy(), ids.int().numpy()
processors = {
    **{f"repetition_{p}": RepetitionPenaltyLogitsProcessor(p) for p in (0.7, 1.3)},
    **{f"no_repeat_{n}": NoRepeatNGramLogitsProcessor(n) for n in (1, 2, 3, 4, 5)},
    "biases": SequenceBiasLogitsProcessor({(3,): 2.5, (17,): -4.0, (59,): 0.75, (0,): -float("inf")}),
}
for name, processor in processors.items():
    found[f"penalize.{name}"] = processor(ids[None], logits.double()[None])[0].float().numpy()

counts = torch.bincount(ids, minlength=VOCAB).double()
found["penalize.presence_0.6"] = (logits.double() - 0.6 * (counts > 0)).float().numpy()
found["penalize.frequency_0.2"] = (logits.double() - 0.2 * counts).float().numpy()

wide = torch.randn(3000) * 5
found["logprobs.logits"] = wide.numpy()
found["logprobs.out"] = LogitNormalization()(None, wide.double()[None])[0].float().numpy()

if __name__ == "__main__":
    found["versions"] = np.array([f"{n} {version(n)}" for n in ("torch", "transformers")])
    np.savez_compressed(Path(__file__).with_suffix(".npz"), **found)
