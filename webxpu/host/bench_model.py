"""`webxpu bench --model` and `--synthetic`: the speed of a language model in headless Chrome."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import tempfile
from collections.abc import Mapping, Sequence
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from webxpu.bench.synthetic import PRESETS, TYPES, tensor_table, write_model
from webxpu.errors import ShapeError, Unsupported
from webxpu.gpu.description import adapter_name
from webxpu.gpu.target import detect_target
from webxpu.host import exits
from webxpu.host.browser import find_chrome
from webxpu.host.exits import UsageError
from webxpu.host.page import OpenPage, check_adapter, check_model, chosen_adapter, model_url, open_page
from webxpu.host.progress import download_bars
from webxpu.host.run import page_error
from webxpu.host.site import build_site

# Room for the longest prompt and for what is decoded.
CONTEXT_TOKENS = 1024
# Columns of the tables where nobody looks at them in a terminal.
WIDTH = 140
# Kernels of a decoded token that the table shows.
MOST_KERNELS = 12


def bench_model(options: argparse.Namespace) -> int:
    """The command. Raises UsageError for a shape or type that there is not, and Unsupported on an adapter that computes
    on the CPU, before the model is made or loaded: its speed says nothing of a GPU."""
    find_chrome()
    if options.synthetic is not None:
        check_synthetic(options.synthetic, options.type)
    elif options.type is not None:
        raise UsageError("--type is for --synthetic; a model's own weights keep theirs")
    named = options.model or None
    check_model(named)
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
    with download_bars() as report:
        site = build_site(report, model=named is None and options.synthetic is None)
    found = asyncio.run(_bench(options, named, site))
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = WIDTH
    console.print(headline(found))
    console.print(speeds_table(found))
    console.print(kernels_table(found))
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n", "utf-8")
    return exits.OK


def check_synthetic(name: str, type_name: str | None) -> None:
    """Raises UsageError unless there is such a shape and its rows fit the type's blocks."""
    if name not in PRESETS:
        raise UsageError(f"--synthetic must be one of {', '.join(PRESETS)}, got {name}")
    if type_name is None:
        raise UsageError(f"--synthetic needs --type, one of {', '.join(TYPES)}")
    try:
        tensor_table(PRESETS[name], type_name)
    except ShapeError as e:
        raise UsageError(str(e)) from e


def check_gpu(probe: Mapping[str, Any]) -> None:
    """Raises Unsupported for an adapter that computes on the CPU, with what tells it."""
    target, why = detect_target(probe["adapter"])
    if target == "cpu":
        raise Unsupported(f"no speed is measured here: {why}")


async def _bench(options: argparse.Namespace, named: str | None, site: Path) -> dict[str, Any]:
    adapter = chosen_adapter(options.adapter)
    with contextlib.ExitStack() as stack:
        async with open_page(site, adapter) as opened:
            check_adapter(opened.probe, adapter)
            check_gpu(opened.probe)
            if options.synthetic is None:
                label = named or "the default model"
                url = model_url(opened, named)
            else:
                label = f"{options.synthetic} with random {options.type} weights"
                folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
                url = opened.server.share(_written(folder, options.synthetic, options.type))
            report = stack.enter_context(download_bars("loading"))
            await opened.page.expose_function("webxpuProgress", lambda done, total: report(label, done, total))
            load = {"context_tokens": CONTEXT_TOKENS, "kv": options.kv, "cache": False}
            job = {"url": url, "load": load, "options": {}}
            answer = await opened.page.evaluate("job => webxpuBench(job)", job)
            if "error" in answer:
                raise page_error(answer["error"], label)
            return {**_about(opened), "model": label, "kv": options.kv, **answer["result"]}


def _written(folder: Path, name: str, type_name: str) -> Path:
    path = folder / f"{name}-{type_name}.gguf"
    with download_bars("writing") as report:
        write_model(path, PRESETS[name], type_name, report=lambda done, total: report(path.name, done, total))
    return path


def _about(opened: OpenPage) -> dict[str, Any]:
    """What ran, on what, and when."""
    return {
        "webxpu": version("webxpu"),
        "date": datetime.now().astimezone().isoformat(timespec="seconds"),
        "browser": f"Chrome {opened.browser}",
        "device": adapter_name(opened.probe["adapter"]),
        "features": opened.probe["features"],
    }


def headline(found: Mapping[str, Any]) -> str:
    """The line above the tables: where, what, and against which ceiling."""
    size = sum(found["weight_bytes"].values())
    types = ", ".join(sorted(found["weight_bytes"], key=found["weight_bytes"].__getitem__, reverse=True))
    return (
        f"{found['device']}, {found['browser']}: reads {found['read_bytes_s'] / 1e9:,.0f} GB/s\n"
        f"{found['model']}: {size / 1e6:,.1f} MB of weights ({types}), {found['kv']} cache, "
        f"loaded in {found['load_ms'] / 1e3:.1f} s"
    )


def speeds_table(found: Mapping[str, Any]) -> Table:
    """A row for each prompt and one for decoding."""
    table = _table("", "tokens/s", "±", "GPU ms", "dispatches", "MB of weights", "of their bound", "of dispatches'")
    rows = [(f"prompt of {speed['tokens']}", speed) for speed in found["prefill"]]
    rows.append((f"{found['decode']['tokens']} tokens, each", found["decode"]))
    for label, s in rows:
        table.add_row(
            label,
            f"{s['tokens_per_s']:,.0f}" if s["tokens_per_s"] >= 100 else f"{s['tokens_per_s']:.1f}",
            f"{s['spread'] / 2:.1%}",
            f"{s['gpu_ms']:.3f}",
            f"{s['dispatches']:,}",
            f"{s['weight_bytes'] / 1e6:,.1f}",
            f"{s['of_weights']:.1%}",
            f"{s['of_dispatches']:.1%}",
        )
    return table


def kernels_table(found: Mapping[str, Any]) -> Table:
    """The kernels of a decoded token, the longest first."""
    table = _table("a token's kernels", "dispatches", "µs together", "KB each", "GB/s")
    kernels: Sequence[Mapping[str, Any]] = found["kernels"]
    for k in kernels[:MOST_KERNELS]:
        rate = k["bytes"] / (k["ms"] / 1e3) / 1e9 if k["ms"] else 0.0
        each = k["bytes"] / k["dispatches"] / 1e3
        table.add_row(k["kernel"], f"{k['dispatches']}", f"{k['ms'] * 1e3:.1f}", f"{each:,.1f}", f"{rate:,.0f}")
    return table


def _table(*columns: str) -> Table:
    table = Table(*columns, box=None)
    for column in table.columns[1:]:
        column.justify = "right"
    return table
