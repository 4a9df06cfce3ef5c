"""The HTML report of `webxpu verify`: one file without scripts that needs nothing from anywhere."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from string import Template
from typing import Any

from webxpu.cases.case import Tolerance
from webxpu.report import count_text, number_text, tolerance_text

_TEMPLATE = Path(__file__).with_name("verify.html")
_HEAD = ("Kernels", "Cases", "Runs", "Worst abs", "Worst rel", "Tolerance", "Used of it")


def html_report(found: Mapping[str, Any]) -> str:
    """The page for what `webxpu verify --json` writes."""
    failures: Sequence[Mapping[str, Any]] = found["failures"]
    verdict = f"{len(failures):,} failures" if failures else "All agree" if found["runs"] else "Nothing ran"
    if len(failures) == 1:
        verdict = "1 failure"
    return Template(_TEMPLATE.read_text("utf-8")).substitute(
        title=escape(f"webxpu verify: {verdict} on {found['device']}"),
        state="passed" if found["passed"] else "failed",
        verdict=verdict,
        lead=escape(f"Each case, by every kernel that {found['device']} can run, compared with its NumPy definition."),
        totals="".join(_totals(found)),
        failures="<h2>Failures</h2>" + "".join(map(_failure, failures)) if failures else "",
        facts="".join(_facts(found)),
        ops="".join(_ops(found)),
        lacking=_lacking(found),
    )


def _totals(found: Mapping[str, Any]) -> Iterable[str]:
    totals = {
        "Failures": len(found["failures"]),
        "Operations": len(found["ops"]),
        "Cases": found["cases"],
        "Kernel runs": found["runs"],
        "Kernels left out": len(found["lacking"]),
        "Cases left out": len(found["skipped"]),
    }
    for name, count in totals.items():
        bad = ' class="bad"' if name == "Failures" and count else ""
        yield f"<div{bad}><dt>{name}</dt><dd>{count:,}</dd></div>"


def _failure(failure: Mapping[str, Any]) -> str:
    by = f" by <code>{escape(failure['by'])}</code>" if failure["by"] else ""
    name = f"<strong><code>{escape(failure['case'])}</code></strong>"
    return f'<div class="failure">{name}{by}<p>{escape(failure["problem"])}</p></div>'


def _facts(found: Mapping[str, Any]) -> Iterable[str]:
    facts = {
        "Device": found["device"],
        "Target": f"{found['target'] or 'unknown'}: {found['why']}",
        "Browser": found["browser"],
        "Date": found["date"].replace("T", " "),
        "webxpu": found["webxpu"],
        "Took": f"{found['seconds']:.1f} s",
        "Features": ", ".join(found["features"]) or "none",
    }
    for name, text in facts.items():
        yield f"<dt>{name}</dt><dd>{escape(text)}</dd>"


def _ops(found: Mapping[str, Any]) -> Iterable[str]:
    """An entry an op that unfolds to its kernels; those with failures first, and open."""
    head = "".join(f"<th>{name}</th>" for name in _HEAD)
    for op in sorted(found["ops"], key=lambda op: not op["failures"]):
        rows = [row for row in found["rows"] if row["op"] == op["op"]]
        bad, opened = (" bad", " open") if op["failures"] else ("", "")
        counts = f"{count_text(op['cases'], 'case')} · {count_text(op['runs'], 'run')}"
        yield (
            f'<details class="op{bad}"{opened}><summary><span class="name">{escape(op["op"])}</span>'
            f'<span class="count">{counts}</span><span class="mark">{"failed" if bad else "agrees"}</span></summary>'
            f'<div class="scroll"><table><thead><tr>{head}</tr></thead>'
            f"<tbody>{''.join(map(_row, rows))}</tbody></table></div></details>"
        )


def _row(row: Mapping[str, Any]) -> str:
    tolerance = Tolerance(row["tolerance"]["rel"], row["tolerance"]["abs"])
    worst = ["–" if row[key] is None else number_text(row[key]) for key in ("worst_abs", "worst_rel")]
    cells = [str(row["cases"]), str(row["runs"]), *worst, tolerance_text(tolerance), _bar(row["used"])]
    cells[2:5] = (text.replace("-", "\N{NON-BREAKING HYPHEN}") for text in cells[2:5])
    bad = ' class="bad"' if row["failures"] else ""
    kernels = f"<code>{escape(row['kernels'])}</code>"
    told = "".join(f'<td data-label="{name}">{cell}</td>' for name, cell in zip(_HEAD[1:], cells, strict=True))
    return f"<tr{bad}><td>{kernels}</td>{told}</tr>"


def _bar(used: float | None) -> str:
    """How much of its tolerance the worst run took."""
    if used is None:
        return "–"
    return f'<span class="part"><i style="width:{min(used, 1):.0%}"></i></span>{"over" if used > 1 else f"{used:.0%}"}'


def _lacking(found: Mapping[str, Any]) -> str:
    features = sorted({entry["feature"] for entry in [*found["lacking"], *found["skipped"]]})
    if not features:
        return ""
    items = []
    for feature in features:
        kernels = [f"<code>{escape(k['kernel'])}</code>" for k in found["lacking"] if k["feature"] == feature]
        cases = [f"<code>{escape(c['case'])}</code>" for c in found["skipped"] if c["feature"] == feature]
        listed = "".join(
            f"<p class=soft>{count_text(len(names), what)}: {', '.join(names)}</p>"
            for names, what in ((kernels, "kernel"), (cases, "case"))
            if names
        )
        items.append(f"<li>needs <code>{escape(feature)}</code>{listed}</li>")
    return f'<h2>What this device cannot run</h2><ul class="lacking">{"".join(items)}</ul>'
