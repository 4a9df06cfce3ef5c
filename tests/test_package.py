"""What `import webxpu` gives, and what it must not pull in."""

from __future__ import annotations

import subprocess
import sys

import pytest

import webxpu

SEAM = ("js", "pyodide", "pyodide_js", "webxpu_bridge", "webxpu.bridge")


def fresh(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.strip()


def test_every_public_name_is_there() -> None:
    for name in webxpu.__all__:
        assert getattr(webxpu, name) is not None
    assert set(webxpu.__all__) <= set(dir(webxpu))


def test_no_module_hides_a_public_function_of_the_same_name() -> None:
    homes = fresh(
        "import pkgutil, importlib, webxpu\n"
        "for m in pkgutil.iter_modules(webxpu.__path__):\n"
        "    if m.name not in ('bridge', 'host'): importlib.import_module('webxpu.' + m.name)\n"
        "print(*(type(getattr(webxpu, n)).__name__ for n in webxpu.__all__ if n not in ('errors', 'ops')))"
    ).split()
    assert "module" not in homes


def test_importing_it_loads_nothing_heavy_and_nothing_of_the_browser() -> None:
    loaded = fresh("import sys, webxpu; print(*(m for m in sys.modules))").split()
    assert not [m for m in loaded if m.split(".")[0] == "numpy" or m in SEAM or m.startswith("webxpu.")]


def test_using_the_names_in_cpython_touches_no_browser_module() -> None:
    loaded = fresh("import sys, webxpu; [getattr(webxpu, n) for n in webxpu.__all__]; print(*sys.modules)").split()
    assert not [m for m in SEAM if m in loaded]


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match=r"^module 'webxpu' has no attribute 'lod'$"):
        webxpu.lod  # noqa: B018
