"""Writes `docs/ops/`, a page for each module of operations: `python docs/generate.py`."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from webxpu import ops
from webxpu.cases.case import Case, gather_cases
from webxpu.gpu.kernels import Variant, variants
from webxpu.gpu.op import Op, signature
from webxpu.gpu.target import FEATURES
from webxpu.report import tolerance_text

ROOT = Path(__file__).parent.parent
FOLDER = Path(__file__).parent / "ops"
# Libraries whose functions count as a counterpart.
LIBRARIES = ("torch", "torchaudio", "transformers", "librosa", "scipy", "numpy", "np", "gguf", "llama.cpp")
# More tolerances than these are told by the least and the most.
MOST_TOLERANCES = 3
CONVENTIONS = """\
Letters of dimensions: B batch, L query rows, S key rows, H heads, G key and value heads, D width, N out, K in,
V vocabulary. Arrays are contiguous and row-major. Called with NumPy arrays an operation computes its definition, in
float64 narrowed once; called with tensors it dispatches WGSL, which sums in float32. float64 arrays become float32,
int64 int32; empty arrays give empty arrays.

```python
x = np.array([[1.0, 2.0, 3.0]])
webxpu.ops.softmax(x)  # an array, by the definition
webxpu.ops.softmax(device.tensor(x))  # a tensor, on the GPU of `device = await webxpu.open_device()`
webxpu.ops.reduce(x, axis=1, kind="sum")  # arrays come first, options by name
```

An argument that does not fit raises `ShapeError`, a `ValueError`, before anything is dispatched: it names operation,
argument, rule and what was given. `help(webxpu.ops.softmax)` shows what its page here shows.
"""


def pages() -> dict[str, str]:
    """The file name and the text of every page."""
    cases = gather_cases()
    modules = members()
    return {
        "index.md": index(modules, cases),
        **{f"{module}.md": page(module, names, cases) for module, names in modules.items()},
    }


def members() -> dict[str, list[str]]:
    """The public names of each module of operations, in the order in which the module defines them."""
    text = (ROOT / "webxpu" / "ops" / "__init__.py").read_text("utf-8")
    imports = re.findall(r"^from webxpu\.ops\.(\w+) import (\([^)]*\)|.*)$", text, re.MULTILINE)
    found = {}
    for module, names in imports:
        source = (ROOT / "webxpu" / "ops" / f"{module}.py").read_text("utf-8")
        public = re.findall(r"\w+", names)
        found[module] = sorted(public, key=lambda name: _line(source, name))
    return found


@cache
def homes() -> dict[str, str]:
    """The module of each public name."""
    return {name: module for module, names in members().items() for name in names}


def _line(source: str, name: str) -> int:
    at = re.search(rf"^(?:def|class) {name}\b|^{name}\b.* = ", source, re.MULTILINE)
    return at.start() if at else len(source)


def index(modules: Mapping[str, Sequence[str]], cases: Sequence[Case]) -> str:
    """The page with all operations in two tables."""
    named = [module for module in modules if module not in ops.ENGINE]
    engine = [module for module in modules if module in ops.ENGINE]
    return "\n".join(
        [
            "# Operations",
            "",
            f"{len(cases):,} cases, each run by every kernel variant that the device can run.",
            "",
            CONVENTIONS,
            *_table(modules, named, cases),
            "",
            "## The engine's own",
            "",
            "Steps of the language-model engine, most of them fused: operations like the others.",
            "",
            *_table(modules, engine, cases),
            "",
        ]
    )


def _table(modules: Mapping[str, Sequence[str]], chosen: Sequence[str], cases: Sequence[Case]) -> Iterable[str]:
    yield "| module | what | functions | equals | kernels | cases |"
    yield "| --- | --- | --- | --- | ---: | ---: |"
    for module in chosen:
        names = modules[module]
        functions = ", ".join(f"`{name}`" for name in names)
        count = sum(case.op in names for case in cases)
        same = ", ".join(counterparts(names)) or "–"
        title = " ".join((inspect.getdoc(sys.modules[f"webxpu.ops.{module}"]) or "").split())
        what = _cell(title.split(". ")[0].rstrip("."))
        yield f"| [{module}]({module}.md) | {what} | {functions} | {same} | {len(variants(module))} | {count} |"


def counterparts(names: Sequence[str]) -> list[str]:
    """The functions of other libraries that the first paragraphs of the docstrings name, each once, as code."""
    found: dict[str, None] = {}
    for name in names:
        first = contract(getattr(ops, name)).split("\n\n")[0]
        for code in re.findall(r"`([^`]+)`", first):
            called = re.match(r"[\w.]+", code)
            if called and called.group().split(".")[0] in LIBRARIES and "." in called.group():
                found[f"`{called.group()}`"] = None
    return list(found)


def page(module: str, names: Sequence[str], cases: Sequence[Case]) -> str:
    """The page of one module."""
    title = inspect.getdoc(sys.modules[f"webxpu.ops.{module}"]) or ""
    links = {
        "definition": f"webxpu/ops/{module}.py",
        "cases": f"webxpu/cases/{module}.py",
        "kernels": f"kernels/{module}",
        "tests": f"tests/ops/test_{module}.py",
    }
    lines = [
        f"# {module}",
        "",
        title,
        "",
        " · ".join(f"[{name}](../../{path})" for name, path in links.items()) + " · [all operations](index.md)",
        "",
    ]
    for name in names:
        lines += [*_function(name), ""]
    return "\n".join([*lines, *_kernels(module), "", *_cases(names, cases), ""])


def _function(name: str) -> Iterable[str]:
    """A heading, the signature, and the contract: what it equals, arguments as a table, then conventions and edges."""
    value = getattr(ops, name)
    yield f"## {name}"
    yield ""
    yield "```python"
    yield signature(name, value)
    yield "```"
    if isinstance(value, Op) and value.writes:
        yield ""
        yield f"Writes into {' and '.join(f'`{argument}`' for argument in value.writes)}."
    if not isinstance(value, Op):
        yield ""
        yield "Plain Python and NumPy: it runs no kernel."
    for paragraph in contract(value).split("\n\n"):
        yield ""
        yield from _paragraph(paragraph)


def contract(value: Any) -> str:
    """The docstring of a function as it is written."""
    return inspect.getdoc(value.body if isinstance(value, Op) else value) or ""


def _paragraph(text: str) -> Iterable[str]:
    """Prose as it is; lines that begin with a name and two spaces as a table; what is indented as code."""
    lines = text.split("\n")
    rows = argument_rows(lines)
    if rows:
        yield "| | |"
        yield "| --- | --- |"
        for name, what in rows:
            yield f"| {_cell(name, code=name != 'returns')} | {_cell(what)} |"
    elif lines[0].startswith("    "):
        yield "```python"
        yield from (line.removeprefix("    ") for line in lines)
        yield "```"
    else:
        yield _escaped(text, "*<")


def argument_rows(lines: Sequence[str]) -> list[tuple[str, str]]:
    """The entries of a paragraph that lists arguments; none where it is another kind of paragraph."""
    rows: list[tuple[str, str]] = []
    for line in lines:
        start = re.match(r"(\S+(?:, \S+)*) {2,}(\S.*)$", line) or (rows and re.match(r"(\w+(?:, \w+)*): (\S.*)$", line))
        if start:
            rows.append((start.group(1), start.group(2)))
        elif rows and re.match(r" +\w+(?:, \w+)* {2,}\S", line):  # an option of its own inside the argument's text
            option, what = re.split(r" {2,}", line.strip(), maxsplit=1)
            rows[-1] = (rows[-1][0], f"{rows[-1][1]}\n`{option}` {what}")
        elif rows and line.startswith("  "):
            rows[-1] = (rows[-1][0], f"{rows[-1][1]} {line.strip()}")
        elif rows:
            rows[-1] = (rows[-1][0], f"{rows[-1][1]} {line}")
        else:
            return []
    return rows


def _cell(text: str, *, code: bool = False) -> str:
    """What stands in a table's cell."""
    if code:
        return ", ".join(f"`{name}`" for name in text.split(", "))
    return _escaped(text, "*<|").replace("\n", "<br>")


