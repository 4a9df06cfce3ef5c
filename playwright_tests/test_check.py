"""`webxpu.check()` inside Pyodide: a table for what agrees, and for each broken kernel the case, the element, the
tolerance."""

from __future__ import annotations

import re

from playwright_tests.python_page import PythonPage

# What a person waits for the whole check at most, on a GPU.
CHECK_S = 10
ONLY = ["argmax", "cache_write", "rmsnorm", "softmax"]
BREAK = """
from dataclasses import replace
from webxpu.gpu import program

assemble = program.assemble
def broken(kernel, root=None):
    module = assemble(kernel, root)
    old, new = given["breaks"].get(kernel.label, ("", ""))
    assert old in module.code, kernel.label
    return replace(module, code=module.code.replace(old, new))

program.assemble = broken
try:
    report = await webxpu.check(only=given["only"])
finally:
    program.assemble = assemble
"""


def test_check_runs_the_quick_cases_by_every_kernel_and_prints_a_table(python: PythonPage) -> None:
    found = python.run(
        """
from webxpu.cases.case import gather_cases
from webxpu.gpu.kernels import variants

device = await webxpu.open_device()
seen = []
before = device.stats()
report = await webxpu.check(device, only=given["only"], progress=lambda *at: seen.append(at))
after = device.stats()
have = {f"{op}/{v.name}" for op in ("argmax", "rmsnorm", "softmax") for v in variants(op)
        if device.gpu.features.issuperset(v.features) and (v.dtype is None or v.dtype in device.gpu.features)}
device.close()
quick = [c for c in gather_cases() if c.quick and c.op in given["only"]]
return {"text": str(report), "html": report._repr_html_(), "passed": bool(report), "seen": seen, "quick": len(quick),
        "reached": [name for row in report.rows.values() for name in row.kernels.split(" + ")], "have": sorted(have),
        "data": report.as_dict(), "left": [after[k] - before[k] for k in ("buffers", "bytes", "programs")],
        "reads": after["reads"] - before["reads"]}
""",
        only=ONLY,
    )
    assert found["passed"], found["text"]
    assert found["seen"] == [[i + 1, found["quick"]] for i in range(found["quick"])]
    assert set(found["have"]) <= set(found["reached"])
    assert found["left"] == [0, 0, 0]
    assert found["reads"] == len(ONLY)
    lines = found["text"].splitlines()
    assert lines[0].split() == ["op", "kernels", "cases", "runs", "worst", "abs", "worst", "rel", "tolerance"]
    assert len([line for line in lines if re.fullmatch(r"rmsnorm +rmsnorm/kernel +\d+ +\d+ .* ok", line)]) == 1
    assert lines[-1].startswith("all agree: 4 ops, ")
    assert found["html"].count("<tr") == 1 + len(found["data"]["rows"])
    assert found["data"]["cases"] + len(found["data"]["skipped"]) == found["quick"]


def test_on_a_gpu_the_whole_check_takes_less_than_ten_seconds(python: PythonPage, seen: list[str]) -> None:
    found = python.run(
        """
device = await webxpu.open_device()
fallback = device.gpu.target == "cpu"  # there compiling takes minutes, and a few ops are enough
report = await webxpu.check(device, only=given["only"] if fallback else None)
device.close()
return {"passed": bool(report), "text": str(report), "seconds": report.seconds, "fallback": fallback}
""",
        only=["gather", "rope"],
    )
    seen.append(f"check(): {found['text'].splitlines()[-1]}")
    assert found["passed"], found["text"]
    assert found["fallback"] or found["seconds"] < CHECK_S


def test_a_wrong_kernel_is_named_with_its_case_the_worst_element_and_the_tolerance(python: PythonPage) -> None:
    breaks = {"softmax/kernel": ["exp(", "exp2("], "rmsnorm/kernel": ["fn main(", "fn other("]}
    passed, text, failures = python.run(
        f"{BREAK}\nreturn bool(report), str(report), report.as_dict()['failures']",
        only=["rmsnorm", "softmax"],
        breaks=breaks,
    )
    assert not passed
    wrong = [f for f in failures if f["op"] == "softmax"]
    assert {f["by"].split()[0] for f in wrong} == {"softmax/kernel"}
    assert "elements disagree, worst at [" in wrong[0]["problem"]
    assert wrong[0]["problem"].endswith("; the tolerance is abs 1e-06 or rel 1e-05")
    refused = [f for f in failures if f["op"] == "rmsnorm"]
    assert {f["by"].split()[0] for f in refused} == {"rmsnorm/kernel"}
    assert refused[0]["problem"].startswith("KernelError: ")
    assert "FAILED" in text
    assert text.splitlines()[-1].startswith(f"{len(failures)} failures: 2 ops, ")


def test_a_byte_that_is_written_beside_an_array_is_a_failure(python: PythonPage) -> None:
    failures = python.run(
        """
from webxpu import self_check
calls = self_check.framed_calls
def shifted(*args):
    found = calls(*args)
    return [type(c)(c.dispatch, [(h, o + 256 if b.access == "read_write" else o, n) for (h, o, n), b in
            zip(c.ranges, c.dispatch.bindings)]) for c in found]
self_check.framed_calls = shifted
try:
    report = await webxpu.check(only=["softmax"])
finally:
    self_check.framed_calls = calls
return [f["problem"] for f in report.as_dict()["failures"]]
"""
    )
    assert "Overrun: something was written past the array" in failures


def test_an_unknown_name_is_refused(python: PythonPage) -> None:
    text = python.run("""
try:
    await webxpu.check(only=["nothing"])
except webxpu.errors.ShapeError as e:
    return str(e)
""")
    assert text == "check: only must be names of ops, got nothing"
