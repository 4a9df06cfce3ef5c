"""A model that runs in a page of a browser of its own: these tests reload the page and crash the GPU process."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from playwright_tests.python_page import PythonPage
from tests.goldens.tiny_engine import CONTEXT


@dataclass
class EnginePage:
    """`python.run(body)` runs where `kept["model"]` is the loaded model and `kept["device"]` its device.

    url       where the model is
    prompt    ids that a generation may begin with
    vocab     how many ids there are
    golden    the ids of the NumPy engine, see tests/goldens/tiny_engine.py; None for a model that is too slow there
    crash     ends the GPU process
    """

    python: PythonPage
    url: str
    prompt: list[int]
    golden: dict[str, Any] | None
    crash: Callable[[], object]
    vocab: int = 0

    def load(self, name: str = "model", **options: Any) -> None:
        self.vocab = self.python.run(
            """
if "device" not in kept:
    kept["device"] = await webxpu.open_device()
model = kept[given["name"]] = await webxpu.load(given["url"], device=kept["device"], cache=False, **given["options"])
return model.config.vocab
""",
            url=self.url,
            name=name,
            options=options,
        )

    def generate(self, prompt: list[int], name: str = "model", **options: Any) -> dict[str, Any]:
        done: dict[str, Any] = self.python.run(
            """
generation = kept[given["name"]].generate(given["prompt"], **given["options"])
async for _ in generation:
    pass
return {"ids": generation.ids, "reason": generation.finish_reason, "reused": generation.reused_tokens}
""",
            prompt=prompt,
            name=name,
            options={"stop_ids": [], **options},
        )
        return done


def longer(gguf: bytes) -> bytes:
    """The tiny model, made for a longer context: its positions are rope's, so that all it takes is the number."""
    name = b"llama.context_length"
    at = gguf.index(name) + len(name) + 4  # behind the name stands the value's type
    assert struct.unpack_from("<I", gguf, at) == (512,)
    return gguf[:at] + struct.pack("<I", CONTEXT) + gguf[at + 4 :]
