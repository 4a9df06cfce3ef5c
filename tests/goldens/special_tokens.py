"""Makes special_tokens.json: what llama.cpp makes of texts with names of control tokens in every position.

    python tests/goldens/special_tokens.py MODELS_FOLDER NODE_FOLDER

MODELS_FOLDER is vendor/llama.cpp/models of the sdist llama-cpp-python==0.3.36 (llama.cpp, MIT); NODE_FOLDER is one in
which `npm i --ignore-scripts --omit=optional node-llama-cpp@3.21.1 @node-llama-cpp/linux-x64@3.21.1` (MIT) was run. Ids
come from that library, never from webxpu: each text's with names as tokens, and with names as text.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

# Two names of each vocabulary, which stand for A and B below.
NAMES = {
    "llama-spm": ("<s>", "</s>"),
    "phi-3": ("<|end|>", "<s>"),
    "gpt-2": ("<|endoftext|>", "<|endoftext|>"),
    "qwen2": ("<|im_start|>", "<|im_end|>"),
    "llama-bpe": ("<|eot_id|>", "<|begin_of_text|>"),
    "nomic-bert-moe": ("<mask>", "</s>"),
}
FORMS = (
    "A", "AB", "ABAB", "Aa", "aA", " A", "A ", "  A  ", "a A b", "aAb", "A B", "A\nB", "a\r\nA\r\nb", "A\t \nb", " a A",
    "A hello", "A  hello", "hello A", "hello  A", "<A>", "A|>B", "<|A", "éA日本B😀", "A\u3000b", "A\u00a0b", "a\vA\fb",
    "<|im_A", "hello</sA", "A" * 5, "word AB word A\n\n\nB word",
)  # fmt: skip
SCRIPT = """
import {getLlama, LlamaLogLevel} from "node-llama-cpp";
const llama = await getLlama({gpu: false, build: "never", logLevel: LlamaLogLevel.disabled}), out = {};
for (const [name, {path, texts}] of Object.entries(JSON.parse(process.argv[2]))) {
  const model = await llama.loadModel({modelPath: path, vocabOnly: true});
  out[name] = texts.map((text) => [text, model.tokenize(text, true), model.tokenize(text, false)]);
  await model.dispose();
}
console.log(JSON.stringify(out));
"""


def main(models: Path, node: Path) -> None:
    asked = {
        name: {
            "path": str((models / f"ggml-vocab-{name}.gguf").resolve()),
            "texts": [form.replace("A", a).replace("B", b) for form in FORMS],
        }
        for name, (a, b) in NAMES.items()
    }
    script = node / "special_tokens.mjs"  # its imports are found beside it
    script.write_text(SCRIPT)
    command = ["node", script.name, json.dumps(asked)]
    cases = json.loads(subprocess.run(command, cwd=node, check=True, stdout=subprocess.PIPE, text=True).stdout)
    golden = {
        "source": "node-llama-cpp 3.21.1 on the vocabularies of llama-cpp-python==0.3.36; MIT",
        "note": "made by special_tokens.py: text, ids with names as tokens, ids with names as text",
        "cases": cases,
    }
    path = Path(__file__).with_suffix(".json")
    path.write_text(json.dumps(golden, ensure_ascii=False, separators=(",", ":")) + "\n")
    print(path, path.stat().st_size, {name: len(found) for name, found in cases.items()})


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
