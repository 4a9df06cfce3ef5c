"""Runs mutants: `python -m tests.mutation [op ...]`. Exit status 1 where one survives or was not put to the test."""

from __future__ import annotations

import importlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from playwright.sync_api import sync_playwright

import webxpu
from tests.mutation import Mutant, gather_mutants
from tests.mutation.outcome import MARK
from webxpu.cases.case import Case, gather_cases
from webxpu.gpu.frames import Overrun
from webxpu.gpu.kernels import assemble, parse_variant, variants
from webxpu.gpu.plan import Plan
from webxpu.host.browser import launch
from webxpu.host.gpu_page import GpuPage, serving_cases
from webxpu.report import Report
from webxpu.trial import prepare

ROOT = Path(__file__).parent.parent.parent
COPIED = ("webxpu", "kernels", "bridge", "web", "tests", "playwright_tests", "pyproject.toml", "README.md", "docs")
# What a test may fail with when it sees a wrong value: an assertion, or pytest's own "DID NOT RAISE".
WRONG = {"AssertionError", "Failed"}
# Set for the run inside the copy, where files may be changed.
INSIDE = "WEBXPU_MUTATION_COPY"


class Invalid(Exception):
    """The mutant was not put to the test: its text is not there, nothing runs it, or it fails, but not by value."""


class Missing(Exception):
    """The device lacks what the mutant's kernel needs."""


def main(names: list[str]) -> int:
    if os.environ.get(INSIDE) is None:
        return _run_copy(names)
    cases = {str(case): case for case in gather_cases()}
    mutants = gather_mutants(names)
    verdicts: Counter[str] = Counter()
    with sync_playwright() as playwright:
        browser = launch(playwright)
        with serving_cases() as server:
            gpu = GpuPage(browser.new_page(), server, "adapter")
            passing: set[str] = set()
            for mutant in mutants:
                verdict, detail = judge(mutant, cases, gpu, passing)
                verdicts[verdict] += 1
                print(f"{verdict:9} {mutant}{detail and f'{os.linesep}          {detail}'}", flush=True)
            gpu.close()
        browser.close()
    print(", ".join(f"{count} {verdict}" for verdict, count in verdicts.most_common()), f"of {len(mutants)}")
    return 1 if verdicts["SURVIVED"] or verdicts["INVALID"] or not mutants else 0


def judge(mutant: Mutant, cases: dict[str, Case], gpu: GpuPage, passing: set[str]) -> tuple[str, str]:
    """The verdict on a mutant and what led to it. `passing` collects the cases that were seen to pass unbroken."""
    try:
        if mutant.case not in passing:
            before = _failure(mutant, cases, gpu)
            if before is not None:
                raise Invalid(f"the case fails without the mutant: {before}")
            passing.add(mutant.case)
        with _broken(mutant):
            seen = _failure(mutant, cases, gpu)
    except Missing as e:
        return "not here", str(e)
    except Exception as e:  # noqa: BLE001 - whatever stops one mutant must not stop the rest
        return "INVALID", f"{type(e).__name__}: {e}".partition("\n")[0]
    if seen is None:
        return ("survives", mutant.survives) if mutant.survives else ("SURVIVED", "")
    return ("INVALID", f"expected to survive, but {seen}") if mutant.survives else ("killed", seen)


def _failure(mutant: Mutant, cases: dict[str, Case], gpu: GpuPage) -> str | None:
    """How the mutant's case fails by value, or None."""
    if "::" in mutant.case:
        return _failed_assertion(mutant.case)
    if mutant.case not in cases:
        raise Invalid(f"there is no case {mutant.case!r}")
    return _disagreement(cases[mutant.case], mutant.file, gpu)


def _disagreement(case: Case, file: str, gpu: GpuPage) -> str | None:
    trial = prepare(case, gpu.gpu)
    trial.plans = [(by, plan) for by, plan in trial.plans if not file.startswith("kernels/") or file in _files(plan)]
    if not trial.plans:
        lacking = _needs(file) - gpu.gpu.features
        if lacking:
            raise Missing(f"this device lacks {', '.join(sorted(lacking))}")
        raise Invalid(f"no plan of {case} uses {file}")
    results = gpu.attempt(trial.op, trial.args, case.kwargs, [plan for _, plan in trial.plans])
    for result in results:
        if isinstance(result, Exception) and not isinstance(result, Overrun):
            raise result
    trial.wanted()  # raises what the definition raises: to the report it would be one more failure
    report = Report()
    report.add(trial, results)
    return f"{report.failures[0].by}: {report.failures[0].problem}" if report.failures else None


def _needs(file: str) -> set[str]:
    """The features that a kernel's file name asks for."""
    if not file.startswith("kernels/") or file.startswith("kernels/_with/"):
        return set()
    variant = parse_variant(Path(file).name)
    return {*variant.features, *filter(None, [variant.dtype])}


def _files(plan: Plan) -> set[str]:
    return {f"kernels/{file}" for d in plan.dispatches for file, _, _ in assemble(d.kernel).segments}


def _failed_assertion(node: str) -> str | None:
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-x",
        "-p",
        "tests.mutation.outcome",
        "-p",
        "no:cacheprovider",
        node,
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return None
    types = [line.removeprefix(MARK) for line in done.stdout.splitlines() if line.startswith(MARK)]
    if not types or not set(types) <= WRONG:
        raise Invalid(f"the test ends with {', '.join(types) or done.stdout[-300:]}")
    return "the test fails its assertion"


@contextmanager
def _broken(mutant: Mutant) -> Iterator[None]:
    path = ROOT / mutant.file
    text = path.read_text("utf-8")
    if text.count(mutant.old) != 1:
        raise Invalid(f"{mutant.old!r} occurs {text.count(mutant.old)} times")
    path.write_text(text.replace(mutant.old, mutant.new), "utf-8")
    try:
        _read_again(mutant.file)
        yield
    finally:
        path.write_text(text, "utf-8")
        _read_again(mutant.file)


def _read_again(file: str) -> None:
    """Lets this process see a changed file: kernels are read anew, a module is executed anew."""
    assemble.cache_clear()
    variants.cache_clear()
    if file.endswith(".py"):
        module = importlib.import_module(file.removesuffix(".py").replace("/", "."))
        _reload(module)


def _reload(module: ModuleType) -> None:
    importlib.reload(module)
    for name in webxpu.ops.__all__:
        if hasattr(module, name):
            setattr(webxpu.ops, name, getattr(module, name))


def _run_copy(names: list[str]) -> int:
    with tempfile.TemporaryDirectory(prefix="webxpu-mutation-") as folder:
        for name in COPIED:
            source = ROOT / name
            if source.is_dir():
                shutil.copytree(source, Path(folder) / name, ignore=shutil.ignore_patterns("__pycache__"))
            elif source.exists():
                shutil.copy2(source, folder)
        environment = {**os.environ, INSIDE: "1", "PYTHONPATH": folder, "PYTHONDONTWRITEBYTECODE": "1"}
        command = [sys.executable, "-m", "tests.mutation", *names]
        return subprocess.run(command, cwd=folder, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
