"""`webxpu verify` as a person calls it: a process of its own with a browser; then with kernels that are broken."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from webxpu.cases.case import gather_cases
from webxpu.gpu.kernels import variants

# The adapter of the other tests: CHROME_FLAGS where they are set, else SwiftShader.
ADAPTER = [] if os.environ.get("CHROME_FLAGS") else ["--adapter", "swiftshader"]
END_S = 300
# A main that breaks kernels, as (label, old text, new text), before it goes on.
BROKEN = """
import json, sys
from dataclasses import replace
from webxpu.gpu import program
from webxpu.host import cli

assemble, breaks = program.assemble, json.loads(sys.argv.pop(1))
def broken(kernel, root=None):
    module = assemble(kernel, root)
    old, new = breaks.get(kernel.label, ("", ""))
    assert old in module.code
    return replace(module, code=module.code.replace(old, new))

program.assemble = broken
sys.exit(cli.main(sys.argv[1:]))
"""


def verify(folder: Path, *names: str, breaks: dict[str, Any] | None = None) -> tuple[int, str, Any, str]:
    """The exit code, the text, the JSON, the page."""
    start = ["-m", "webxpu.host.cli"] if breaks is None else ["-c", BROKEN, json.dumps(breaks)]
    files = [folder / "new" / name for name in ("report.json", "report.html")]
    command = [*start, "verify", *ADAPTER, "--op", *names, "--json", str(files[0]), "--html", str(files[1])]
    done = subprocess.run([sys.executable, *command], capture_output=True, text=True, check=False, timeout=END_S)
    assert files[0].is_file(), done.stderr
    return done.returncode, done.stdout, json.loads(files[0].read_text("utf-8")), files[1].read_text("utf-8")


def test_every_case_of_the_ops_named_agrees_by_every_kernel(tmp_path: Path) -> None:
    names = ("softmax", "gather")
    code, text, found, page = verify(tmp_path, *names)
    assert code == 0, text
    assert found["passed"]
    assert found["cases"] + len(found["skipped"]) == sum(case.op in names for case in gather_cases())
    assert found["runs"] == sum(row["runs"] for row in found["rows"]) > found["cases"]
    assert {row["op"] for row in found["rows"]} == set(names)
    reached = {name for row in found["rows"] for name in row["kernels"].split(" + ")}
    lacking = {entry["kernel"] for entry in found["lacking"]}
    files = {f"{op}/{variant.name}" for op in names for variant in variants(op)}
    assert files == reached | lacking
    assert not reached & lacking
    for key in ("webxpu", "date", "browser", "device", "why"):
        assert found[key], key
    assert re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d\d:\d\d$", found["date"])
    for row in found["rows"]:
        assert set(row) == {
            "op", "kernels", "cases", "runs", "failures", "worst_abs", "worst_rel", "used", "tolerance",
        }  # fmt: skip
        assert 0 <= row["used"] <= 1
    assert text.splitlines()[-1].startswith("all agree: 2 ops, ")
    assert "All agree" in page
    assert not re.search(r"https?://", page)


def test_a_broken_kernel_is_1_and_its_cases_are_named_and_the_others_run(tmp_path: Path) -> None:
    breaks = {"softmax/kernel": ["exp(", "exp2("], "gather/kernel": ["fn main(", "fn other("]}
    code, text, found, page = verify(tmp_path, "softmax", "gather", breaks=breaks)
    assert code == 1
    assert not found["passed"]
    assert {f["by"].split()[0] for f in found["failures"]} == {"softmax/kernel", "gather/kernel"}
    cases = {f["case"] for f in found["failures"]}
    assert {"softmax-3x500", "gather-1-of-4x256"} <= cases
    assert "softmax-3x500 by softmax/kernel: 1500 elements disagree, worst at [" in text
    assert "; the tolerance is abs 1e-06 or rel 1e-05" in text
    agreeing = [row for row in found["rows"] if not row["failures"]]
    assert {row["kernels"] for row in agreeing} >= {"gather/blocks"}
    assert page.index("softmax-3x500") < page.index("<h2>By op</h2>")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1100])
def test_the_page_fits_its_window_in_both_colour_schemes(browser, tmp_path, width, scheme) -> None:
    from tests.host.test_verify import FOUND
    from webxpu.host.verify_page import html_report

    path = tmp_path / "report.html"
    path.write_text(html_report(FOUND), "utf-8")
    page = browser.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(path.as_uri())
    page.locator("summary").last.click()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    ink, paper = page.evaluate(
        "[getComputedStyle(document.body).color, getComputedStyle(document.body).backgroundColor]"
    )
    light = [sum(map(int, re.findall(r"\d+", colour)[:3])) for colour in (ink, paper)]
    assert (light[0] < light[1]) == (scheme == "light")
    assert asked == [path.as_uri()]
    page.close()
