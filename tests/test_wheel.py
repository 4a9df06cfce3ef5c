"""The wheel as it is built: pure, complete, and free of what does not belong in it."""

import hashlib
import subprocess
import sys
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

from webxpu.data import data_folder
from webxpu.host.assets import read_lock
from webxpu.host.wheels import build_wheel

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    return build_wheel(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def contents(wheel):
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


@pytest.fixture(scope="module")
def metadata(contents):
    (name,) = [name for name in contents if name.endswith(".dist-info/METADATA")]
    return Parser().parsestr(contents[name].decode())


def test_it_is_pure_python_for_every_platform(wheel, contents):
    assert wheel.name.endswith("-py3-none-any.whl")
    (tags,) = [contents[name] for name in contents if name.endswith(".dist-info/WHEEL")]
    assert b"Root-Is-Purelib: true" in tags


@pytest.mark.parametrize("folder", ["kernels", "bridge", "web"])
def test_it_carries_every_kernel_bridge_and_page_file(contents, folder):
    files = [path for path in data_folder(folder).rglob("*") if path.is_file()]
    assert files
    for path in files:
        name = f"webxpu/_data/{folder}/{path.relative_to(data_folder(folder)).as_posix()}"
        assert contents[name] == path.read_bytes()


def test_it_carries_the_javascript_tokenizer_with_its_licence_as_locked(contents):
    for name in ("tokenizers.mjs", "tokenizers.LICENSE"):
        assert hashlib.sha256(contents[f"webxpu/_data/vendor/{name}"]).hexdigest() == read_lock()[name].sha256


def test_it_carries_every_module_and_nothing_but_the_package(contents):
    modules = {f"webxpu/{path.relative_to(ROOT / 'webxpu').as_posix()}" for path in (ROOT / "webxpu").rglob("*.py")}
    assert {name for name in contents if name.endswith(".py")} == modules
    assert "webxpu/py.typed" in contents
    tops = {name.split("/")[0] for name in contents}
    assert tops == {"webxpu", next(top for top in tops if top.endswith(".dist-info"))}
    assert not [name for name in contents if "test" in name.split("/")[-1] or name.endswith((".pyc", ".gguf", ".map"))]


def test_its_runtime_needs_are_numpy_and_jinja_alone(metadata):
    needs = [need for need in metadata.get_all("Requires-Dist") if "extra ==" not in need]
    assert sorted(need.split(">")[0] for need in needs) == ["jinja2", "numpy"]
    assert metadata["Requires-Python"] == ">=3.11"
    assert metadata["License-Expression"] == "MIT"
    assert metadata.get_all("Provides-Extra") == ["host"]


def test_it_has_the_command(contents):
    (entry,) = [contents[name] for name in contents if name.endswith("entry_points.txt")]
    assert b"webxpu = webxpu.host.cli:main" in entry


def test_equal_sources_give_equal_bytes(wheel, tmp_path):
    assert build_wheel(tmp_path).read_bytes() == wheel.read_bytes()


REPACK = """
import sys
sys.path.insert(0, {installed!r})
from pathlib import Path
import webxpu
from webxpu.data import data_folder
from webxpu.host import wheels
assert Path(webxpu.__file__).is_relative_to({installed!r}), webxpu.__file__
assert wheels.checkout() is None
assert data_folder("kernels").is_relative_to({installed!r})
print(wheels.build_wheel(Path({out!r})))
"""


def test_an_installed_package_can_make_its_wheel_again(wheel, contents, tmp_path):
    installed, out = tmp_path / "installed", tmp_path / "out"
    out.mkdir()
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--disable-pip-version-check"]
    subprocess.run([*pip, "--target", str(installed), str(wheel)], check=True)
    script = REPACK.format(installed=str(installed), out=str(out))
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.stderr, done.returncode) == ("", 0)
    with zipfile.ZipFile(done.stdout.strip()) as archive:
        again = {name: archive.read(name) for name in archive.namelist()}
    records = {name for name in contents if name.endswith("/RECORD")}
    assert {name: data for name, data in again.items() if name not in records} == {
        name: data for name, data in contents.items() if name not in records
    }
    pip[-1:] = ["--target", str(tmp_path / "second")]
    subprocess.run([*pip, done.stdout.strip()], check=True)
