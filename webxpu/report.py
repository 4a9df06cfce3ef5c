"""What checks of a device found: a table by op and kernels, the failures, and what the device cannot run."""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from webxpu.cases.case import EXACT, Case, Tolerance, agree
from webxpu.gpu.frames import Result

Pair = tuple[NDArray[Any], NDArray[Any]]
COLUMNS = ("op", "kernels", "cases", "runs", "worst abs", "worst rel", "tolerance", "")


@dataclass(frozen=True)
class Worst:
    """The largest errors of those that count: an element counts by the measure, absolute or relative, that is the
    smaller part of its tolerance. `used` is the larger of the two parts; up to 1 agrees."""

    abs: float = 0.0
    rel: float = 0.0
    used: float = 0.0


@dataclass(frozen=True)
class Failure:
    """A case that disagrees or cannot be run. `by` names the kernels to blame and how they were used."""

    op: str
    case: str
    by: str
    problem: str

    def __str__(self) -> str:
        return f"{self.case}{self.by and f' by {self.by}'}: {self.problem}"


@dataclass
class Row:
    """What one set of kernels did in one op's cases. `worst` is that of the run that came nearest to its tolerance."""

    op: str
    kernels: str
    cases: set[str] = field(default_factory=set)
    runs: int = 0
    failures: int = 0
    worst: Worst = Worst(used=-1.0)  # before any run
    tolerance: Tolerance = EXACT

    def texts(self) -> tuple[str, ...]:
        return (
            self.op,
            self.kernels,
            str(len(self.cases)),
            str(self.runs),
            _number(self.worst.abs),
            _number(self.worst.rel),
            tolerance_text(self.tolerance),
            "FAILED" if self.failures else "ok",
        )


@dataclass
class Report:
    """True where something ran and all of it agreed; printed, it is a table.

    cases    how many were run
    runs     how many times a kernel or a chain of kernels computed one of them
    rows     by op and kernels
    failures what disagreed or could not be run
    lacking  kernels that this device cannot run: the WebGPU feature that is missing, and in how many cases
    skipped  cases that this device cannot run by any kernel, and the WebGPU feature that is missing
    """

    device: str = ""
    cases: int = 0
    runs: int = 0
    seconds: float = 0.0
    rows: dict[tuple[str, str], Row] = field(default_factory=dict)
    failures: list[Failure] = field(default_factory=list)
    lacking: dict[str, tuple[str, int]] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return self.runs > 0 and not self.failures

    def add_run(self, case: Case, kernels: str, by: str, found: Iterable[Pair] | Exception) -> None:
        """Notes one run: what the kernels gave beside what the definition gives, or the error in place of it."""
        row = self.rows.setdefault((case.op, kernels), Row(case.op, kernels, tolerance=case.tolerance or EXACT))
        row.cases.add(str(case))
        row.runs += 1
        self.runs += 1
        problems = [f"{type(found).__name__}: {found}"] if isinstance(found, Exception) else []
        for got, want in () if isinstance(found, Exception) else found:
            tolerance = tolerance_of(case, want)
            worst = measure(got, want, tolerance)
            if worst.used > row.worst.used:
                row.worst, row.tolerance = worst, tolerance
            disagreement = agree(got, want, tolerance)
            if disagreement is not None:
                problems.append(f"{disagreement}; the tolerance is {tolerance_text(tolerance)}")
        row.failures += bool(problems)
        self.failures += [Failure(case.op, str(case), by, problem) for problem in problems]

    def add_error(self, case: Case, error: Exception) -> None:
        """Notes a case that failed before any kernel could be blamed."""
        self.failures.append(Failure(case.op, str(case), "", f"{type(error).__name__}: {error}"))

    def add_lacking(self, kernels: dict[str, str]) -> None:
        for kernel, feature in kernels.items():
            self.lacking[kernel] = (feature, self.lacking.get(kernel, ("", 0))[1] + 1)

    def summary(self) -> str:
        ops = len({op for op, _ in self.rows})
        verdict = f"{len(self.failures)} failures" if self.failures else "all agree" if self.runs else "nothing ran"
        return (
            f"{verdict}: {_count(ops, 'op')}, {_count(self.cases, 'case')}, {_count(self.runs, 'kernel run')} "
            f"in {self.seconds:.1f} s{self.device and f' on {self.device}'}"
        )

    def notes(self) -> list[str]:
        """What this device lacks, by the feature that is missing."""
        found = []
        for feature in sorted({*self.skipped.values(), *(name for name, _ in self.lacking.values())}):
            kernels = [kernel for kernel, (name, _) in self.lacking.items() if name == feature]
            cases = [case for case, name in self.skipped.items() if name == feature]
            found.append(
                f"needs {feature}, which this device lacks: {_count(len(kernels), 'kernel')}"
                + (f" ({', '.join(sorted(kernels))})" if kernels else "")
                + (f" and {_count(len(cases), 'case')}" if cases else "")
            )
        return found

    def __str__(self) -> str:
        table = aligned([COLUMNS, *(row.texts() for row in self.rows.values())]) if self.rows else ""
        return "\n".join(filter(None, [table, *map(str, self.failures), *self.notes(), self.summary()]))

    def _repr_html_(self) -> str:
        """A table for notebooks."""
        head = "".join(f"<th style='text-align:left'>{name}</th>" for name in COLUMNS)
        body = "".join(
            f"<tr{' style=color:#c62828;font-weight:bold' if row.failures else ''}>"
            + "".join(f"<td style='text-align:left'>{html.escape(text)}</td>" for text in row.texts())
            + "</tr>"
            for row in sorted(self.rows.values(), key=lambda row: not row.failures)
        )
        lines = [*map(str, self.failures), *self.notes()]
        items = "".join(f"<li>{html.escape(line)}</li>" for line in lines)
        return (
            f"<p><b>{html.escape(self.summary())}</b></p>{f'<ul>{items}</ul>' if lines else ''}"
            f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        )

    def as_dict(self) -> dict[str, Any]:
        """Plain data for JSON; an error that is not finite is None."""
        return {
            "passed": bool(self),
            "cases": self.cases,
            "runs": self.runs,
            "seconds": round(self.seconds, 3),
            "rows": [
                {
                    "op": row.op,
                    "kernels": row.kernels,
                    "cases": len(row.cases),
                    "runs": row.runs,
                    "failures": row.failures,
                    "worst_abs": _finite(row.worst.abs),
                    "worst_rel": _finite(row.worst.rel),
                    "tolerance": {"abs": row.tolerance.abs, "rel": row.tolerance.rel},
                }
                for row in self.rows.values()
            ],
            "failures": [
                {"op": f.op, "case": f.case, "by": f.by, "problem": f.problem, "text": str(f)} for f in self.failures
            ],
            "lacking": [
                {"kernel": kernel, "feature": feature, "cases": cases}
                for kernel, (feature, cases) in self.lacking.items()
            ],
            "skipped": [{"case": case, "feature": feature} for case, feature in self.skipped.items()],
        }


