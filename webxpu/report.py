"""What checks of a device found: a table by op and kernels, the failures, and what the device cannot run."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from webxpu.cases.case import EXACT, Case, Tolerance, agree
from webxpu.gpu.description import aligned
from webxpu.gpu.frames import Result
from webxpu.gpu.variants import kernel_names
from webxpu.trial import Trial

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
    worst: Worst = Worst(used=-1.0)  # before any run has left something to compare
    tolerance: Tolerance = EXACT

    def texts(self) -> tuple[str, ...]:
        return (
            self.op,
            self.kernels,
            str(len(self.cases)),
            str(self.runs),
            *(("-", "-", "-") if self.worst.used < 0 else self._measured()),
            "FAILED" if self.failures else "ok",
        )

    def _measured(self) -> tuple[str, str, str]:
        return number_text(self.worst.abs), number_text(self.worst.rel), tolerance_text(self.tolerance)


@dataclass
class Report:
    """True where something ran and all of it agreed; printed, it is a table.

    cases_of how many cases of each op were run
    runs     how many times a kernel or a chain of kernels computed one of them
    rows     by op and kernels
    failures what disagreed or could not be run
    lacking  kernels that this device cannot run: the WebGPU feature that is missing, and in how many cases
    ways     how many runs by each set of kernels and way of using them
    skipped  cases that this device cannot run by any kernel, and the WebGPU feature that is missing
    """

    device: str = ""
    cases_of: dict[str, int] = field(default_factory=dict)
    runs: int = 0
    seconds: float = 0.0
    rows: dict[tuple[str, str], Row] = field(default_factory=dict)
    ways: dict[str, int] = field(default_factory=dict)
    failures: list[Failure] = field(default_factory=list)
    lacking: dict[str, tuple[str, int]] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return self.runs > 0 and not self.failures

    def add(self, trial: Trial, results: Sequence[Result | Exception]) -> None:
        """Notes a trial with what each of its plans left, or the error in place of it."""
        case = str(trial.case)
        for kernel, feature in trial.lacking.items():
            self.lacking[kernel] = (feature, self.lacking.get(kernel, ("", 0))[1] + 1)
        if trial.needs is not None:
            self.skipped[case] = trial.needs
            return
        self._count_case(trial.case)
        for (by, plan), result in zip(trial.plans, results, strict=True):
            self.runs += 1
            self.ways[by] = self.ways.get(by, 0) + 1
            kernels = kernel_names(plan)
            row = self.rows.setdefault((trial.case.op, kernels), Row(trial.case.op, kernels))
            row.cases.add(case)
            row.runs += 1
            problems = _judge(row, trial, result)
            row.failures += bool(problems)
            self.failures += [Failure(trial.case.op, case, by, problem) for problem in problems]

    def add_error(self, case: Case, error: Exception) -> None:
        """Notes a case that failed before any kernel could be blamed."""
        self._count_case(case)
        self.failures.append(Failure(case.op, str(case), "", f"{type(error).__name__}: {error}"))

    @property
    def cases(self) -> int:
        return sum(self.cases_of.values())

    def _count_case(self, case: Case) -> None:
        self.cases_of[case.op] = self.cases_of.get(case.op, 0) + 1

    def summary(self) -> str:
        verdict = (
            count_text(len(self.failures), "failure") if self.failures else "all agree" if self.runs else "nothing ran"
        )
        counts = (
            count_text(len(self.cases_of), "op"),
            count_text(self.cases, "case"),
            count_text(self.runs, "kernel run"),
        )
        return f"{verdict}: {', '.join(counts)} in {self.seconds:.1f} s{self.device and f' on {self.device}'}"

    def notes(self) -> list[str]:
        """What this device lacks, by the feature that is missing."""
        found = []
        for feature in sorted({*self.skipped.values(), *(name for name, _ in self.lacking.values())}):
            kernels = [kernel for kernel, (name, _) in self.lacking.items() if name == feature]
            cases = [case for case, name in self.skipped.items() if name == feature]
            found.append(
                f"needs {feature}, which this device lacks: {count_text(len(kernels), 'kernel')}"
                + (f" ({', '.join(sorted(kernels))})" if kernels else "")
                + (f" and {count_text(len(cases), 'case')}" if cases else "")
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
            "ops": [
                {
                    "op": op,
                    "cases": cases,
                    "runs": sum(row.runs for row in self.rows.values() if row.op == op),
                    "failures": sum(failure.op == op for failure in self.failures),
                }
                for op, cases in self.cases_of.items()
            ],
            "rows": [
                {
                    "op": row.op,
                    "kernels": row.kernels,
                    "cases": len(row.cases),
                    "runs": row.runs,
                    "failures": row.failures,
                    "worst_abs": _finite(row.worst.abs) if row.worst.used >= 0 else None,
                    "worst_rel": _finite(row.worst.rel) if row.worst.used >= 0 else None,
                    "used": _finite(row.worst.used) if row.worst.used >= 0 else None,
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


def _judge(row: Row, trial: Trial, result: Result | Exception) -> list[str]:
    """What is wrong with a run; its row keeps the worst that it has seen."""
    if isinstance(result, Exception):
        return [f"{type(result).__name__}: {result}"]
    try:
        pairs = trial.pairs(result)
    except Exception as e:  # noqa: BLE001 - the definition itself fails, whatever the reason
        return [f"{type(e).__name__}: {e}"]
    problems = []
    for got, want in pairs:
        tolerance = tolerance_of(trial.case, want)
        worst = measure(got, want, tolerance)
        if worst.used > row.worst.used:
            row.worst, row.tolerance = worst, tolerance
        disagreement = agree(got, want, tolerance)
        if disagreement is not None:
            problems.append(f"{disagreement}; the tolerance is {tolerance_text(tolerance)}")
    return problems


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


def number_text(value: float) -> str:
    return "0" if value == 0 else f"{value:.2g}"


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def count_text(number: int, thing: str) -> str:
    return f"{number:,} {thing}{'' if number == 1 else 's'}"
