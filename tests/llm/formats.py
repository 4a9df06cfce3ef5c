"""SmolLM2 as its file has it and converted to each of our weight types, for the engine and for its teacher."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from webxpu.formats.tensor_info import TensorInfo
from webxpu.host.convert import convert
from webxpu.host.fetch import fetch
from webxpu.llm.checkpoint import open_checkpoint
from webxpu.llm.config import Config
from webxpu.llm.local_files import LocalBridge
from webxpu.llm.weights import read_arrays

FORMATS = ("own", "q8", "q4g128", "q1_0")
GOLDEN = Path(__file__).parent.parent / "goldens" / "smollm2_formats.json"


def golden() -> dict[str, Any]:
    """prompt_ids, and for each format 48 greedy ids and how far each lies above the second."""
    found: dict[str, Any] = json.loads(GOLDEN.read_text("utf-8"))
    return found


def model_file(name: str, folder: Path) -> Path:
    """The model in a format: the file, or a folder that is converted here where it is not there yet."""
    [source] = fetch(["smollm2-135m"]).values()
    if name == "own":
        return source
    target = folder / f"smollm2-{name}"
    if not target.exists():
        _apart(convert, source, target, name)
    return target


def arrays(path: Path) -> tuple[Config, dict[str, Any]]:
    """The configuration and the weights of a GGUF file or a converted folder."""
    local: Any = LocalBridge()
    source = f"file:{path}/" if path.is_dir() else f"file:{path}"
    checkpoint = _apart(lambda: asyncio.run(open_checkpoint(source, local)))
    place = path if path.is_dir() else path.parent

    def read(info: TensorInfo) -> bytes:
        return local.read(place / info.file, info.start, info.nbytes)  # type: ignore[no-any-return]

    return checkpoint.config, read_arrays(checkpoint.weights, read)


def _apart(work: Callable[..., Any], *args: Any) -> Any:
    """Calls in a thread of its own, since Playwright's event loop runs in this one."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(work, *args).result()
