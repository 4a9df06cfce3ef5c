"""`webxpu verify`: every case of every op by every kernel that this machine's GPU can run, held to NumPy."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from importlib.metadata import version
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from webxpu.cases.case import Case, gather_cases
from webxpu.errors import DeviceLost, Unsupported
from webxpu.gpu.description import adapter_name
from webxpu.host import exits
from webxpu.host.browser import launch
from webxpu.host.exits import NoAdapter, UsageError
from webxpu.host.gpu_page import GpuPage, serving_cases
from webxpu.host.page import check_adapter, chosen_adapter
from webxpu.host.verify_page import html_report
from webxpu.report import COLUMNS, Report

# More failures than these are in the files, not on the terminal.
SHOWN_FAILURES = 40


def verify(options: argparse.Namespace) -> int:
    """The command. The exit code is 1 where a case disagrees or fails, and where nothing ran."""
    cases = chosen_cases(options.op)
    for path in filter(None, (options.json, options.html)):
        path.parent.mkdir(parents=True, exist_ok=True)
    adapter = chosen_adapter(options.adapter)
    with open_gpu_page(adapter) as (page, browser), _bar() as progress:
        report = verify_cases(page, cases, progress)
        told = about(page, browser)
    report.device = told["device"]
    _print(report)
    found = {**told, **report.as_dict()}
    if options.json:
        options.json.write_text(json.dumps(found, indent=1, ensure_ascii=False, allow_nan=False) + "\n", "utf-8")
    if options.html:
        options.html.write_text(html_report(found), "utf-8")
    return exits.OK if report else exits.FAILED


def chosen_cases(names: Sequence[str] | None) -> list[Case]:
    """The cases of the ops or modules named, or all. Raises UsageError for a name that is none."""
    try:
        return gather_cases(names)
    except LookupError as e:
        known = dict.fromkeys(case.op for case in gather_cases())
        raise UsageError(f"no op is called {e}; there are {', '.join(known)}") from e


def verify_cases(
    page: GpuPage, cases: Sequence[Case], progress: Callable[[str, int, int], object] | None = None
) -> Report:
    """Runs cases one after the other; what goes wrong with one is noted and stops no other.

    progress  called with (op, cases done, cases in all)
    """
    report = Report()
    start = time.monotonic()
    for done, case in enumerate(cases):
        if progress is not None:
            progress(case.op, done, len(cases))
        known = len(report.failures)
        try:
            page.try_case(report, case)
        except Exception as e:  # noqa: BLE001 - whatever it is, it is this case's failure and the next is run
            report.add_error(case, e)
        if any(failure.problem.startswith(DeviceLost.__name__) for failure in report.failures[known:]):
            page.open()
    report.seconds = time.monotonic() - start
    return report


@contextmanager
def open_gpu_page(adapter: str | None) -> Iterator[tuple[GpuPage, str]]:
    """The page with a device, and the browser's version. Raises NoBrowser and NoAdapter."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright, serving_cases() as server:
        browser = launch(playwright, adapter)
        try:
            try:
                page = GpuPage(browser.new_page(), server, "adapter")
            except Unsupported as e:
                raise NoAdapter(str(e)) from e
            check_adapter({"webgpu": True, "adapter": page.gpu.info}, adapter)
            yield page, f"{browser.browser_type.name} {browser.version}"
        finally:
            browser.close()


@contextmanager
def _bar() -> Iterator[Callable[[str, int, int], object]]:
    """Draws a bar on standard error, where that is a terminal."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description:20}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("")
        yield lambda op, done, total: bar.update(task, description=op, completed=done, total=total)


def about(page: GpuPage, browser: str) -> dict[str, Any]:
    """What ran, on what, and when: the head of every report."""
    gpu = page.gpu
    return {
        "webxpu": version("webxpu"),
        "date": datetime.now().astimezone().isoformat(timespec="seconds"),
        "browser": browser,
        "device": adapter_name(gpu.info),
        "adapter": dict(gpu.info),
        "target": gpu.target,
        "why": gpu.why,
        "features": list(page.report["features"]),
    }


def _print(report: Report) -> None:
    """A table that folds on a terminal; elsewhere plain text, a line a row."""
    console = Console(highlight=False)
    if not console.is_terminal:
        print(report)
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in COLUMNS:
        table.add_column(name, overflow="fold")
    for row in report.rows.values():
        table.add_row(*row.texts(), style="red" if row.failures else None)
    console.print(table)
    for failure in report.failures[:SHOWN_FAILURES]:
        console.print(str(failure), style="red", markup=False)
    if len(report.failures) > SHOWN_FAILURES:
        console.print(f"and {len(report.failures) - SHOWN_FAILURES} failures more", style="red")
    for note in report.notes():
        console.print(note, style="dim", markup=False)
    console.print(f"\n{report.summary()}", style="green" if report else "red", markup=False)
