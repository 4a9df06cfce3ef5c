"""The lock of third-party files and the cache."""

import hashlib
import re

import pytest

from webxpu.errors import FetchError
from webxpu.host.assets import DEFAULT_MODEL, Asset, cache_folder, cached, check_file, copy_to, read_lock, store
from webxpu.host.site import PYODIDE_CORE, PYODIDE_PACKAGES, VENDOR

LOCK = read_lock()
# Words that would let a file through whose use is not allowed to everyone.
FREE = {"MIT", "MPL-2.0", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "PSF-2.0"}


@pytest.mark.parametrize("asset", LOCK.assets.values(), ids=lambda asset: asset.name)
def test_every_locked_file_has_a_hash_a_size_a_free_licence_and_sources(asset):
    assert re.fullmatch(r"[0-9a-f]{64}", asset.sha256)
    assert asset.size_bytes > 0
    assert re.fullmatch(r"[\w.+-]+", asset.file)
    assert set(asset.licence.split(" OR ")) <= FREE
    assert asset.sources
    for source in asset.sources:
        kinds = r"https://\S+|(pip|sdist):[\w-]+==[\w.]+(!\S+)?|npm:(@[\w-]+/)?[\w.-]+@[\d.]+!\S+"
        assert re.fullmatch(kinds, source), source


@pytest.mark.parametrize("asset", LOCK.assets.values(), ids=lambda asset: asset.name)
def test_a_public_address_is_asked_before_a_package_client(asset):
    public = [source.startswith("https://") for source in asset.sources]
    assert public == sorted(public, reverse=True)


def test_no_two_locked_files_share_a_file_name_or_a_hash():
    assert len({asset.file for asset in LOCK.assets.values()}) == len(LOCK.assets)
    assert len({asset.sha256 for asset in LOCK.assets.values()}) == len(LOCK.assets)


def test_archives_with_a_known_size_are_sources_of_something():
    sources = {source.partition("!")[0] for asset in LOCK.assets.values() for source in asset.sources}
    assert set(LOCK.archive_bytes) <= sources


def test_everything_a_site_is_made_of_is_locked():
    used = {*PYODIDE_CORE, *PYODIDE_PACKAGES, *VENDOR, "pyodide-lock.json", "markupsafe", DEFAULT_MODEL}
    assert used == set(LOCK.assets)


def test_an_unknown_name_is_an_error_that_lists_the_known_ones():
    with pytest.raises(FetchError, match=r"^no asset is called 'nothing'; there are jinja2, "):
        LOCK["nothing"]


def make(content: bytes, **changes: object) -> Asset:
    fields = {"name": "a", "file": "a.bin", "licence": "MIT", "sources": ()}
    fields |= {"sha256": hashlib.sha256(content).hexdigest(), "size_bytes": len(content)}
    return Asset(**{**fields, **changes})


def test_a_stored_file_lies_in_the_cache_under_its_hash(cache, tmp_path):
    (tmp_path / "download").write_bytes(b"content")
    asset = make(b"content")
    assert cached(asset) is None
    path = store(asset, tmp_path / "download", "here")
    assert path == cache_folder() / "assets" / asset.sha256 / "a.bin" == cached(asset)
    assert path.read_bytes() == b"content"


def test_a_file_cut_short_in_the_cache_is_not_there(cache, tmp_path):
    (tmp_path / "download").write_bytes(b"content")
    asset = make(b"content")
    store(asset, tmp_path / "download", "here").write_bytes(b"cont")
    assert cached(asset) is None


def test_a_file_of_another_size_or_content_is_refused(tmp_path):
    path = tmp_path / "a.bin"
    path.write_bytes(b"content")
    with pytest.raises(FetchError, match=r"^there: a\.bin must have 9 bytes, got 7$"):
        check_file(path, make(b"content99"), "there")
    with pytest.raises(FetchError, match=r"^there: a\.bin must have sha256 [0-9a-f]{64}, got [0-9a-f]{64}$"):
        check_file(path, make(b"CONTENT"), "there")


def test_a_folder_for_offline_use_is_looked_into_first_and_its_files_are_hashed(cache, tmp_path, monkeypatch):
    asset = make(b"content")
    (tmp_path / "download").write_bytes(b"content")
    copy_to(tmp_path / "offline", {asset: tmp_path / "download"})
    monkeypatch.setenv("WEBXPU_ASSETS", str(tmp_path / "offline"))
    assert cached(asset) == tmp_path / "offline" / "a.bin"
    (tmp_path / "offline" / "a.bin").write_bytes(b"CONTENT")
    with pytest.raises(FetchError, match=r"^\S+offline/a\.bin: a\.bin must have sha256 "):
        cached(asset)
