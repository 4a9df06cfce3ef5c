"""Fetching, against servers of this test's own and the real pip on a local folder."""

import hashlib
import http.server
import os
import socket
import tarfile
import threading
import time
import zipfile
from collections import Counter

import pytest

from webxpu.errors import FetchError
from webxpu.host import fetch as fetch_module
from webxpu.host.assets import Asset, Lock, cached
from webxpu.host.fetch import Fetcher, fetch

CONTENT = b"what the lock names" * 100


@pytest.fixture
def server():
    """A web server: `pages` maps a path to its bytes or to a status; `asked` counts the requests."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            asked[self.path] += 1
            page = pages.get(self.path, 404)
            self.send_response(page if isinstance(page, int) else 200)
            if isinstance(page, bytes) and "unannounced" not in self.path:
                self.send_header("Content-Length", str(len(page)))
            self.end_headers()
            if isinstance(page, bytes):
                self.wfile.write(page)

        def log_message(self, *_):
            pass

    pages, asked = {}, Counter()
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        running.pages, running.asked = pages, asked
        running.url = f"http://127.0.0.1:{running.server_port}"
        yield running
        running.shutdown()


@pytest.fixture
def dead():
    """The address of a host that refuses connections."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{taken.getsockname()[1]}"


def lock_of(*assets, **archive_bytes):
    return Lock({asset.name: asset for asset in assets}, archive_bytes)


def make(*sources, name="a", content=CONTENT, file=None):
    return Asset(name, file or f"{name}.bin", hashlib.sha256(content).hexdigest(), len(content), "MIT", sources)


def test_a_file_is_fetched_once_and_then_taken_from_the_cache(cache, server):
    server.pages["/a"] = CONTENT
    lock = lock_of(make(f"{server.url}/a"))
    seen = []
    path = fetch(lock=lock, report=lambda *state: seen.append(state))["a"]
    assert path.read_bytes() == CONTENT
    assert seen[-1] == ("a.bin", len(CONTENT), len(CONTENT))
    assert fetch(["a"], lock=lock) == {"a": path}
    assert server.asked == {"/a": 1}
    assert [p.name for p in cache.iterdir()] == ["assets"]  # no temporary file is left


def test_wrong_content_is_refused_and_the_next_source_is_taken(cache, server):
    server.pages |= {"/bad": CONTENT[::-1], "/good": CONTENT}
    assert fetch(lock=lock_of(make(f"{server.url}/bad", f"{server.url}/good")))["a"].read_bytes() == CONTENT


def test_wrong_content_everywhere_is_an_error_that_names_each_source_and_hash(cache, server):
    server.pages |= {"/bad": CONTENT[::-1]}
    asset = make(f"{server.url}/bad", f"{server.url}/missing")
    with pytest.raises(FetchError) as caught:
        fetch(lock=lock_of(asset))
    first, bad, missing = str(caught.value).splitlines()
    found = hashlib.sha256(CONTENT[::-1]).hexdigest()
    assert first == "a.bin could not be fetched from any of its sources:"
    assert bad == f"  {server.url}/bad: a.bin must have sha256 {asset.sha256}, got {found}"
    assert missing == f"  {server.url}/missing: HTTP 404 Not Found"
    assert cached(asset) is None


def test_a_wrong_size_is_noticed_before_the_download_or_while_it_runs(cache, server):
    server.pages |= {"/long": CONTENT + b"!", "/unannounced": CONTENT * 2}
    with pytest.raises(FetchError) as caught:
        fetch(lock=lock_of(make(f"{server.url}/long", f"{server.url}/unannounced")))
    _, long, unannounced = str(caught.value).splitlines()
    assert long == f"  {server.url}/long: must have 1,900 bytes, the server announces 1,901"
    assert unannounced == f"  {server.url}/unannounced: must have 1,900 bytes, the server sends more"


def test_a_host_that_failed_is_not_asked_again_in_the_same_run(cache, server, dead):
    server.pages |= {"/a": CONTENT, "/b": CONTENT[1:]}
    a = make(f"{dead}/a", f"{server.url}/a")
    b = make(f"{dead}/b", f"{server.url}/b", name="b", content=CONTENT[1:])
    c = make(f"{dead}/c", name="c", content=CONTENT[2:])
    fetcher = Fetcher(lock_of(a, b, c))
    assert len(fetcher.fetch([a, b])) == 2
    with pytest.raises(FetchError, match=rf"{dead}/c: not asked, {dead[7:]} failed before \(.*refused"):
        fetcher.fetch([c])


