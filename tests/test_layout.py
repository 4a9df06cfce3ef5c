"""The shape of the repository: what must stand beside what, what may import what, how large a file may be."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from webxpu.gpu.kernels import parse_variant, variants
from webxpu.host.kernels import modules

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "webxpu"
MAX_LINES = 500
# The names through which Python reaches JavaScript in Pyodide.
JAVASCRIPT = {"js", "pyodide", "pyodide_js", "_pyodide", "webxpu_bridge"}
# What the package may import outside `host`; `tokenizers` is the CPython backend and is imported when it is used.
RUNTIME = {"numpy", "jinja2", "markupsafe", "webxpu"}
LAZY = {"tokenizers"}
TOP_LEVEL = {"webxpu", "kernels", "bridge", "web", "tests", "playwright_tests", "docs"}


def sources(*folders):
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


def names(folder, pattern="*.py", prefix=""):
    return {p.stem.removeprefix(prefix) for p in (ROOT / folder).glob(pattern) if not p.stem.startswith("_")}


OPS = sorted(names("webxpu/ops"))


def imports(tree, lazy):
    """The top-level package names that a module imports: at its head, or (`lazy`) anywhere."""
    for node in ast.walk(tree) if lazy else tree.body:
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield str(node.module).split(".")[0]


@pytest.mark.parametrize("op", OPS)
def test_each_op_has_its_kernels_its_cases_and_its_tests(op):
    for path in (f"webxpu/cases/{op}.py", f"tests/ops/test_{op}.py", f"kernels/{op}"):
        assert (ROOT / path).exists(), f"webxpu/ops/{op}.py has no {path}"


def test_nothing_stands_beside_the_ops_that_belongs_to_none():
    assert names("webxpu/cases") - {"case"} == set(OPS)
    assert names("tests/ops", "test_*.py", "test_") == set(OPS)
    assert {path.name for path in (ROOT / "kernels").iterdir() if not path.name.startswith("_")} == set(OPS)


def test_each_op_has_one_import_line():
    text = (PACKAGE / "ops" / "__init__.py").read_text()
    imported = re.findall(r"^from webxpu\.ops\.(\w+) import ", text, re.MULTILINE)
    assert sorted(imported) == OPS


@pytest.mark.parametrize("path", sources("webxpu"), ids=lambda path: str(path.relative_to(ROOT)))
def test_only_the_seam_reaches_javascript_and_only_the_host_part_needs_its_extras(path):
    tree = ast.parse(path.read_text("utf-8"))
    found = set(imports(tree, lazy=True))
    if path != PACKAGE / "bridge.py":
        assert not found & JAVASCRIPT
    if PACKAGE / "host" not in path.parents:
        assert set(imports(tree, lazy=False)) - set(sys.stdlib_module_names) <= RUNTIME | JAVASCRIPT
        assert found - set(sys.stdlib_module_names) <= RUNTIME | LAZY | JAVASCRIPT


def test_text_imports_nothing_of_models_and_devices():
    pattern = re.compile(r"^\s*(?:from|import) webxpu\.(?!errors|formats|text)\w+", re.MULTILINE)
    found = {path.name: pattern.findall(path.read_text("utf-8")) for path in sources("webxpu/text")}
    assert not {name: lines for name, lines in found.items() if lines}


def test_importing_the_package_touches_no_javascript_and_no_tool_of_the_host():
    modules = [
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        for path in sources("webxpu")
        if PACKAGE / "host" not in path.parents and path != PACKAGE / "bridge.py"
    ]
    script = f"""
import importlib, sys
for name in {modules!r}:
    importlib.import_module(name)
foreign = {JAVASCRIPT | LAZY | {"playwright", "aiohttp", "rich", "platformdirs", "pytest"}!r}
print(*sorted(foreign & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "\n", "")


def test_no_file_grows_past_what_one_reads_at_once():
    folders = {"webxpu": "*.py", "tests": "*.py", "playwright_tests": "*.py", "bridge": "*.mjs", "web": "*.mjs"}
    long = {
        str(path.relative_to(ROOT)): lines
        for folder, pattern in folders.items()
        for path in (ROOT / folder).rglob(pattern)
        if (lines := path.read_text("utf-8").count("\n")) > MAX_LINES
    }
    assert not long


@pytest.mark.parametrize("path", sorted((ROOT / "bridge").glob("*.mjs")), ids=lambda path: path.name)
def test_only_the_worker_and_the_client_import_other_modules(path):
    text = path.read_text("utf-8")
    static = re.search(r"^\s*(import\s+[\w{*\"']|export\s+.*\bfrom\b)", text, re.MULTILINE)
    assert text.startswith("// @ts-check\n")
    if path.name not in ("worker.mjs", "client.mjs"):
        assert not static, f"{path.name} imports: {static.group() if static else ''}"


@pytest.mark.parametrize("path", sorted((ROOT / "kernels").rglob("*.wgsl")), ids=lambda path: path.stem)
def test_every_kernel_file_has_a_name_that_parses_and_braces_that_match(path):
    text = re.sub(r"//.*", "", path.read_text("utf-8"))
    for opening, closing in ("{}", "()", "[]"):
        assert text.count(opening) == text.count(closing), f"{opening}{closing} do not match"
    if "_with" not in path.parts:
        assert parse_variant(path.name).entry
        assert path.name.removesuffix(".wgsl") in {variant.name for variant in variants(path.parent.name)}


@pytest.mark.parametrize(("name", "module"), list(modules()), ids=lambda value: value if isinstance(value, str) else "")
def test_every_assembled_module_has_one_entry_and_bindings_without_a_gap(name, module):
    code = re.sub(r"//.*", "", module.code)
    assert len(re.findall(r"@compute\b", code)) == 1
    assert len(re.findall(r"\bfn main\(", code)) == 1
    bindings = [tuple(map(int, found)) for found in re.findall(r"@group\((\d+)\)\s*@binding\((\d+)\)", code)]
    assert sorted(bindings) == [(0, index) for index in range(len(bindings))]
    assert not re.search(r"\boverride\s+\w+\s*:\s*\w+\s*=", code), "an override must have no default"
    lines = sum(count for _, _, count in module.segments)
    assert lines <= module.code.count("\n")


def test_there_are_no_other_folders_than_the_fixed_ones():
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False).stdout.split(
        "\n"
    )
    folders = {line.split("/")[0] for line in listed if "/" in line}
    assert folders <= TOP_LEVEL | {".ci"}


def test_nothing_is_skipped_or_expected_to_fail_but_cases_in_float16_where_a_device_has_none():
    marks = re.compile(r"pytest\.(?:skip|xfail|importorskip)\b|mark\.(?:skip|skipif|xfail)\b")
    found = {
        str(path.relative_to(ROOT)): len(marks.findall(path.read_text("utf-8")))
        for path in sources("tests", "playwright_tests")
        if path != Path(__file__) and marks.search(path.read_text("utf-8"))
    }
    assert found == {"playwright_tests/ops/test_cases.py": 1}
    assert 'pytest.skip("needs shader-f16")' in (ROOT / "playwright_tests/ops/test_cases.py").read_text("utf-8")
