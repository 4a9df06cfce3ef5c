"""Does this device compute what NumPy says? The cases that ship with the package, run on it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import webxpu.ops as ops
from webxpu.cases.case import EXACT, Case, agree, gather_cases
from webxpu.gpu.device import Device, open_device
from webxpu.gpu.op import Op


@dataclass
class Report:
    """cases   how many ran
    failures  one line for each that disagreed: the case, the worst element, the tolerance's name"""

    cases: int = 0
    failures: list[str] = field(default_factory=list)

    def __bool__(self) -> bool:
        return not self.failures


async def check(
    device: Device | None = None, *, quick: bool = True, progress: Callable[[int, int], object] | None = None
) -> Report:
    """Runs the ops' cases on a device, the quick ones or all, and compares with their NumPy bodies.

    device    None opens one for the time it takes
    progress  called with (cases done, cases in all)
    """
    opened = device or await open_device()
    report = Report()
    chosen = [case for case in gather_cases() if case.quick or not quick]
    try:
        for case in chosen:
            report.failures += await _disagreements(opened, case)
            report.cases += 1
            if progress is not None:
                progress(report.cases, len(chosen))
    finally:
        if device is None:
            opened.close()
    return report


async def _disagreements(device: Device, case: Case) -> list[str]:
    op: Op = getattr(ops, case.op)
    args = case.make()
    tensors = [None if a is None else device.tensor(a) for a in args]
    place = {"device": device} if op.generates else {}
    got = [*_outputs(op(*tensors, **case.kwargs, **place)), *(tensors[i] for i in _written(op))]
    found = [await tensor.numpy() for tensor in got]
    returned = op(*args, **case.kwargs)  # after the copies: it writes into the arguments that it declares
    wanted = [*_outputs(returned), *(args[i] for i in _written(op))]
    failures = []
    for have, want in zip(found, wanted, strict=True):
        tolerance = case.tolerance if case.tolerance is not None and want.dtype.kind == "f" else EXACT
        worst = agree(have, want, tolerance)
        if worst is not None:
            failures.append(f"{case}: {worst}")
    return failures


def _outputs(returned: Any) -> tuple[Any, ...]:
    if returned is None:
        return ()
    return returned if isinstance(returned, tuple) else (returned,)


def _written(op: Op) -> list[int]:
    return [i for i, name in enumerate(inspect.signature(op.body).parameters) if name in op.writes]
