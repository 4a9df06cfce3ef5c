"""The site folder and its Pyodide lock, made once from the files that are on this machine."""

import hashlib
import json
import os
import time
import zipfile

import pytest

from webxpu.data import data_folder
from webxpu.host import site as site_module
from webxpu.host.assets import read_lock
from webxpu.host.fetch import asset
from webxpu.host.site import build_site, extend_lock, fingerprint
from webxpu.host.wheels import build_markupsafe


@pytest.fixture(scope="module")
def site():
    return build_site()


@pytest.fixture(scope="module")
def packages(site):
    return json.loads((site / "pyodide" / "pyodide-lock.json").read_text())["packages"]


def test_pages_bridge_vendor_files_and_the_model_are_there(site):
    for folder, source in (("", "web"), ("bridge", "bridge")):
        for path in data_folder(source).rglob("*"):
            if path.is_file():
                assert (site / folder / path.relative_to(data_folder(source))).read_bytes() == path.read_bytes()
    assert {path.name for path in (site / "vendor").iterdir()} == {
        "tokenizers.mjs",
        "tokenizers.LICENSE",
        "marked.esm.js",
        "purify.es.mjs",
    }
    about = json.loads((site / "site.json").read_text())
    for key in ("pyodide", "wheel", "tokenizers", "model"):
        assert (site / about[key]).exists(), key


def test_every_asset_in_the_site_is_the_locked_content(site):
    locked = {asset.file: asset.sha256 for asset in read_lock().assets.values() if asset.file != "pyodide-lock.json"}
    files = [path for path in site.rglob("*") if path.name in locked]
    assert len(files) == len(locked) - 1  # all but MarkupSafe's source
    for path in files:
        assert hashlib.sha256(path.read_bytes()).hexdigest() == locked[path.name]


@pytest.mark.parametrize("name", ["numpy", "micropip", "packaging", "jinja2", "markupsafe", "webxpu"])
def test_the_lock_names_each_wheel_with_the_hash_of_the_file_beside_it(site, packages, name):
    entry = packages[name]
    content = (site / "pyodide" / entry["file_name"]).read_bytes()
    assert entry["sha256"] == hashlib.sha256(content).hexdigest()
    assert entry["file_name"].split("-")[1] == entry["version"]
    assert all(depends in packages for depends in entry["depends"])


def test_our_wheel_pulls_in_numpy_and_jinja_and_jinja_pulls_in_markupsafe(packages):
    assert packages["webxpu"]["depends"] == ["numpy", "jinja2"]
    assert packages["webxpu"]["imports"] == ["webxpu"]
    assert packages["jinja2"]["depends"] == ["markupsafe"]


def test_all_other_entries_are_upstreams(packages):
    upstream = json.loads(asset("pyodide-lock.json").read_text())["packages"]
    changed = {name for name in packages if packages[name] != upstream.get(name)}
    assert changed == {"jinja2", "markupsafe", "webxpu"}
    assert set(upstream) < set(packages)


def test_entries_have_the_same_fields_as_upstreams(packages):
    fields = set(packages["numpy"])
    for name in ("jinja2", "markupsafe", "webxpu"):
        assert set(packages[name]) == fields, name


def test_markupsafe_is_a_pure_wheel_of_the_locked_version():
    wheel = build_markupsafe()
    version = read_lock()["markupsafe"].file.removeprefix("markupsafe-").removesuffix(".tar.gz")
    assert wheel.name == f"markupsafe-{version}-py3-none-any.whl"
    names = zipfile.ZipFile(wheel).namelist()
    assert "markupsafe/_native.py" in names
    assert not [name for name in names if name.endswith((".so", ".pyd"))]


def test_building_again_changes_nothing(site):
    before = {path: path.stat().st_mtime_ns for path in site.rglob("*") if path.is_file()}
    assert build_site() == site
    assert {path: path.stat().st_mtime_ns for path in site.rglob("*") if path.is_file()} == before


def test_a_changed_source_file_makes_another_site(tmp_path, monkeypatch):
    changed = tmp_path / "kernels"
    changed.mkdir()
    (changed / "a.wgsl").write_text("// one")
    folders = {"kernels": changed}
    monkeypatch.setattr(site_module, "data_folder", lambda name: folders.get(name) or data_folder(name))
    before = fingerprint()
    assert fingerprint() == before
    (changed / "a.wgsl").write_text("// two")
    assert fingerprint() != before


def test_sites_of_earlier_sources_are_removed_a_day_after_their_last_use(tmp_path):
    for name, age_s in (("old", 25 * 3600), ("used", 3600)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "site.json").write_text("{}")
        os.utime(tmp_path / name, (time.time() - age_s,) * 2)
    site_module._prune(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["used"]


def test_extending_a_lock_replaces_and_adds_three_entries(tmp_path):
    wheels = {}
    for name in ("jinja2", "markupsafe", "webxpu"):
        wheels[name] = tmp_path / f"{name}-1.2-py3-none-any.whl"
        wheels[name].write_bytes(name.encode())
    lock = {"info": {}, "packages": {"jinja2": {"version": "0"}, "numpy": {"version": "2"}}}
    extend_lock(lock, **wheels)
    assert set(lock["packages"]) == {"jinja2", "markupsafe", "numpy", "webxpu"}
    assert lock["packages"]["jinja2"]["version"] == "1.2"
    assert lock["packages"]["webxpu"]["sha256"] == hashlib.sha256(b"webxpu").hexdigest()