def _escaped(text: str, signs: str) -> str:
    """Signs that Markdown would read are escaped, outside of code; a bar also inside, where it would end a cell. Code
    that is a function's name leads to its page."""
    parts = re.split(r"(`[^`]*`)", text)
    for i, part in enumerate(parts):
        home = homes().get(part.strip("`")) if i % 2 else None
        for sign in signs if i % 2 == 0 else "|" if "|" in signs else "":
            part = part.replace(sign, f"\\{sign}")
        parts[i] = f"[{part}]({home}.md#{part.strip('`')})" if home else part
    return "".join(parts)


def _kernels(module: str) -> Iterable[str]:
    found = variants(module)
    yield "## Kernels"
    yield ""
    if not found:
        yield "None of its own."
        return
    yield "| file | for | what |"
    yield "| --- | --- | --- |"
    for variant in found:
        file = f"{variant.name}.wgsl"
        yield f"| [{file}](../../kernels/{module}/{file}) | {_for(variant)} | {_cell(kernel_text(module, variant))} |"


def _for(variant: Variant) -> str:
    """Which devices and tensors a variant is for."""
    names = [f"{variant.target} devices"] if variant.target else []
    names += [f"`{FEATURES[name][0]}`" for name in (*filter(None, [variant.dtype]), *variant.features)]
    return ", ".join(names) or "every device"


def kernel_text(module: str, variant: Variant) -> str:
    """The first sentences of a kernel's head, up to the reference."""
    lines = (ROOT / "kernels" / module / f"{variant.name}.wgsl").read_text("utf-8").splitlines()
    head = []
    for line in lines:
        if line.startswith(("// with:", "enable ", "requires ", "diagnostic(")):
            continue
        if not line.startswith("//"):
            break
        head.append(line.removeprefix("//").strip())
    return re.sub(r"\s*Reference:.*", "", " ".join(head))


def _cases(names: Sequence[str], cases: Sequence[Case]) -> Iterable[str]:
    yield "## Cases"
    yield ""
    rows = [(name, [case for case in cases if case.op == name]) for name in names]
    rows = [(name, own) for name, own in rows if own]
    if not rows:
        yield "None."
        return
    yield "| function | cases | in `check()` | tolerance | measured |"
    yield "| --- | ---: | ---: | --- | --- |"
    for name, own in rows:
        quick = sum(case.quick for case in own)
        tolerances = {case.tolerance: None for case in own if case.tolerance is not None}
        told = dict.fromkeys(tolerance_text(t) for t in tolerances)
        if len(told) > MOST_TOLERANCES:
            least = min(tolerances, key=lambda t: (t.abs, t.rel))
            most = max(tolerances, key=lambda t: (t.abs, t.rel))
            told = {f"by size, from {tolerance_text(least)} to {tolerance_text(most)}": None}
        why = "; ".join(dict.fromkeys(t.why for t in tolerances if t.why))
        yield f"| `{name}` | {len(own)} | {quick} | {'; '.join(told)} | {_cell(why)} |"


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    wanted = pages()
    for path in FOLDER.glob("*.md"):
        if path.name not in wanted:
            path.unlink()
    for name, text in wanted.items():
        (FOLDER / name).write_text(text, "utf-8")
    print(f"{len(wanted)} pages in {FOLDER}")


if __name__ == "__main__":
    main()
