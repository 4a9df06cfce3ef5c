"""Vocabularies of real models for tests: fetched as `vocabularies.lock.json` says, never committed.

Names in the lock: a SentencePiece model or a vocabulary of llama.cpp by its own name, `NAME.inp` and `NAME.out` for the
latter's texts and ids, `NAME/tokenizer.json` and `NAME/tokenizer_config.json` for a tokenizer of `tokenizers`.
"""

from __future__ import annotations

import asyncio
from functools import cache
from pathlib import Path
from typing import Any

from webxpu.formats.gguf import read_gguf
from webxpu.host.assets import read_lock
from webxpu.host.fetch import Fetcher

LOCK = Path(__file__).with_name("vocabularies.lock.json")
# Between two of llama.cpp's texts and, in most files, after the last.
_SEPARATOR = "\n__ggml_vocab_test__\n"


@cache
def _fetcher() -> Fetcher:
    """One for all files of a run, so that what could not be reached is asked for once."""
    return Fetcher(read_lock(LOCK))


@cache
def real_file(name: str) -> Path:
    """The path of a locked file, downloaded first where it is missing. Raises FetchError."""
    asset = read_lock(LOCK)[name]
    return _fetcher().fetch([asset])[asset]


@cache
def gguf_metadata(name: str) -> dict[str, Any]:
    """The metadata of a GGUF file of the lock; it is shared, so change a copy."""
    data = real_file(name).read_bytes()

    async def read(start: int, length: int) -> tuple[bytes, int]:
        return data[start : start + length], len(data)

    return asyncio.run(read_gguf(read)).metadata


@cache
def golden_cases(name: str) -> list[tuple[str, list[int]]]:
    """llama.cpp's texts and ids for one of its vocabularies, made with the model's own tokenizer."""
    texts = real_file(f"{name}.inp").read_bytes().decode().removesuffix(_SEPARATOR).split(_SEPARATOR)
    lines = real_file(f"{name}.out").read_text("utf-8").splitlines()
    return [(text, [int(number) for number in line.split()]) for text, line in zip(texts, lines, strict=True)]