def pairs(result: Result, outputs: Sequence[NDArray[Any]], args: Sequence[Any]) -> list[Pair]:
    """What was computed beside what was wanted: the outputs, then the arguments that the definition wrote into."""
    return [*zip(result.outputs, outputs, strict=True), *((array, args[i]) for i, array in result.written.items())]


def returned_arrays(returned: Any) -> tuple[NDArray[Any], ...]:
    """What an op's definition returned, as a tuple."""
    return returned if isinstance(returned, tuple) else () if returned is None else (returned,)


def tolerance_of(case: Case, want: NDArray[Any]) -> Tolerance:
    """The case's tolerance for floats; integers must be equal."""
    return case.tolerance if case.tolerance is not None and want.dtype.kind == "f" else EXACT


def tolerance_text(tolerance: Tolerance) -> str:
    if not tolerance.abs and not tolerance.rel:
        return "exact"
    return f"abs {tolerance.abs:.3g} or rel {tolerance.rel:.3g}"


def measure(got: NDArray[Any], want: NDArray[Any], tolerance: Tolerance) -> Worst:
    """How near an output comes to its tolerance. What is not finite is infinitely far off."""
    if got.shape != want.shape or want.size == 0:
        return Worst()
    left, right = got.astype(np.float64).reshape(-1), want.astype(np.float64).reshape(-1)
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        absolute = np.abs(left - right)
        relative = absolute / np.maximum(np.abs(right), np.finfo(np.float64).smallest_subnormal)
        absolute, relative = (np.where(np.isnan(e), np.inf, e) for e in (absolute, relative))
        by_abs, by_rel = _part(absolute, tolerance.abs), _part(relative, tolerance.rel)
    nearer = by_abs <= by_rel
    used = float(np.where(nearer, by_abs, by_rel).max())
    return Worst(float(absolute.max(initial=0, where=nearer)), float(relative.max(initial=0, where=~nearer)), used)


def _part(error: NDArray[np.float64], tolerance: float) -> NDArray[np.float64]:
    return error / tolerance if tolerance else np.where(error > 0, np.inf, 0.0)


def aligned(rows: Sequence[Sequence[str]]) -> str:
    """Lines of text whose columns stand under each other."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join("  ".join(t.ljust(w) for t, w in zip(row, widths, strict=True)).rstrip() for row in rows)


def _number(value: float) -> str:
    return "0" if value == 0 else f"{value:.2g}"


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _count(number: int, thing: str) -> str:
    return f"{number:,} {thing}{'' if number == 1 else 's'}"
