"""`webxpu verify` as far as it goes without a browser: which cases, what stops none of them, the HTML report."""

import json
import re

import numpy as np
import pytest

from webxpu.cases.case import Case, gather_cases
from webxpu.errors import DeviceLost, KernelError
from webxpu.host import cli
from webxpu.host.verify import chosen_cases, verify_cases
from webxpu.host.verify_page import html_report
from webxpu.report import Report

FOUND = {
    "webxpu": "1.2.3",
    "date": "2026-11-30T17:57:44+00:00",
    "browser": "chromium 156",
    "device": "A <GPU> & Co",
    "adapter": {},
    "target": None,
    "why": "the adapter names no vendor",
    "features": ["subgroups"],
    "passed": False,
    "cases": 3,
    "runs": 5,
    "seconds": 1.25,
    "ops": [
        {"op": "argmax", "cases": 2, "runs": 3, "failures": 0},
        {"op": "softmax", "cases": 1, "runs": 2, "failures": 1},
    ],
    "rows": [
        {
            "op": op,
            "kernels": f"{op}/kernel",
            "cases": 1,
            "runs": 2,
            "failures": failures,
            "worst_abs": worst,
            "worst_rel": worst,
            "used": worst,
            "tolerance": {"abs": 1e-6, "rel": 1e-5},
        }
        for op, failures, worst in (("argmax", 0, 0.0), ("softmax", 1, None))
    ],
    "failures": [
        {
            "op": "softmax",
            "case": "softmax-2x8",
            "by": "softmax/kernel",
            "problem": "KernelError: array<f32>",
            "text": "softmax-2x8 by softmax/kernel: KernelError: array<f32>",
        }
    ],
    "lacking": [{"kernel": "softmax/kernel.sgmat", "feature": "chromium-experimental-subgroup-matrix", "cases": 4}],
    "skipped": [{"case": "softmax-half", "feature": "shader-f16"}],
}


class FakePage:
    """A page whose cases fail as told."""

    def __init__(self, *errors):
        self.errors, self.opened = list(errors), 0

    def try_case(self, report, case):
        error = self.errors.pop(0)
        if error is not None:
            raise error
        report.runs += 1

    def open(self):
        self.opened += 1


def test_the_cases_are_all_or_those_of_the_ops_named():
    assert chosen_cases(None) == gather_cases()
    assert {case.op for case in chosen_cases(["softmax", "argmax"])} == {"softmax", "argmax"}
    assert {case.op for case in chosen_cases(["conv", "pad"])} == {"conv1d", "conv2d", "conv3d", "pad"}


def test_a_name_that_is_no_ops_is_2_and_tells_the_names_there_are(capsys):
    assert cli.main(["verify", "--op", "softmix", "conv", "hann_window"]) == 2
    assert re.match(
        r"^webxpu verify: no op is called hann_window, softmix; there are .*softmax", capsys.readouterr().err
    )


def test_the_error_of_one_case_stops_no_other_and_a_lost_device_is_opened_again():
    cases = [Case("softmax", str(i), lambda: (np.ones(3, np.float32),)) for i in range(4)]
    page = FakePage(None, KernelError("no"), DeviceLost("gone"), None)
    seen = []
    report = verify_cases(page, cases, lambda *at: seen.append(at))
    assert [str(f) for f in report.failures] == ["softmax-1: KernelError: no", "softmax-2: DeviceLost: gone"]
    assert report.runs == 2
    assert page.opened == 1
    assert seen == [("softmax", i, 4) for i in range(4)]


def test_the_page_needs_nothing_from_anywhere_and_escapes_what_it_shows():
    page = html_report(FOUND)
    assert not re.search(r"(?:https?:)?//|<script|@import|url\(", page)
    assert "default-src 'none'" in page
    assert "A &lt;GPU&gt; &amp; Co" in page
    assert "KernelError: array&lt;f32&gt;" in page
    assert "<f32>" not in page


def test_the_page_has_failures_first_and_folds_the_ops_that_agree():
    page = html_report(FOUND)
    assert page.index("<h2>Failures</h2>") < page.index("<h2>Where and when</h2>") < page.index("<h2>By op</h2>")
    assert re.findall(r'<details class="(op[^"]*)"( open)?><summary><span class="name">(\w+)', page) == [
        ("op bad", " open", "softmax"),
        ("op", "", "argmax"),
    ]
    assert '<h1 class="verdict">1 failure</h1>' in page
    totals = dict(re.findall(r"<dt>([^<]+)</dt><dd>([\d,]+)</dd>", page))
    assert totals == {
        "Failures": "1",
        "Operations": "2",
        "Cases": "3",
        "Kernel runs": "5",
        "Kernels left out": "1",
        "Cases left out": "1",
    }
    assert "needs <code>shader-f16</code><p class=soft>1 case: <code>softmax-half</code></p>" in page
    assert "2 cases · 3 runs" in page
    assert "unknown: the adapter names no vendor" in page


def test_a_page_without_failures_says_so_and_one_of_nothing_too():
    good = {**FOUND, "passed": True, "failures": [], "lacking": [], "skipped": []}
    assert '<h1 class="verdict">All agree</h1>' in html_report(good)
    assert "<h2>Failures</h2>" not in html_report(good)
    assert "cannot run" not in html_report(good)
    nothing = {**FOUND, **Report().as_dict()}
    assert '<h1 class="verdict">Nothing ran</h1>' in html_report(nothing)
    assert '<body class="failed">' in html_report(nothing)


def test_the_data_of_the_page_is_what_json_holds():
    assert set(FOUND) - set(Report().as_dict()) == {
        "webxpu", "date", "browser", "device", "adapter", "target", "why", "features",
    }  # fmt: skip
    assert set(Report().as_dict()) <= set(FOUND)
    json.dumps(FOUND, allow_nan=False)


@pytest.mark.parametrize("arguments", [["--adapter", "metal"], ["--op"]])
def test_arguments_that_make_no_sense_are_2(arguments, capsys):
    with pytest.raises(SystemExit) as caught:
        cli.main(["verify", *arguments])
    assert caught.value.code == 2
    assert capsys.readouterr().err
