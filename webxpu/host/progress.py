"""Progress of downloads on the terminal: bars on a screen, one line a finished file elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TaskID, TextColumn, TransferSpeedColumn

from webxpu.host.fetch import Report


@contextmanager
def download_bars(verb: str = "fetching", console: Console | None = None) -> Iterator[Report]:
    """Yields a report for `fetch`: it draws a bar a label, on standard error. The bars vanish when the block ends."""
    console = console or Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    tasks: dict[str, TaskID] = {}
    # Standard output is left alone: rich would hold back a line until it is complete.
    off = not console.is_terminal
    with Progress(*columns, console=console, transient=True, redirect_stdout=False, disable=off) as progress:

        def report(label: str, done: int, total: int | None) -> None:
            if label not in tasks:
                tasks[label] = progress.add_task(f"{verb} {label}", total=total)
                if not console.is_terminal:
                    console.print(f"{verb} {label}", highlight=False)
            progress.update(tasks[label], completed=done, total=total)

        yield report