def test_a_host_that_answers_with_an_error_is_asked_for_the_next_file(cache, server):
    server.pages |= {"/b": CONTENT[1:], "/a2": CONTENT}
    a = make(f"{server.url}/a", f"{server.url}/a2")
    b = make(f"{server.url}/b", name="b", content=CONTENT[1:])
    assert len(Fetcher(lock_of(a, b)).fetch([a, b])) == 2


def test_a_host_that_says_nothing_is_given_up_after_its_time(cache, server):
    server.pages["/a"] = CONTENT
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}"
        asset = make(f"{address}/a", f"{server.url}/a")
        begun = time.monotonic()
        fetcher = Fetcher(lock_of(asset), answer_s=0.2)
        assert fetcher.fetch([asset])[asset].read_bytes() == CONTENT
    assert time.monotonic() - begun < 5
    assert fetcher.failed_hosts == {address[7:]: "timed out"}


def test_with_a_folder_for_offline_use_nothing_is_asked(cache, server, tmp_path, monkeypatch):
    server.pages["/a"] = CONTENT
    monkeypatch.setenv("WEBXPU_ASSETS", str(tmp_path))
    asset = make(f"{server.url}/a")
    with pytest.raises(FetchError, match=r"^a\.bin is not in WEBXPU_ASSETS=\S+, which is used instead of the network$"):
        fetch(lock=lock_of(asset))
    (tmp_path / "a.bin").write_bytes(CONTENT)
    assert fetch(lock=lock_of(asset)) == {"a": tmp_path / "a.bin"}
    assert not server.asked


def make_wheel(folder, members):
    info = "carrier-1.0.dist-info"
    folder.mkdir()
    with zipfile.ZipFile(folder / "carrier-1.0-py3-none-any.whl", "w") as wheel:
        for name, content in members.items():
            wheel.writestr(name, content)
        wheel.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: carrier\nVersion: 1.0\n")
        wheel.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        wheel.writestr(f"{info}/RECORD", "")


def test_pip_downloads_an_archive_once_and_every_locked_member_is_kept(cache, dead, tmp_path, monkeypatch):
    make_wheel(tmp_path / "index", {"carrier/a.bin": CONTENT, "carrier/b.bin": CONTENT[1:]})
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "index"))
    a = make(f"{dead}/a", "pip:carrier==1.0!carrier/a.bin")
    b = make("pip:carrier==1.0!carrier/b.bin", name="b", content=CONTENT[1:])
    lock = lock_of(a, b)
    assert fetch(["a"], lock=lock)["a"].read_bytes() == CONTENT
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    assert fetch(["b"], lock=lock)["b"].read_bytes() == CONTENT[1:]


def test_a_package_that_pip_does_not_find_and_a_member_that_is_not_there_are_errors(cache, tmp_path, monkeypatch):
    make_wheel(tmp_path / "index", {"carrier/a.bin": CONTENT})
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "index"))
    asset = make("pip:carrier==2.0!carrier/a.bin", "pip:carrier==1.0!carrier/c.bin")
    with pytest.raises(FetchError) as caught:
        fetch(lock=lock_of(asset))
    _, absent, member = str(caught.value).splitlines()
    assert absent.startswith("  pip:carrier==2.0: ")
    assert "carrier==2.0" in absent.removeprefix("  pip:carrier==2.0: ")
    assert member.startswith("  pip:carrier==1.0!carrier/c.bin: carrier-1.0-py3-none-any.whl does not hold it")


BUILD = """
def build_wheel(*_, **__):
    raise NotImplementedError

def prepare_metadata_for_build_wheel(folder, *_):
    import pathlib
    info = pathlib.Path(folder, "carrier-1.0.dist-info")
    info.mkdir()
    info.joinpath("METADATA").write_text("Metadata-Version: 2.1\\nName: carrier\\nVersion: 1.0\\n")
    return info.name
"""


