"""Unigram tokenizer.json files in Pyodide, whose Python has another Unicode: the ids and texts of `tokenizers`."""

from __future__ import annotations

import json
import random
from contextlib import suppress
from typing import Any

from playwright_tests.python_page import PythonPage
from tests.text import unigram_files as files
from tests.text.test_unigram_json import Oracle, Panic

FILES, TEXTS = 15, 8
SEED = 3
# Of Unicode 15.0, which Pyodide's Python knows and the library's tables partly do not.
LATER = ["a\U00010efd\U00011f41b", "\U0001e030 \U0001e4f0 \u0cf3", "\U00011f02a\u0301"]


def samples() -> list[dict[str, Any]]:
    """Files with texts and what the library makes of them."""
    rng = random.Random(SEED)
    found = []
    while len(found) < FILES:
        file = files.drawn(rng)
        texts = [*LATER, *(files.text(rng) for _ in range(TEXTS))]
        with suppress(Panic):
            oracle = Oracle(file)
            ids = [oracle.encode(text, add_special=True) for text in texts]
            decoded = [oracle.rust.decode(i, skip_special_tokens=False) for i in ids]
            found.append({"file": json.dumps(file), "texts": texts, "ids": ids, "decoded": decoded})
    return found


def test_pyodide_cuts_and_decodes_as_tokenizers_does(python: PythonPage) -> None:
    wanted = samples()
    found = python.run(
        """
from webxpu.text.tokenizers import tokenizer_from_json

out = []
for sample in given["samples"]:
    made = tokenizer_from_json(sample["file"])
    ids = [made.encode(text, add_special=True) for text in sample["texts"]]
    out.append([ids, [made.decode(i, skip_special=False) for i in ids]])
return out
""",
        samples=[{"file": sample["file"], "texts": sample["texts"]} for sample in wanted],
    )
    for sample, result in zip(wanted, found, strict=True):
        assert result == [sample["ids"], sample["decoded"]], (sample["file"], sample["texts"])
