"""How fast a tokenizer is in the Python that runs this: time and memory to load it, to cut texts and to join them.

Only the CPU counts. Python's memory in a browser never shrinks, so a tokenizer is measured in a Python of its own.
"""

from __future__ import annotations

import json
import platform
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import webxpu
from webxpu.bench.texts import samples, slices
from webxpu.errors import ShapeError
from webxpu.text.sentencepiece import SentencePiece
from webxpu.text.tokenizers import AnyTokenizer

CHARACTERS, ROUNDS = 10_000, 5


async def measure(
    source: str,
    *,
    text: str | None = None,
    characters: int = CHARACTERS,
    rounds: int = ROUNDS,
    heap_bytes: Callable[[], int],
) -> dict[str, Any]:
    """Loads a tokenizer and measures it.

    source       what `webxpu.load_tokenizer` takes
    text         is cut in place of the own texts, which are English, Japanese and Python
    characters   of each text
    rounds       texts of each kind, all different: nothing is cut twice
    heap_bytes   tells how large Python's memory is now

    Returns plain data: vocab_size, model_type, load_ms, heap_bytes before loading, after it and at the end, python, and
    texts, by name as `speeds`. Raises ShapeError for an empty text, and what `load_tokenizer` raises.
    """
    if text == "":
        raise ShapeError("measure: text must have characters, got none")
    texts = samples(characters, rounds) if text is None else {"text": slices(text, characters, rounds)}
    before = heap_bytes()
    start = time.perf_counter()
    tokenizer = await webxpu.load_tokenizer(source)
    load_ms = (time.perf_counter() - start) * 1000
    loaded = heap_bytes()
    speeds_of = {name: speeds(tokenizer, parts) for name, parts in texts.items()}
    return {
        "vocab_size": tokenizer.vocab_size,
        "model_type": model_type(tokenizer),
        "load_ms": load_ms,
        "heap_bytes": {"before": before, "loaded": loaded, "after": heap_bytes()},
        "python": platform.python_version(),
        "texts": speeds_of,
    }


def speeds(tokenizer: AnyTokenizer, texts: Sequence[str]) -> dict[str, float]:
    """characters and tokens of a text, first_ms to cut the first of them, encode_ms and decode_ms of one: medians."""
    encoded, decoded, counts = [], [], []
    for text in texts:
        start = time.perf_counter()
        ids = tokenizer.encode(text)
        middle = time.perf_counter()
        tokenizer.decode(ids)
        decoded.append((time.perf_counter() - middle) * 1000)
        encoded.append((middle - start) * 1000)
        counts.append(len(ids))
    return {
        "characters": len(texts[0]),
        "tokens": statistics.median(counts),
        "first_ms": encoded[0],
        "encode_ms": statistics.median(encoded),
        "decode_ms": statistics.median(decoded),
    }


def model_type(tokenizer: AnyTokenizer) -> str:
    """What cuts: a type of SentencePiece model, or the `tokenizers` library."""
    return tokenizer.model.model_type.name.lower() if isinstance(tokenizer, SentencePiece) else "tokenizers"


async def measured_json(job: str, heap_bytes: Callable[[], int]) -> str:
    """`measure` for a page: its arguments and its answer as JSON, an error as {"error": {"name", "message"}}."""
    options: Mapping[str, Any] = json.loads(job)
    try:
        return json.dumps({"result": await measure(**options, heap_bytes=heap_bytes)})
    except Exception as e:  # noqa: BLE001 - the page's caller makes it an error of its own
        return json.dumps({"error": {"name": type(e).__name__, "message": str(e)}})
