"""`webxpu doctor`: what this machine has, and what is missing for a model to run."""

from __future__ import annotations

import asyncio
import platform
import sys
from importlib.metadata import version
from typing import Any

from rich.console import Console
from rich.table import Table

from webxpu.errors import FetchError
from webxpu.gpu.description import adapter_name, kernel_table
from webxpu.gpu.target import Gpu, describe
from webxpu.host import exits
from webxpu.host.assets import cache_folder, cached, offline_folder, read_lock
from webxpu.host.browser import find_chrome, flags
from webxpu.host.fetch import Report
from webxpu.host.page import check_adapter, chosen_adapter, open_page
from webxpu.host.progress import download_bars
from webxpu.host.site import build_site


def doctor(adapter: str | None, *, kernels: bool = False) -> int:
    """Prints what was found, with `kernels` also which one each op gets. The exit code is that of the first thing that
    is missing."""
    console = Console(highlight=False)
    adapter = chosen_adapter(adapter)
    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    table.add_row("webxpu", version("webxpu"))
    table.add_row("Python", f"{platform.python_version()}  {sys.executable}")
    table.add_row("system", platform.platform())
    missing = _add_assets(table)
    code, trouble, chosen = exits.OK, "", ""
    try:
        table.add_row("browser", str(find_chrome()))
        table.add_row("flags", " ".join(flags(adapter)))
        with download_bars() as report:
            found = asyncio.run(_probe(adapter, report))
        gpu = _add_adapter(table, found)
        if kernels and gpu is not None:
            chosen = kernel_table(gpu)
        check_adapter(found, adapter)
    except exits.REPORTED as error:
        code, trouble = exits.code_of(error), str(error)
    console.print(table)
    if chosen:
        console.print(f"\n{chosen}", soft_wrap=True)
    if missing:
        console.print(f"\nNot here yet, `webxpu fetch` brings them: {', '.join(missing)}")
    console.print(f"\n{trouble}" if trouble else "\nThis machine can run models.", style="red" if trouble else "green")
    return code


def _add_assets(table: Table) -> list[str]:
    lock = read_lock()
    missing = []
    for name, asset in lock.assets.items():
        try:
            if cached(asset) is None:
                missing.append(name)
        except FetchError as error:
            missing.append(f"{name} ({error})")
    table.add_row(
        "assets", f"{len(lock.assets) - len(missing)} of {len(lock.assets)} in {offline_folder() or cache_folder()}"
    )
    return missing


async def _probe(adapter: str | None, report: Report) -> dict[str, Any]:
    async with open_page(build_site(report, model=False), adapter) as opened:
        return {**opened.probe, "browser": opened.browser}


def _add_adapter(table: Table, found: dict[str, Any]) -> Gpu | None:
    """Adds what is known of the adapter, and returns it as plans see it."""
    table.add_row("browser version", found["browser"])
    table.add_row("WebGPU", "yes" if found["webgpu"] else "no")
    info = found["adapter"]
    if info is None:
        table.add_row("adapter", "none")
        return None
    kind = "computes on the CPU" if info["isFallbackAdapter"] else "a GPU"
    table.add_row("adapter", f"{adapter_name(info)} ({info['vendor']} {info['architecture']}), {kind}")
    gpu = describe({**found, "info": info})
    table.add_row("target", f"{gpu.target or 'unknown'}: {gpu.why}")
    table.add_row("kernels for", ", ".join(sorted(gpu.features)) or "no feature")
    if info["subgroupMinSize"]:
        table.add_row("subgroups", f"{info['subgroupMinSize']} to {info['subgroupMaxSize']}")
    table.add_row("features", ", ".join(found["features"]))
    table.add_row("WGSL", ", ".join(found["wgslFeatures"]))
    for name, value in found["limits"].items():
        table.add_row("limits" if name == next(iter(found["limits"])) else "", f"{name} {value:,}")
    return gpu
