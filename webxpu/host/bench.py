"""`webxpu bench`: the device's ceilings, and operations as a part of them, in headless Chrome."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from rich.console import Console
from rich.table import Table

from webxpu.bench.roofline import Probe, Roofline, multiply_probe, read_probe
from webxpu.bench.speeds import SPEEDS, Speed
from webxpu.errors import Unsupported
from webxpu.host import exits
from webxpu.host.exits import UsageError
from webxpu.host.filled import FilledRun
from webxpu.host.gpu_page import GpuPage
from webxpu.host.page import chosen_adapter
from webxpu.host.verify import about, open_gpu_page

# A submit holds so much work, and a call so often.
BUSY_MS = 40
LEAST_COPIES, MOST_COPIES = 3, 400


@dataclass(frozen=True)
class Measured:
    """milliseconds of GPU; fraction: of what the ceiling that binds it allows"""

    op: str
    size: str
    kernels: str
    milliseconds: float
    bytes_s: float
    flops_s: float
    bound_by: str
    fraction: float


def measure_roofline(page: GpuPage) -> Roofline:
    """The ceilings of the page's device."""
    probes = (read_probe(int(page.gpu.limits["maxStorageBufferBindingSize"])), multiply_probe())
    return Roofline(*(_rate(page, probe) for probe in probes))


def measure(page: GpuPage, speed: Speed, roofline: Roofline) -> Measured:
    """The time of one call's dispatches, by the kernels that the device gets."""
    run = FilledRun.of(page, speed.op, speed.args, speed.kwargs)
    seconds = _steady(run) / 1000
    kernels = " + ".join(dict.fromkeys(d.kernel.label for d in run.plan.dispatches))
    return Measured(
        speed.op.name,
        speed.size,
        kernels,
        seconds * 1000,
        speed.nbytes / seconds,
        speed.flops / seconds,
        roofline.binds(speed.nbytes, speed.flops),
        roofline.least_seconds(speed.nbytes, speed.flops) / seconds,
    )


def bench(options: argparse.Namespace) -> int:
    """The command. Raises UsageError for an op that is not measured, and Unsupported on an adapter that computes on the
    CPU: its speed says nothing of a GPU."""
    chosen = chosen_speeds(options.op)
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
    console = Console(highlight=False)
    with open_gpu_page(chosen_adapter(options.adapter)) as (page, browser):
        if page.gpu.target == "cpu":
            raise Unsupported(f"no speed is measured here: {page.gpu.why}")
        told = about(page, browser)
        roofline = measure_roofline(page)
        console.print(
            f"{told['device']}, {told['browser']}: reads {roofline.read_bytes_s / 1e9:,.0f} GB/s, "
            f"multiplies and adds {roofline.flops_s / 1e12:.1f} TFLOP/s"
        )
        measured = [measure(page, s, roofline) for s in chosen]
    console.print(_table(measured))
    if options.json:
        found = {**told, "roofline": asdict(roofline), "ops": [asdict(m) for m in measured]}
        options.json.write_text(json.dumps(found, indent=1) + "\n", "utf-8")
    return exits.OK


def chosen_speeds(names: Sequence[str] | None) -> list[Speed]:
    """What is measured of the ops named, or of all. Raises UsageError for a name of which nothing is."""
    measured = dict.fromkeys(s.op.name for s in SPEEDS)
    unknown = sorted(set(names or ()) - measured.keys())
    if unknown:
        raise UsageError(f"nothing is measured of {', '.join(unknown)}; there are {', '.join(measured)}")
    return [s for s in SPEEDS if not names or s.op.name in names]


def _table(measured: Sequence[Measured]) -> Table:
    table = Table("op", "size", "kernels", "ms", "GB/s", "TFLOP/s", "of its ceiling", box=None)
    for column in table.columns[3:]:
        column.justify = "right"
    for m in measured:
        rates = f"{m.bytes_s / 1e9:,.0f}", f"{m.flops_s / 1e12:.1f}" if m.flops_s else ""
        table.add_row(m.op, m.size, m.kernels, f"{m.milliseconds:.3f}", *rates, f"{m.fraction:.0%} of {m.bound_by}")
    return table


def _rate(page: GpuPage, probe: Probe) -> float:
    run = FilledRun(page, probe.name, probe.args, [probe.output], probe.plan)
    return probe.work / (_steady(run) / 1000)


def _steady(run: FilledRun) -> float:
    """The least milliseconds of a call, of as many in one submit as keep the device at work for a while: an idle device
    lowers its clock, and takes some milliseconds to raise it again."""
    first = run.milliseconds(1, 1)
    return min(first, run.milliseconds(min(max(round(BUSY_MS / max(first, 0.01)), LEAST_COPIES), MOST_COPIES)))