@pytest.fixture
def sdist(tmp_path, monkeypatch):
    """Puts a source archive called carrier into the only index that pip asks; it builds itself, or as it is told."""
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "index"))

    def write(build=BUILD, needs="", **members):
        top = tmp_path / "carrier-1.0"
        top.mkdir()
        project = f'[build-system]\nrequires = [{needs}]\nbuild-backend = "build"\nbackend-path = ["."]\n'
        texts = {"pyproject.toml": project + '[project]\nname = "carrier"\nversion = "1.0"\n', "build.py": build}
        texts["PKG-INFO"] = "Metadata-Version: 2.1\nName: carrier\nVersion: 1.0\n"
        for name, text in texts.items():
            (top / name).write_text(text)
        for name, content in members.items():
            (top / name).write_bytes(content)
        (tmp_path / "index").mkdir()
        with tarfile.open(tmp_path / "index" / "carrier-1.0.tar.gz", "w:gz") as archive:
            archive.add(top, "carrier-1.0")
        return (tmp_path / "index" / "carrier-1.0.tar.gz").read_bytes()

    return write


def test_an_sdist_is_downloaded_once_though_a_wheel_is_there_too(cache, sdist, tmp_path, monkeypatch):
    whole = sdist(a=CONTENT, b=CONTENT[1:])
    (tmp_path / "index").rename(tmp_path / "source")
    make_wheel(tmp_path / "index", {"a": b"of the wheel"})
    (tmp_path / "source" / "carrier-1.0.tar.gz").rename(tmp_path / "index" / "carrier-1.0.tar.gz")
    a, b = make("sdist:carrier==1.0!a"), make("sdist:carrier==1.0!b", name="b", content=CONTENT[1:])
    archive = make("sdist:carrier==1.0", name="archive", content=whole)
    lock = lock_of(a, b, archive)
    assert fetch(["a"], lock=lock)["a"].read_bytes() == CONTENT
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    assert fetch(["b", "archive"], lock=lock)["b"].read_bytes() == CONTENT[1:]
    assert fetch(["archive"], lock=lock)["archive"].read_bytes() == whole


def test_an_sdist_without_the_member_says_so_and_keeps_the_others(cache, sdist):
    sdist(a=CONTENT, b=CONTENT[1:])
    a, b = make("sdist:carrier==1.0!folder/a"), make("sdist:carrier==1.0!b", name="b", content=CONTENT[1:])
    with pytest.raises(FetchError, match=r"  sdist:carrier==1\.0!folder/a: carrier-1\.0\.tar\.gz does not hold it$"):
        fetch(["a"], lock=lock_of(a, b))
    assert cached(b).read_bytes() == CONTENT[1:]


def test_a_source_that_cannot_be_built_is_told_by_the_step_and_its_last_line(cache, sdist):
    sdist(build='def prepare_metadata_for_build_wheel(*_):\n    raise ValueError("no compiler")\n', a=CONTENT)
    with pytest.raises(FetchError) as caught:
        fetch(lock=lock_of(make("sdist:carrier==1.0!a")))
    failed = str(caught.value).splitlines()[1]
    assert failed.startswith("  sdist:carrier==1.0: ")
    reason = " -m pip download failed: Preparing metadata (pyproject.toml) did not run successfully. "
    assert failed.endswith(reason + "ValueError: no compiler")


def test_a_source_whose_build_tools_are_missing_is_told_by_their_names(cache, sdist):
    sdist(needs='"no-such-tool"', a=CONTENT)
    with pytest.raises(FetchError, match=r"did not run successfully\. ERROR: No matching .* for no-such-tool$"):
        fetch(lock=lock_of(make("sdist:carrier==1.0!a")))


def test_without_a_network_pip_is_asked_for_neither_wheels_nor_sdists(cache, dead, monkeypatch):
    monkeypatch.setenv("PIP_INDEX_URL", f"{dead}/simple")
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", f"{dead}/simple")
    monkeypatch.setenv("PIP_FIND_LINKS", "")
    a, b = make("pip:carrier==1.0!a"), make("sdist:carrier==1.0!b", name="b")
    fetcher = Fetcher(lock_of(a, b))
    with pytest.raises(FetchError, match=r" download failed: .+ \(pip could not reach its server\)$"):
        fetcher.fetch([a])
    with pytest.raises(FetchError, match=r"sdist:carrier==1\.0!b: not asked, pip failed before \(no network\)$"):
        fetcher.fetch([b])


