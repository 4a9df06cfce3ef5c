"""The server, asked over real connections."""

import http.client
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from webxpu.host.serve import CSP, MIME, serving

DATA = bytes(range(256)) * 40


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A folder with a file of each kind; beside it a file and a link that must not be served."""
    outside = tmp_path_factory.mktemp("outside")
    folder = outside / "site"
    (folder / "chat").mkdir(parents=True)
    (folder / "index.html").write_text("<!doctype html>home")
    (folder / "chat" / "index.html").write_text("<!doctype html>chat")
    (folder / "model.gguf").write_bytes(DATA)
    (folder / "a name.txt").write_text("spaces")
    for suffix in MIME:
        (folder / f"file{suffix}").write_text("x")
    (outside / "secret.txt").write_text("secret")
    (outside / "site-2").mkdir()
    (outside / "site-2" / "secret.txt").write_text("secret")
    (folder / "link.txt").symlink_to(outside / "secret.txt")
    return folder


@pytest.fixture(scope="module")
def server(site):
    with serving(site) as running:
        yield running


def ask(server, path, method="GET", body=None, **headers):
    """One request with the path sent exactly as it is written."""
    connection = http.client.HTTPConnection(urlsplit(server.url).netloc)
    try:
        connection.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
        answer = connection.getresponse()
        answer.body = answer.read()
        return answer
    finally:
        connection.close()


def test_the_address_is_the_machine_itself_and_a_string(server):
    assert server.url.startswith("http://127.0.0.1:")
    assert str(server) == server.url


def test_a_folder_gives_its_index_and_without_a_slash_a_redirect(server):
    assert ask(server, "/").body == b"<!doctype html>home"
    assert ask(server, "/chat/").body == b"<!doctype html>chat"
    assert ask(server, "/chat/?model=x").body == b"<!doctype html>chat"
    moved = ask(server, "/chat")
    assert (moved.status, moved.headers["Location"]) == (301, "/chat/")


@pytest.mark.parametrize(("suffix", "kind"), MIME.items())
def test_each_kind_of_file_has_its_mime_type(server, suffix, kind):
    answer = ask(server, f"/file{suffix}")
    assert (answer.status, answer.headers["Content-Type"]) == (200, kind)


def test_modules_wasm_and_models_have_the_types_that_browsers_insist_on(server):
    assert ask(server, "/file.mjs").headers["Content-Type"].startswith("text/javascript")
    assert ask(server, "/file.wasm").headers["Content-Type"] == "application/wasm"
    assert ask(server, "/model.gguf").headers["Content-Type"] == "application/octet-stream"


@pytest.mark.parametrize(
    ("asked", "start", "stop"),
    [("bytes=0-0", 0, 1), ("bytes=100-299", 100, 300), ("bytes=10000-", 10000, 10240), ("bytes=-5", 10235, 10240)],
)
def test_a_byte_range_is_answered_with_exactly_those_bytes(server, asked, start, stop):
    answer = ask(server, "/model.gguf", Range=asked)
    assert answer.status == 206
    assert answer.body == DATA[start:stop]
    assert answer.headers["Content-Range"] == f"bytes {start}-{stop - 1}/{len(DATA)}"


def test_a_range_past_the_end_is_refused_with_the_size(server):
    answer = ask(server, "/model.gguf", Range="bytes=10240-")
    assert (answer.status, answer.headers["Content-Range"]) == (416, f"bytes */{len(DATA)}")


def test_the_whole_file_says_that_it_takes_ranges_and_head_sends_no_body(server):
    answer = ask(server, "/model.gguf")
    assert (answer.status, answer.body, answer.headers["Accept-Ranges"]) == (200, DATA, "bytes")
    head = ask(server, "/model.gguf", "HEAD")
    assert (head.status, head.body, head.headers["Content-Length"]) == (200, b"", str(len(DATA)))


def test_if_range_gives_the_range_of_the_same_file_and_the_whole_of_another(server):
    told = ask(server, "/model.gguf", Range="bytes=0-0").headers
    assert told["ETag"].startswith('"')
    for condition in (told["ETag"], told["Last-Modified"]):
        same = ask(server, "/model.gguf", Range="bytes=100-199", If_Range=condition)
        assert (same.status, same.body) == (206, DATA[100:200])
    for condition in ('"other"', f"W/{told['ETag']}", "Mon, 01 Jan 2001 00:00:00 GMT"):
        other = ask(server, "/model.gguf", Range="bytes=100-199", If_Range=condition)
        assert (other.status, other.body, other.headers["ETag"]) == (200, DATA, told["ETag"])
    assert ask(server, "/none.gguf", Range="bytes=0-0", If_Range='"x"').status == 404


def test_an_unchanged_file_is_not_sent_again(server):
    tag = ask(server, "/model.gguf").headers["ETag"]
    assert ask(server, "/model.gguf", If_None_Match=tag).status == 304


@pytest.mark.parametrize(
    "path",
    [
        "/../secret.txt",
        "/chat/../../secret.txt",
        "/%2e%2e/secret.txt",
        "/..%2fsecret.txt",
        "/..%5csecret.txt",
        "/../site-2/secret.txt",
        "//../secret.txt",
        "/link.txt",
        "/%00",
        "/shared/",
        "/shared/x",
        "/shared/x/secret.txt",
    ],
)
def test_nothing_outside_the_folder_is_served(server, path):
    answer = ask(server, path)
    assert answer.status in (400, 404)
    assert b"secret\n" != answer.body != b"secret"


def test_an_absolute_path_in_the_request_is_taken_inside_the_folder(server, site):
    assert ask(server, "/" + str(site.parent / "secret.txt")).status == 404


def test_every_answer_carries_the_policy_even_an_error(server):
    for path in ("/", "/file.mjs", "/missing"):
        headers = ask(server, path).headers
        assert headers["Content-Security-Policy"] == CSP
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Cache-Control"] == "no-cache"
        assert headers["Access-Control-Allow-Origin"] is None


def test_the_policy_allows_no_inline_script_no_eval_and_no_foreign_script():
    rules = dict(rule.split(" ", 1) for rule in CSP.split("; "))
    assert rules["default-src"] == "'none'"
    assert rules["script-src"] == "'self' 'wasm-unsafe-eval'"
    assert rules["worker-src"] == "'self'"
    assert rules["style-src"] == "'self'"
    assert "'unsafe-inline'" not in CSP
    assert "'unsafe-eval'" not in CSP


def test_policy_and_cross_origin_headers_can_be_chosen(site):
    with serving(site, csp=None, allow_origin="*") as server:
        headers = ask(server, "/").headers
    assert headers["Content-Security-Policy"] is None
    assert headers["Access-Control-Allow-Origin"] == "*"
    assert "Content-Range" in headers["Access-Control-Expose-Headers"]


def test_a_file_from_elsewhere_is_served_only_under_the_path_that_share_returns(server, site):
    url = server.share(site.parent / "secret.txt")
    path = urlsplit(url).path
    assert url.startswith(f"{server.url}/shared/")
    assert ask(server, path).body == b"secret"
    assert ask(server, path, Range="bytes=1-2").body == b"ec"
    assert len(path.split("/")[2]) >= 20
    assert ask(server, "/secret.txt").status == 404
    assert ask(server, path.replace("secret.txt", "tokenizer_config.json")).status == 404  # it has nothing beside it
    with pytest.raises(FileNotFoundError):
        server.share(Path("/nowhere/model.gguf"))


def test_a_name_with_spaces_is_served(server):
    assert ask(server, "/a%20name.txt").body == b"spaces"


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
def test_nothing_can_be_written(server, method):
    assert ask(server, "/index.html", method, b"x").status == 405
    assert ask(server, "/blobs/x", method, b"x").status == 405


def test_blobs_can_be_put_and_taken_where_a_test_opens_them(site):
    with serving(site, blobs=True) as server:
        server.blobs["given"] = b"given"
        assert ask(server, "/blobs/given").body == b"given"
        assert ask(server, "/blobs/made", "PUT", DATA).status == 204
        assert ask(server, "/blobs/none").status == 404
        assert server.blobs["made"] == DATA
        assert server.requests[0] == ("GET", "/blobs/given", 200)


def test_the_first_folder_that_has_a_file_wins(site, tmp_path):
    (tmp_path / "index.html").write_text("mine")
    with serving(tmp_path, site) as server:
        assert ask(server, "/index.html").body == b"mine"
        assert ask(server, "/chat/").body == b"<!doctype html>chat"


def test_a_taken_port_is_an_error_at_once(site, server):
    with pytest.raises(OSError, match="in use"), serving(site, port=urlsplit(server.url).port):
        pass


def test_after_the_block_nothing_listens(site):
    with serving(site) as server:
        pass
    with pytest.raises(ConnectionRefusedError):
        ask(server, "/")


def test_a_folder_mounted_under_a_name_is_served_there_and_nothing_beside_it(site, tmp_path):
    mounted = tmp_path / "modules"
    mounted.mkdir()
    (mounted / "a.mjs").write_text("export {};")
    (tmp_path / "secret.txt").write_text("secret")
    with serving(site, mounts={"bridge": mounted}) as server:
        assert ask(server, "/bridge/a.mjs").body == b"export {};"
        assert ask(server, "/chat/").body == b"<!doctype html>chat"
        for path in ("/bridge/../secret.txt", "/bridge/../../secret.txt", "/bridge/index.html", "/a.mjs"):
            assert ask(server, path).status == 404, path


def test_a_shared_folder_gives_its_own_files_and_no_others(server, tmp_path):
    (tmp_path / "m" / "inner").mkdir(parents=True)
    (tmp_path / "m" / "config.json").write_text("{}")
    (tmp_path / "m" / "inner" / "deep").write_text("deep")
    (tmp_path / "secret").write_text("secret")
    url = server.share(tmp_path / "m")
    assert url.endswith("/m/")
    path = urlsplit(url).path
    assert ask(server, f"{path}config.json").body == b"{}"
    for name in ("none", "", "inner/deep", "../secret", "%2e%2e/secret", "..%2fsecret", "..%5csecret"):
        assert ask(server, f"{path}{name}").status == 404
