"""Makes smollm2_formats.json: greedy ids of SmolLM2 in several weight types, by a plain float64 llama.

`python -m tests.goldens.smollm2_formats` takes some minutes, and needs the model among the assets (`webxpu fetch`). The
test recomputes the scores and holds them to these ids; the ids are here so that a change of either is seen.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import numpy as np

from tests.llm.formats import FORMATS, GOLDEN, arrays, model_file
from tests.llm.teacher import Teacher, margins

# "1, 2, 3, 4," as the model's tokenizer has it: what follows is sure enough that few steps are near ties.
PROMPT_IDS = [33, 28, 216, 34, 28, 216, 35, 28, 216, 36, 28]
TOKENS = 48


def main() -> None:
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for name in FORMATS:
            scores = Teacher(*arrays(model_file(name, Path(folder)))).greedy(PROMPT_IDS, TOKENS)
            found[name] = {"ids": scores.argmax(axis=1).tolist(), "margins": np.round(margins(scores), 4).tolist()}
            print(name, found[name]["ids"], f"least margin {min(found[name]['margins'])}", flush=True)
    lines = [f'  "{name}": {json.dumps(value)}' for name, value in found.items()]
    text = f'{{"prompt_ids": {json.dumps(PROMPT_IDS)}, "formats": {{\n' + ",\n".join(lines) + "\n}}\n"
    GOLDEN.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
