"""Makes tiny_engine.json: what the NumPy engine says with the tiny llama of tiny_llama.gguf, made for a longer context.

    python -m tests.goldens.tiny_engine

long     (8,) the greedy ids after `long_prompt`, in a context of 4096
kv       (12,) the greedy ids after the golden prompt, for each other kind of cache
choices  (12,) ids after it, by the name of options
window   (600,) the greedy ids after the golden prompt, through a window of 192 with 64 sinks, which
         tests/llm/test_window.py compares with a decoder of its own
"""

from __future__ import annotations

import asyncio
import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.llm import tiny
from tests.llm.numpy_device import numpy_engine
from webxpu.llm.dry import Dry
from webxpu.llm.host_sampler import HostSampler
from webxpu.llm.sampler import Sampling

FILE = Path(__file__).with_suffix(".json")
CONTEXT = 4096


def long_prompt(vocab: int) -> list[int]:
    """2000 ids."""
    return [(7 + 13 * i * i + i) % vocab for i in range(2000)]


class Even:
    """Allows even ids at every other place."""

    def allowed(self, prefix: Any) -> range | None:
        return range(0, 320, 2) if len(prefix) % 2 else None


def choices() -> dict[str, dict[str, Any]]:
    """Options by name; none of them can be JSON."""
    drawn = {"temperature": 0.9, "seed": 11}
    return {
        "penalized": {"repetition_penalty": 1.2, "presence_penalty": 0.3, "no_repeat_ngram_size": 3, "logprobs": 2},
        "biased": {**drawn, "top_p": 0.9, "logit_bias": {17: 2.0, 170: -math.inf}},
        "constrained": {**drawn, "constraint": Even()},
        "dry": {"dry": Dry(multiplier=2.0)},
        "host": {"sampler": HostSampler(Sampling(temperature=0.9, top_k=40), seed=42)},
    }


def ids_after(prompt: list[int], count: int, capacity: int, options: dict[str, Any], **cache: Any) -> list[int]:
    async def run() -> list[int]:
        config = replace(tiny.model()[0], context_length=CONTEXT)
        generation = numpy_engine(config, tiny.dense(), capacity, **cache).generate(prompt, max_tokens=count, **options)
        async for _ in generation:
            pass
        return generation.ids

    return asyncio.run(run())


def main() -> None:
    prompt = tiny.golden()["prompt"].tolist()
    golden = {
        "long": ids_after(long_prompt(tiny.model()[0].vocab), 8, CONTEXT, {}),
        "kv": {kv: ids_after(prompt, 12, 256, {}, kv=kv) for kv in ("f16", "q8")},
        "choices": {name: ids_after(prompt, 12, 256, options) for name, options in choices().items()},
        "window": ids_after(prompt, 600, 192, {}, sinks=64),
    }
    FILE.write_text(json.dumps(golden) + "\n", "utf-8")


if __name__ == "__main__":
    main()
