"""Makes tiny_engine.json: what the NumPy engine says with the tiny llama of tiny_llama.gguf, made for a longer context.

    python -m tests.goldens.tiny_engine

long     (8,) the greedy ids after `long_prompt`, in a context of 4096
window   (600,) the greedy ids after the golden prompt, through a window of 192 with 64 sinks, which
         tests/llm/test_window.py compares with a decoder of its own
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.llm import tiny
from tests.llm.numpy_device import numpy_engine

FILE = Path(__file__).with_suffix(".json")
CONTEXT = 4096


def long_prompt(vocab: int) -> list[int]:
    """2000 ids."""
    return [(7 + 13 * i * i + i) % vocab for i in range(2000)]


def ids_after(prompt: list[int], count: int, capacity: int, **options: Any) -> list[int]:
    async def run() -> list[int]:
        config = replace(tiny.model()[0], context_length=CONTEXT)
        generation = numpy_engine(config, tiny.dense(), capacity, **options).generate(prompt, max_tokens=count)
        async for _ in generation:
            pass
        return generation.ids

    return asyncio.run(run())


def main() -> None:
    golden = {
        "long": ids_after(long_prompt(tiny.model()[0].vocab), 8, CONTEXT),
        "window": ids_after(tiny.golden()["prompt"].tolist(), 600, 192, sinks=64),
    }
    FILE.write_text(json.dumps(golden) + "\n", "utf-8")


if __name__ == "__main__":
    main()