def test_folders_that_vanish_while_a_client_runs_do_not_end_the_report_of_its_progress(
    cache, npm, tmp_path, monkeypatch
):
    monkeypatch.setattr(fetch_module, "_POLL_S", 0.0001)
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "a").write_bytes(CONTENT)
    npm(
        'for word in "$@"; do case "$word" in --pack-destination=*) to="${word#*=}";; esac; done\n'
        'for n in $(seq 60); do mkdir -p "$TMPDIR/d$n/e/f"; rm -r "$TMPDIR/d$n"; done\n'
        f'tar -C "{tmp_path}" -czf "$to/a-1.0.0.tgz" package; sleep 0.3'
    )
    seen = []
    fetch(lock=lock_of(make("npm:a@1.0.0!a")), report=lambda *state: seen.append(state))
    assert seen[-1][1] > 0


def test_an_archive_that_is_cut_short_is_an_error(cache, npm, tmp_path):
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "a.mjs").write_bytes(bytes(range(256)) * 4096)
    npm(
        f'for word in "$@"; do case "$word" in --pack-destination=*) to="${{word#*=}}";; esac; done\n'
        f'tar -C "{tmp_path}" -cz package | head -c 2000 > "$to/a-1.0.0.tgz"'
    )
    with pytest.raises(FetchError, match=r"  npm:a@1\.0\.0: a-1\.0\.0\.tgz cannot be read as an archive \(.+\)$"):
        fetch(lock=lock_of(make("npm:a@1.0.0!b.mjs")))


def test_a_source_of_an_unknown_kind_is_an_error_that_names_it(cache):
    message = r"neither a URL nor pip, sdist, npm: carrier:pigeon==1\.0$"
    with pytest.raises(FetchError, match=message):
        fetch(lock=lock_of(make("carrier:pigeon==1.0!a")))


NPM = """#!/bin/sh
echo "$@" >> "{log}"
{body}
"""


@pytest.fixture
def npm(tmp_path, monkeypatch):
    """Puts a program called npm first on the path; `npm(body)` says what it does."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")

    def write(body):
        program = folder / "npm"
        program.write_text(NPM.format(log=tmp_path / "npm.log", body=body))
        program.chmod(0o755)
        return tmp_path / "npm.log"

    return write


def test_npm_packs_an_archive_and_its_member_is_taken(cache, npm, tmp_path):
    (tmp_path / "package" / "dist").mkdir(parents=True)
    (tmp_path / "package" / "dist" / "a.mjs").write_bytes(CONTENT)
    log = npm(
        f'for word in "$@"; do case "$word" in --pack-destination=*) to="${{word#*=}}";; esac; done\n'
        f'tar -C "{tmp_path}" -czf "$to/a-1.0.0.tgz" package'
    )
    assert fetch(lock=lock_of(make("npm:@scope/a@1.0.0!dist/a.mjs")))["a"].read_bytes() == CONTENT
    assert log.read_text().startswith("pack @scope/a@1.0.0 --silent --pack-destination=")


def test_npm_without_a_network_is_not_asked_again(cache, npm):
    log = npm('echo "npm error code ENOTFOUND" >&2; exit 1')
    a, b = make("npm:a@1.0.0!a"), make("npm:b@1.0.0!b", name="b", content=CONTENT[1:])
    fetcher = Fetcher(lock_of(a, b))
    with pytest.raises(
        FetchError, match=r"npm:a@1\.0\.0: \S*npm pack a@1\.0\.0 --silent failed: npm error code ENOTFOUND"
    ):
        fetcher.fetch([a])
    with pytest.raises(FetchError, match=r"npm:b@1\.0\.0!b: not asked, npm failed before \(no network\)"):
        fetcher.fetch([b])
    assert log.read_text().count("\n") == 1


def test_a_machine_without_npm_is_told_so(cache, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(FetchError, match=r"npm:a@1\.0\.0: npm is not installed"):
        fetch(lock=lock_of(make("npm:a@1.0.0!a")))
