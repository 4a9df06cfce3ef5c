"""`webxpu run`: a model in a headless browser, its reply on the terminal as it is made."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import re
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import webxpu.errors as errors
from webxpu.gpu.description import adapter_name
from webxpu.host import exits
from webxpu.host.assets import DEFAULT_MODEL, read_lock
from webxpu.host.browser import find_chrome
from webxpu.host.exits import BadModel, PageError
from webxpu.host.page import OpenPage, check_adapter, chosen_adapter, open_page
from webxpu.host.progress import download_bars
from webxpu.host.site import build_site

# What `--json` prints, in this order; the page's answer has the same keys.
RESULT_KEYS = (
    "text",
    "prompt_ids",
    "ids",
    "finish_reason",
    "adapter",
    "load_ms",
    "prefill_ms",
    "prefill_tokens_per_s",
    "decode_tokens_per_s",
    "dispatches_per_token",
)


def run(options: argparse.Namespace) -> int:
    """The command. Standard output has the reply alone; everything else goes to standard error."""
    find_chrome()
    local = None
    if options.model is not None and not re.match(r"https?://", options.model):
        local = Path(options.model)
        if not local.exists():
            raise BadModel(f"no file or folder {local}")
    with download_bars() as report:
        site = build_site(report, model=options.model is None)
    try:
        with contextlib.ExitStack() as bars:
            result = asyncio.run(_run(options, site, local, bars))
    except asyncio.CancelledError:
        return exits.INTERRUPTED
    if options.json:
        print(json.dumps({key: result[key] for key in RESULT_KEYS}, ensure_ascii=False))
    else:
        print(flush=True)
        print(summary(result), file=sys.stderr)
    return exits.INTERRUPTED if result["finish_reason"] == "abort" else exits.OK


async def _run(
    options: argparse.Namespace, site: Path, local: Path | None, bars: contextlib.ExitStack
) -> dict[str, Any]:
    adapter = chosen_adapter(options.adapter)
    async with open_page(site, adapter) as opened:
        check_adapter(opened.probe, adapter)
        if local is not None:
            url = opened.server.share(local)
        else:
            url = options.model or f"{opened.server.url}/models/{read_lock()[DEFAULT_MODEL].file}"
        await _connect(opened, options, Path(url).name, bars)
        sampling = {"max_tokens": options.max_tokens, "temperature": options.temperature}
        if options.seed is not None:
            sampling["seed"] = options.seed
        answer = await opened.page.evaluate(
            "job => webxpuRun(job)",
            {"url": url, "chat": options.chat, "prompt": options.prompt, "options": sampling},
        )
    if "error" in answer:
        raise page_error(answer["error"], options.model or "the default model")
    result: dict[str, Any] = answer["result"]
    return result


async def _connect(opened: OpenPage, options: argparse.Namespace, name: str, bars: contextlib.ExitStack) -> None:
    """Lets the page hand over pieces and progress. Ctrl-C stops a reply that has begun, else (or again) everything."""
    report = bars.enter_context(download_bars("loading"))
    loop, main = asyncio.get_running_loop(), asyncio.current_task()
    begun: list[str] = []
    stopping: list[asyncio.Task[Any]] = []

    def piece(text: str) -> None:
        begun.append(text)
        bars.close()
        if not options.json:
            print(text, end="", flush=True)

    def progress(loaded: int, total: int) -> None:
        report(name, loaded, total)

    def interrupt() -> None:
        if begun and not stopping:
            stopping.append(loop.create_task(opened.page.evaluate("webxpuAbort()")))
        elif main is not None:
            main.cancel()

    await opened.page.expose_function("webxpuPiece", piece)
    await opened.page.expose_function("webxpuProgress", progress)
    with contextlib.suppress(NotImplementedError):  # Windows: Ctrl-C ends everything at once
        loop.add_signal_handler(signal.SIGINT, interrupt)


def page_error(error: Mapping[str, str], model: str) -> Exception:
    """The page's error as one of ours. `stage` says what was being done: start, load or generate."""
    name, message, stage = error["name"], error["message"], error["stage"]
    kind = getattr(errors, name, None)
    if stage == "load" and name in ("FormatError", "Unsupported"):
        # The page knows the file by the address at which this command lent it.
        said = re.sub(rf"^(\S*/)?{re.escape(Path(model).name)}: ", "", message)
        return BadModel(f"{model}: {said}")
    if isinstance(kind, type) and issubclass(kind, Exception):
        return kind(message)
    return PageError(f"{stage} failed in the page: {name}: {message}")


def summary(result: Mapping[str, Any]) -> str:
    """One line about speed for the terminal."""
    return (
        f"{len(result['ids'])} tokens ({result['finish_reason']}), {result['decode_tokens_per_s']:.1f} tokens/s, "
        f"prompt {len(result['prompt_ids'])} tokens in {result['prefill_ms'] / 1000:.2f} s, "
        f"loaded in {result['load_ms'] / 1000:.2f} s, {adapter_name(result['adapter'])}"
    )
