"""Byte ranges of URLs, files and OPFS, and what is said when one cannot be read."""

from __future__ import annotations

import re

import pytest

from playwright_tests.bridge.faulty import FILE, faulty_server


@pytest.fixture(scope="module")
def faulty():
    with faulty_server() as server:
        yield server


FETCH = "const got = await bridge.fetchRange(arg.source, arg.start, arg.bytes); return {...got, bytes: [...got.bytes]};"


def fetched(lab, source, start, nbytes):
    return lab(FETCH, {"source": source, "start": start, "bytes": nbytes})


@pytest.mark.parametrize(
    ("mode", "told"), [("dribble/700", True), ("norange/", True), ("capped/999", True), ("private/", False)]
)
@pytest.mark.parametrize(("start", "nbytes"), [(0, 10), (777, 3000), (19_990, 100), (20_000, 5)])
def test_a_range_of_a_url(lab, faulty, mode, told, start, nbytes):
    got = fetched(lab, {"url": f"{faulty[0]}/{mode}"}, start, nbytes)
    assert bytes(got["bytes"]) == FILE[start : start + nbytes]
    assert got["total"] == (len(FILE) if told else None)


FAULTS = [
    ("status/404", 5, r"at byte 5: the server answered with HTTP status 404 Not Found$"),
    ("status/503", 0, r"at byte 0: the server answered with HTTP status 503"),
    (
        "nocors/",
        0,
        r"at byte 0: the server localhost:\d+ is there but does not let this page read it \(CORS\) \(Failed to ",
    ),
    ("shifted/", 9, r"at byte 9: the server sent bytes from 10 on$"),
    ("broken/500", 100, r"at byte 500: the connection broke \(.+\), and 2 new attempts failed$"),
    ("changed/500", 100, r"at byte 500: the file changed while it was read$"),
]


@pytest.mark.parametrize(("path", "start", "rule"), FAULTS)
def test_a_failed_download_names_the_address_the_byte_and_the_cause(lab, faulty, path, start, rule):
    url = f"{faulty[0]}/{path}"
    name, message = lab("return caught(() => bridge.fetchRange({url: arg[0]}, arg[1], 1000));", [url, start])
    assert name == ("FileChanged" if path.startswith("changed") else "FetchError")
    assert message.startswith(f"{url}: ")
    assert re.match(rule, message.removeprefix(f"{url}: "))


def test_a_connection_that_breaks_once_is_taken_up_where_it_broke(lab, faulty):
    server, handler = faulty
    handler.ranges.clear()
    got = fetched(lab, {"url": f"{server}/break/5000"}, 100, 9000)
    assert bytes(got["bytes"]) == FILE[100:9100]
    assert handler.ranges == ["break bytes=100-9099", "break bytes=5000-9099"]


@pytest.mark.parametrize(
    ("url", "rule"),
    [
        (
            "http://localhost:1/x",
            r"at byte 0: could not connect to localhost:1 \(Failed to fetch\): no such host, no net",
        ),
        ("http://", r"this is not an address$"),
    ],
)
def test_an_address_that_cannot_be_reached_is_named(lab, url, rule):
    name, message = lab("return caught(() => bridge.fetchRange({url: arg}, 0, 10));", url)
    assert name == "FetchError"
    assert re.match(rule, message.removeprefix(f"{url}: "))


@pytest.mark.parametrize(
    ("deps", "said"),
    [
        ("{navigator: {onLine: false}}", "this machine is offline (Failed to fetch)"),
        (
            "{location: {href: 'https://b.example/', origin: 'https://b.example', protocol: 'https:'}}",
            "a page that is served over https cannot load from http (Failed to fetch). Serve the file over https.",
        ),
        (
            "{location: {href: 'http://a.example/', origin: 'http://a.example', protocol: 'http:'}}",
            "the connection failed (Failed to fetch)",
        ),
    ],
)
def test_a_browser_that_cannot_fetch_is_explained(lab, deps, said):
    got = lab(f"""
        const fetch = async () => {{ throw new TypeError("Failed to fetch"); }};
        const bridge = await make({{fetch, ...{deps}}});
        return caught(() => bridge.fetchRange({{url: "http://a.example/x"}}, 3, 4));
    """)
    assert got == ["FetchError", f"http://a.example/x: at byte 3: {said}"]


def test_a_range_of_a_file_that_the_page_gave(lab):
    got = lab("""
        bridge.registerFile("m.gguf", new File([Uint8Array.from({length: 300}, (_, i) => i % 256)], "m.gguf"));
        const part = await bridge.fetchRange({file: "m.gguf"}, 250, 100);
        bridge.forgetFile("m.gguf");
        return [[...part.bytes], part.total, await caught(() => bridge.fetchRange({file: "m.gguf"}, 0, 1))];
    """)
    assert got[0] == [i % 256 for i in range(250, 300)]
    assert got[1] == 300
    assert got[2] == ["FetchError", "file m.gguf: the page has registered no file of this name"]


def test_a_range_of_a_file_in_opfs(lab):
    got = lab("""
        const root = await navigator.storage.getDirectory();
        const folder = await root.getDirectoryHandle("models", {create: true});
        const file = await (await folder.getFileHandle("m.bin", {create: true})).createWritable();
        await file.write(Uint8Array.from({length: 100}, (_, i) => i)); await file.close();
        const part = await bridge.fetchRange({opfs: "models/m.bin"}, 90, 5);
        await root.removeEntry("models", {recursive: true});
        return [[...part.bytes], part.total, await caught(() => bridge.fetchRange({opfs: "models/m.bin"}, 90, 5))];
    """)
    assert got[:2] == [[90, 91, 92, 93, 94], 100]
    assert got[2][0] == "FetchError"
    assert re.match(r"opfs models/m\.bin: it cannot be opened \(.+\)", got[2][1])
