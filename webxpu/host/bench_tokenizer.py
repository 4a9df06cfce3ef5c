"""`webxpu bench --tokenizer`: how fast tokenizers are in a browser's Python. A figure of the CPU: no GPU takes part."""

from __future__ import annotations

import argparse
import asyncio
import json
import platform
from collections.abc import Mapping, Sequence
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from webxpu.host import exits
from webxpu.host.browser import find_chrome
from webxpu.host.exits import UsageError
from webxpu.host.page import OpenPage, check_model, chosen_adapter, model_url, open_page
from webxpu.host.progress import download_bars
from webxpu.host.run import page_error
from webxpu.host.site import build_site

_CPU_INFO = Path("/proc/cpuinfo")
# Columns of the table where nobody looks at it in a terminal.
WIDTH = 140


def bench_tokenizer(options: argparse.Namespace) -> int:
    """The command. Raises UsageError and BadModel before a browser starts, BadModel for what holds no tokenizer."""
    find_chrome()
    text = read_text(options.text)
    for source in options.tokenizer:
        check_model(source)
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
    with download_bars() as report:
        site = build_site(report, model=False)
    found = asyncio.run(_bench(options, text, site))
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = WIDTH
    console.print(headline(found))
    console.print(table(found))
    if options.json:
        options.json.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", "utf-8")
    return exits.OK


def read_text(path: Path | None) -> str | None:
    """The text to cut, or None where none is named. Raises UsageError for one that is missing, empty, or no UTF-8."""
    if path is None:
        return None
    try:
        text = path.read_text("utf-8")
    except OSError as e:
        raise UsageError(f"--text {path}: {e.strerror}") from e
    except UnicodeDecodeError as e:
        raise UsageError(
            f"--text {path}: must be UTF-8, got {e.object[e.start : e.end].hex(' ')} at byte {e.start}"
        ) from e
    if not text:
        raise UsageError(f"--text {path}: must have characters, got none")
    return text


async def _bench(options: argparse.Namespace, text: str | None, site: Path) -> dict[str, Any]:
    measured = []
    async with open_page(site, chosen_adapter(options.adapter)) as opened:
        for source in options.tokenizer:
            await opened.page.goto(f"{opened.server.url}/run/")  # a new Python: the memory of one never shrinks
            job = {"source": model_url(opened, source), **({} if text is None else {"text": text})}
            answer = await opened.page.evaluate("job => webxpuBenchTokenizer(job)", job)
            if "error" in answer:
                raise page_error(answer["error"], source)
            measured.append({"source": source, **answer["result"]})
        return {**_about(opened), "tokenizers": measured}


def _about(opened: OpenPage) -> dict[str, Any]:
    """What ran, on what, and when."""
    return {
        "webxpu": version("webxpu"),
        "date": datetime.now().astimezone().isoformat(timespec="seconds"),
        "browser": f"Chrome {opened.browser}",
        "cpu": cpu_name(),
    }


def cpu_name(info: Path = _CPU_INFO) -> str:
    """The processor's name as the system tells it."""
    if info.is_file():
        for line in info.read_text("utf-8", "replace").splitlines():
            key, _, value = line.partition(":")
            if key.strip() == "model name":
                return value.strip()
    return platform.processor() or platform.machine()


def headline(found: Mapping[str, Any]) -> str:
    """The line above the table: where and when."""
    pythons = sorted({measured["python"] for measured in found["tokenizers"]})
    return f"{found['cpu']}, {found['browser']}, Python {', '.join(pythons)}, {found['date']}"


def table(found: Mapping[str, Any]) -> Table:
    """A row for each tokenizer and kind of text."""
    columns = (
        "type",
        "pieces",
        "load ms",
        "heap MB",
        "text",
        "characters",
        "tokens",
        "first ms",
        "encode ms",
        "decode ms",
    )
    made = Table("tokenizer", *columns, box=None)
    for column, name in zip(made.columns[1:], columns, strict=True):
        column.justify = "left" if name in ("type", "text") else "right"
    tokenizers: Sequence[Mapping[str, Any]] = found["tokenizers"]
    for t in tokenizers:
        heap = t["heap_bytes"]
        grown = f"{heap['before'] / 1e6:.0f} to {heap['after'] / 1e6:.0f}"
        head = [Path(t["source"]).name, t["model_type"], f"{t['vocab_size']:,}", f"{t['load_ms']:,.0f}", grown]
        for name, s in t["texts"].items():
            times = (f"{s[key]:.1f}" for key in ("first_ms", "encode_ms", "decode_ms"))
            made.add_row(*head, name, f"{s['characters']:,}", f"{s['tokens']:,.0f}", *times)
            head = [""] * len(head)
    return made
