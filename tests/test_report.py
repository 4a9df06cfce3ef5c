"""The report of a check: what is counted, what fails, how it is shown."""

import json

import numpy as np
import pytest

from tests.ops.conftest import LIMITS
from webxpu import ops
from webxpu.cases.case import EXACT, Case, Tolerance
from webxpu.errors import KernelError
from webxpu.gpu.frames import Overrun, Result
from webxpu.gpu.target import FEATURES, Gpu
from webxpu.report import Report, measure
from webxpu.trial import prepare

PLAIN = Gpu(LIMITS)
NEAR = Tolerance(1e-3, 1e-6)
X = np.linspace(-1, 1, 48, dtype=np.float32).reshape(3, 16)
CASE = Case("softmax", "3x16", lambda: (X,), tolerance=NEAR)


def report_of(*outputs, case=CASE, gpu=PLAIN):
    """The report of a case by its one plan, as often as there are outputs or errors."""
    report = Report("a device")
    trial = prepare(case, gpu, every=False)
    trial.plans *= len(outputs)
    report.add(trial, [o if isinstance(o, Exception) else Result([o], {}) for o in outputs])
    return report


def test_what_agrees_is_true_and_a_row():
    report = report_of(ops.softmax(X), ops.softmax(X) * np.float32(1.0005))
    assert report
    assert (report.cases, report.runs) == (1, 2)
    row = report.rows["softmax", "softmax/kernel"]
    assert (row.cases, row.runs, row.failures) == ({"softmax-3x16"}, 2, 0)
    assert row.worst.rel == pytest.approx(5e-4, rel=1e-3)
    assert row.worst.used == pytest.approx(0.5, rel=1e-3)
    assert str(report).splitlines()[1].split() == [
        "softmax", "softmax/kernel", "1", "2", "0", "0.0005", "abs", "1e-06", "or", "rel", "0.001", "ok",
    ]  # fmt: skip
    assert str(report).splitlines()[-1] == "all agree: 1 op, 1 case, 2 kernel runs in 0.0 s on a device"


def test_a_failure_names_the_case_the_kernels_the_worst_element_and_the_tolerance():
    wrong = ops.softmax(X)
    wrong[1, 7] *= 2
    report = report_of(wrong)
    assert not report
    [failure] = report.failures
    assert str(failure).startswith("softmax-3x16 by softmax/kernel: 1 elements disagree, worst at [1, 7]: got ")
    assert str(failure).endswith("; the tolerance is abs 1e-06 or rel 0.001")
    assert " FAILED" in str(report)
    assert report.summary().startswith("1 failure: ")


@pytest.mark.parametrize("error", [Overrun("something was written past the array"), KernelError("a.wgsl:1:1 no")])
def test_an_error_is_a_failure_of_its_kernels_and_leaves_the_other_runs(error):
    report = report_of(error, ops.softmax(X))
    assert [f.problem for f in report.failures] == [f"{type(error).__name__}: {error}"]
    row = report.rows["softmax", "softmax/kernel"]
    assert (row.runs, row.failures) == (2, 1)


def test_a_case_that_cannot_be_made_is_a_failure_and_counted():
    report = Report()
    report.add_error(CASE, ValueError("why"))
    assert not report
    assert report.cases == 1
    assert str(report.failures[0]) == "softmax-3x16: ValueError: why"


def test_nothing_that_ran_is_not_a_success():
    assert not Report()
    assert Report().summary() == "nothing ran: 0 ops, 0 cases, 0 kernel runs in 0.0 s"


def test_what_the_device_lacks_is_counted_by_the_missing_feature():
    half = Case("softmax", "half", lambda: (X.astype(np.float16),), tolerance=NEAR)
    report = Report()
    for case in (CASE, half):
        report.add(prepare(case, PLAIN), [Result([ops.softmax(X)], {})] * len(prepare(case, PLAIN).plans))
    assert report.skipped == {"softmax-half": "shader-f16"}
    assert report.lacking["softmax/kernel.subgroups"] == ("subgroups", 1)
    assert report.cases == 1
    notes = "\n".join(report.notes())
    assert "needs shader-f16, which this device lacks: " in notes
    assert "softmax/kernel.f16" in notes
    assert notes.splitlines()[0].endswith(" and 1 case")
    rich = Gpu(LIMITS, frozenset(FEATURES), (32, 32))
    assert prepare(half, rich).needs is None
    assert prepare(CASE, rich).lacking == {}


def test_the_data_is_plain_and_what_is_not_finite_is_none():
    broken = ops.softmax(X)
    broken[0, 0] = np.nan
    data = json.loads(json.dumps(report_of(broken, KernelError("x")).as_dict(), allow_nan=False))
    assert (data["passed"], data["cases"], data["runs"]) == (False, 1, 2)
    assert data["ops"] == [{"op": "softmax", "cases": 1, "runs": 2, "failures": 2}]
    [row] = data["rows"]
    assert row["used"] is None
    assert row["tolerance"] == {"abs": 1e-6, "rel": 1e-3}


def test_notebooks_get_a_table_with_failures_first_and_no_markup_of_an_error():
    report = report_of(ops.softmax(X))
    report.add(prepare(CASE, PLAIN, every=False), [KernelError("<b>array<f32></b>")])
    text = report._repr_html_()
    assert text.count("<tr") == 1 + len(report.rows)
    assert "&lt;b&gt;array&lt;f32&gt;&lt;/b&gt;" in text


@pytest.mark.parametrize(
    ("got", "want", "tolerance", "abs_", "rel", "used"),
    [
        ([1.0, 2.0], [1.0, 2.0], NEAR, 0, 0, 0),
        ([1.0005], [1.0], NEAR, 0, 5e-4, 0.5),  # by the relative measure: the absolute one would be 500 times over
        ([5e-7], [0.0], NEAR, 5e-7, 0, 0.5),  # by the absolute measure: relative to zero everything is far
        ([1.0005, 5e-7], [1.0, 0.0], NEAR, 5e-7, 5e-4, 0.5),
        ([1.002], [1.0], NEAR, 0, 2e-3, 2),
        ([2.0], [1.0], EXACT, 1, 0, np.inf),
        ([np.nan], [1.0], NEAR, np.inf, 0, np.inf),
        ([], [], NEAR, 0, 0, 0),
    ],
)
def test_each_element_counts_by_the_measure_that_it_is_nearer_to(got, want, tolerance, abs_, rel, used):
    worst = measure(np.array(got), np.array(want), tolerance)
    assert (worst.abs, worst.rel, worst.used) == pytest.approx((abs_, rel, used), rel=1e-6)
