"""Makes llama_cpp_bpe.json: llama.cpp's tokenizer cases with the part of each vocabulary that they can touch.

    python tests/goldens/llama_cpp_bpe.py MODELS_FOLDER

MODELS_FOLDER is vendor/llama.cpp/models of the sdist llama-cpp-python==0.3.36 (llama.cpp, MIT). Ids come from its .out
files, never from webxpu. A vocabulary is cut down to the tokens whose characters occur in a case in that order, to
single bytes and to control tokens; the merges that are left are those that could ever apply to a case, so the result
is the same. Vocabularies: gpt-2 (OpenAI, MIT), mpt (MosaicML, Apache-2.0), falcon (TII, Apache-2.0), qwen2 (Alibaba,
Apache-2.0).
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from gguf import GGUFReader
from tokenizers.pre_tokenizers import ByteLevel

VOCABULARIES = ("gpt-2", "mpt", "falcon", "qwen2")
SEPARATOR = "\n__ggml_vocab_test__\n"
NORMAL, CONTROL = 1, 3


def cut(folder: Path, name: str, cases: list[str]) -> dict:
    fields = GGUFReader(folder / f"ggml-vocab-{name}.gguf").fields
    tokens, types, merges = (fields[f"tokenizer.ggml.{key}"].contents() for key in ("tokens", "token_type", "merges"))
    outputs = (folder / f"ggml-vocab-{name}.gguf.out").read_text().split("\n")
    ids = [[int(i) for i in line.split()] for line in outputs[: len(cases)]]
    encoder = ByteLevel(add_prefix_space=False, use_regex=False)
    texts = [*cases, *("".join(piece for piece, _ in encoder.pre_tokenize_str(case)) for case in cases)]
    everything = "\n".join(texts)
    kept = [
        index
        for index, (token, kind) in enumerate(zip(tokens, types, strict=True))
        if (kind == NORMAL and len(token) == 1) or kind == CONTROL or (token in everything)
    ]
    new_id = {old: new for new, old in enumerate(kept)}
    known = {tokens[index] for index in kept}
    pairs = [(merge, *merge.split(" ", 1)) for merge in merges]
    return {
        "pre": name,
        "tokens": [tokens[index] for index in kept],
        "types": [types[index] for index in kept],
        "merges": [merge for merge, left, right in pairs if {left, right, left + right} <= known],
        "ids": [[new_id[i] for i in line] for line in ids],
    }


def main(folder: Path) -> None:
    read = {name: (folder / f"ggml-vocab-{name}.gguf.inp").read_bytes().decode() for name in VOCABULARIES}
    cases = read["gpt-2"].split(SEPARATOR)[:-1]
    assert len(cases) == 46
    assert len(set(read.values())) == 1
    golden = {
        "source": "llama-cpp-python==0.3.36, vendor/llama.cpp/models/ggml-vocab-*.gguf{,.inp,.out}; MIT",
        "note": "made by llama_cpp_bpe.py; ids are renumbered for the vocabularies cut down here",
        "cases": cases,
        "vocabularies": [cut(folder, name, cases) for name in VOCABULARIES],
    }
    path = Path(__file__).with_suffix(".json")
    path.write_text(json.dumps(golden, ensure_ascii=False, indent=None, separators=(",", ":")) + "\n")
    print(path, path.stat().st_size, [len(v["tokens"]) for v in golden["vocabularies"]])


if __name__ == "__main__":
    main(Path(sys.argv[1]))
