"""Model files kept in the private file system: what a second load asks the server, and what is found out."""

from __future__ import annotations

import hashlib
import random
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page

from playwright_tests.bridge.model_server import File, model_server

# Three ranges of 4 MiB are kept, the last one shorter and of an odd length.
DATA = random.Random(1).randbytes(9_000_001)
OTHER = random.Random(2).randbytes(9_000_001)
MIB = 1 << 20
# As a load reads: the header by doubling, then all the rest.
HEADER = [[0, MIB // 4], [MIB // 4, MIB // 4], [MIB // 2, MIB // 2]]
ALL = [*HEADER, [700_000, len(DATA) - 700_000]]
LOOK = ["bytes=0-0"]  # the one request that asks whether the file is still the same
TOOLS = "const { make, caught, wait, sha256, readLoad, opfsFiles, flip } = globalThis.lab;"


class Lab:
    """A page of the server and a worker in it; `run(body, arg)` runs JavaScript in the worker."""

    def __init__(self, context: BrowserContext, port: int, files: dict[str, File]) -> None:
        self.context, self.files = context, files
        self.origin, self.elsewhere = f"http://127.0.0.1:{port}", f"http://localhost:{port}"
        self.page, self.run = self.open()

    def open(self) -> tuple[Page, Callable[..., Any]]:
        page = self.context.new_page()
        page.goto(f"{self.origin}/lab.html")
        with page.expect_event("worker") as started:
            page.evaluate("""async () => {
                globalThis.lab = await import("/toy.mjs");
                globalThis.worker = new Worker("/lab_worker.mjs", { type: "module" });
            }""")
        worker = started.value
        worker.evaluate("async () => { while (!globalThis.lab) await new Promise((later) => setTimeout(later, 5)); }")

        def run(body: str, arg: Any = None, *, page_itself: bool = False) -> Any:
            where = page if page_itself else worker
            return where.evaluate(f"async (arg) => {{ {TOOLS} const bridge = await make(); {body} }}", arg)

        return page, run

    def put(self, name: str, data: bytes = DATA, **options: Any) -> File:
        self.files[f"/m/{name}"] = file = File(data, **options)
        return file

    def load(self, name: str, ranges: Any = ALL, *, page_itself: bool = False, **options: Any) -> dict[str, Any]:
        arg = {"source": {"url": f"/m/{name}"}, "ranges": ranges, "options": options}
        return self.run("return readLoad(bridge, arg.source, arg.ranges, arg.options);", arg, page_itself=page_itself)

    def kept(self) -> list[dict[str, Any]]:
        return self.run("return bridge.cached();")


@pytest.fixture(scope="module")
def opened(browser: Browser) -> Iterator[Lab]:
    with model_server() as (port, files):
        context = browser.new_context()
        yield Lab(context, port, files)
        context.close()


@pytest.fixture
def lab(opened: Lab) -> Lab:
    """Nothing is kept."""
    opened.run("await bridge.forget();")
    assert opened.kept() == []
    return opened


def sums(data: bytes, ranges: Any = ALL) -> list[str]:
    return [hashlib.sha256(data[start : start + nbytes]).hexdigest() for start, nbytes in ranges]


@pytest.mark.parametrize("page_itself", [False, True], ids=["worker", "page"])
def test_a_second_load_asks_one_question_and_fetches_nothing(lab: Lab, page_itself: bool) -> None:
    file = lab.put("a")
    first = lab.load("a", page_itself=page_itself)
    assert (first["error"], first["warnings"], first["sums"]) == (None, [], sums(DATA))
    assert first["fetchedBytes"] == len(DATA)
    assert file.asked == [f"bytes={a}-{b - 1}" for a, b in [(0, MIB // 4), (MIB // 4, MIB // 2), (MIB // 2, MIB)]] + [
        f"bytes={MIB}-{len(DATA) - 1}"
    ]
    assert lab.kept() == [{"url": f"{lab.origin}/m/a", "bytes": len(DATA), "total": len(DATA), "complete": True}]
    file.asked.clear()
    second = lab.load("a", page_itself=page_itself)
    assert second["sums"] == sums(DATA)
    assert file.asked == LOOK
    assert second["fetchedBytes"] == 0
    assert second["cachedBytes"] == sum(nbytes for _, nbytes in ALL)


def test_a_load_that_is_not_to_be_kept_is_not(lab: Lab) -> None:
    file = lab.put("a")
    assert lab.load("a", cache=False)["sums"] == sums(DATA)
    assert lab.kept() == []
    lab.load("a")
    file.asked.clear()
    assert lab.load("a", HEADER, cache=False)["sums"] == sums(DATA, HEADER)
    assert len(file.asked) == 3


def test_a_download_that_ended_goes_on_at_its_byte_in_the_next_load(lab: Lab) -> None:
    file = lab.put("a", ends=5_000_000)
    first = lab.load("a")
    assert first["error"][0] == "FetchError"
    assert re.match(r"/m/a: at byte 5000000: the connection broke", first["error"][1])
    [kept] = lab.kept()
    assert (kept["bytes"], kept["complete"]) == (5_000_000, False)
    file.ends = None
    file.asked.clear()
    second = lab.load("a")
    assert second["sums"] == sums(DATA)
    assert file.asked == [*LOOK, f"bytes=5000000-{len(DATA) - 1}"]


def test_seven_cuts_cost_eight_requests_each_from_its_byte_and_with_if_range(lab: Lab) -> None:
    cuts = sorted(random.Random(7).sample(range(MIB, len(DATA)), 7))
    file = lab.put("a", cuts=list(cuts))
    got = lab.load("a", [[0, len(DATA)]])
    assert got["sums"] == sums(DATA, [[0, len(DATA)]])
    assert file.asked == [f"bytes={at}-{len(DATA) - 1}" for at in [0, *cuts]]
    assert file.conditions == [None] + ['"1"'] * 7
    assert lab.kept()[0]["complete"]


@pytest.mark.parametrize("elsewhere", [False, True], ids=["same origin", "other origin"])
def test_a_file_that_changes_midway_is_found_out_and_the_next_load_is_of_the_new_one(lab: Lab, elsewhere: bool) -> None:
    new = File(OTHER, {"ETag": '"2"'})
    file = lab.put("a", cuts=[5_000_000], new=new)
    source = {"url": f"{lab.elsewhere if elsewhere else ''}/m/a"}
    run = "const load = () => readLoad(bridge, ...arg); return [await load(), await bridge.cached(), await load()];"
    first, kept, second = lab.run(run, [source, [[0, len(DATA)]]])
    assert first["error"] == ["FileChanged", f"{source['url']}: at byte 5000000: the file changed while it was read"]
    assert kept == []
    assert second["sums"] == sums(OTHER, [[0, len(DATA)]])
    assert file.conditions == [None]
    assert new.conditions[0] == (None if elsewhere else '"1"')


VERSIONS = [
    ({"ETag": '"1"'}, {"ETag": '"2"'}),
    ({"ETag": 'W/"1"'}, {"ETag": 'W/"2"'}),
    ({"Last-Modified": "Mon, 02 Nov 2026 10:00:00 GMT"}, {"Last-Modified": "Mon, 02 Nov 2026 10:00:01 GMT"}),
]


@pytest.mark.parametrize(("old", "new"), VERSIONS, ids=["etag", "weak etag", "last-modified"])
def test_a_header_and_its_weights_are_of_one_version_also_without_keeping_them(
    lab: Lab, old: dict[str, str], new: dict[str, str]
) -> None:
    lab.put("a", headers=old)
    lab.run(
        """
        const load = bridge.beginLoad({cache: false});
        await bridge.fetchRange({url: "/m/a", load}, 0, 100);
        globalThis.changing = {bridge, load};
    """
    )
    lab.put("a", OTHER, headers=new)
    got = lab.run(
        "const {bridge: b, load} = globalThis.changing; return caught(() => b.fetchRange({url: '/m/a', load}, 100, 9));"
    )
    assert got == ["FileChanged", "/m/a: at byte 100: the file changed while it was read"]


@pytest.mark.parametrize(("old", "new"), VERSIONS, ids=["etag", "weak etag", "last-modified"])
def test_a_new_version_takes_the_place_of_the_old_one(lab: Lab, old: dict[str, str], new: dict[str, str]) -> None:
    file = lab.put("a", headers=old)
    assert lab.load("a")["fetchedBytes"] == len(DATA)
    assert lab.load("a")["fetchedBytes"] == 0
    file = lab.put("a", OTHER, headers=new)
    got = lab.load("a")
    assert got["sums"] == sums(OTHER)
    assert file.asked[0] == LOOK[0]
    assert got["fetchedBytes"] == len(OTHER)
    assert len(lab.kept()) == 1


@pytest.mark.parametrize(
    ("options", "lacks"),
    [({"headers": {}}, r"an ETag or Last-Modified"), ({"expose": False}, r"its size \(Content-Length, or Content-")],
)
def test_what_has_no_version_is_not_kept_and_said_once(lab: Lab, options: dict[str, Any], lacks: str) -> None:
    lab.put("a", **options)
    got = lab.run(
        """
        const said = [];
        const bridge2 = await make({onWarning: (text) => said.push(text)});
        const got = await readLoad(bridge2, {url: arg[0]}, arg[1]);
        return {...got, said};
    """,
        [f"{lab.elsewhere}/m/a", ALL],
    )
    assert got["sums"] == sums(DATA)
    assert len(got["warnings"]) == 1
    assert got["said"] == got["warnings"]
    assert re.match(rf"{lab.elsewhere}/m/a is not kept: the server does not tell {lacks}", got["warnings"][0])
    lab.put("b", **options)
    both = """
        const load = bridge.beginLoad();
        for (const url of arg) await bridge.fetchRange({url, load}, 0, 9);
        return bridge.endLoad(load).warnings;
    """
    assert lab.run(both, [f"{lab.elsewhere}/m/a", f"{lab.elsewhere}/m/b"]) == got["warnings"], "one in a load"
    assert lab.kept() == []


def test_a_version_that_the_caller_names_needs_no_question(lab: Lab) -> None:
    file = lab.put("a", headers={})
    run = "return readLoad(bridge, {url: '/m/a', version: arg[0]}, arg[1]);"
    assert lab.run(run, ["manifest 1", ALL])["fetchedBytes"] == len(DATA)
    file.asked.clear()
    assert lab.run(run, ["manifest 1", ALL])["sums"] == sums(DATA)
    assert file.asked == []
    assert lab.run(run, ["manifest 2", ALL])["fetchedBytes"] == len(DATA)
    assert len(lab.kept()) == 1


DAMAGE = """
    const files = await opfsFiles();
    const [path] = Object.keys(files).filter((path) => path.endsWith(arg[0]));
    await flip(files[path], arg[1]);
"""


@pytest.mark.parametrize("at", [0, 4 * MIB - 1, 4 * MIB + 31], ids=["first byte", "last byte", "checksum"])
def test_damage_is_found_out_and_only_that_range_fetched_again(lab: Lab, at: int) -> None:
    file = lab.put("a")
    lab.load("a")
    lab.run(DAMAGE, [f"/{MIB}-{5 * MIB}", at])
    file.asked.clear()
    assert lab.load("a")["sums"] == sums(DATA)
    assert file.asked == [*LOOK, f"bytes={MIB}-{5 * MIB - 1}"]
    file.asked.clear()
    assert lab.load("a")["fetchedBytes"] == 0


def test_a_damaged_record_and_a_range_cut_short_are_found_out(lab: Lab) -> None:
    lab.put("a")
    lab.load("a")
    lab.run(DAMAGE, ["record.json", 0])
    assert lab.kept() == []
    assert lab.load("a")["fetchedBytes"] == len(DATA)
    lab.run("""
        const files = await opfsFiles();
        const [path] = Object.keys(files).filter((path) => path.endsWith(arg));
        const writable = await files[path].createWritable({keepExistingData: true});
        await writable.truncate(1000); await writable.close();
    """, f"/{MIB}-{5 * MIB}")  # fmt: skip
    got = lab.load("a")
    assert (got["sums"], got["fetchedBytes"]) == (sums(DATA), 4 * MIB)


def test_a_server_that_cannot_be_asked_leaves_what_is_kept_in_use_and_one_that_refuses_does_not(lab: Lab) -> None:
    file = lab.put("a")
    lab.load("a")
    got = lab.run(
        """
        const offline = await make({fetch: async () => { throw new TypeError("Failed to fetch"); }});
        return readLoad(offline, {url: "/m/a"}, arg);
    """,
        ALL,
    )
    assert got["sums"] == sums(DATA)
    file.status = 503
    assert lab.load("a")["sums"] == sums(DATA)
    file.status = 404
    assert lab.load("a")["error"] == [
        "FetchError",
        "/m/a: at byte 0: the server answered with HTTP status 404 Not Found",
    ]
    assert lab.kept()[0]["complete"]


def test_short_ranges_among_weights_cost_no_requests_of_their_own(lab: Lab) -> None:
    file = lab.put("a")
    gains = [[at, 2000] for at in range(MIB, 8 * MIB, MIB)]
    assert lab.load("a", gains, together=True)["sums"] == sums(DATA, gains)
    file.asked.clear()
    assert lab.load("a", [[0, len(DATA)]])["sums"] == sums(DATA, [[0, len(DATA)]])
    assert file.asked == [*LOOK, f"bytes=0-{len(DATA) - 1}"]
    assert lab.kept()[0]["complete"]
    names = lab.run("return Object.keys(await opfsFiles()).map((path) => path.split('/').at(-1)).sort();")
    assert names == ["0-4194304", "4194304-8388608", "8388608-9000001", "record.json"], "what is covered is removed"
    assert lab.load("a", gains, together=True)["fetchedBytes"] == 0


def test_two_tabs_read_together_and_write_one_after_the_other(lab: Lab) -> None:
    file = lab.put("a", pause_s=0.005)
    page, run = lab.open()
    try:
        begin = "globalThis.loading = readLoad(bridge, {url: '/m/a'}, arg);"
        for each in (lab.run, run):
            each(begin, ALL)
        for each in (lab.run, run):
            got = each("return globalThis.loading;")
            assert (got["sums"], got["warnings"], got["error"]) == (sums(DATA), [], None)
        assert lab.kept()[0]["complete"]
        file.pause_s = 0
        file.asked.clear()
        run("""
            const files = await opfsFiles();
            globalThis.held = [];
            for (const file of Object.values(files)) {
                globalThis.held.push(await file.createSyncAccessHandle({mode: "read-only"}));
            }
        """)
        got = lab.run(
            """
            const { prototype } = FileSystemFileHandle;
            const { getFile } = prototype;
            prototype.getFile = () => Promise.reject(new Error("a handle is shared; no Blob is needed"));
            try { return await readLoad(bridge, {url: "/m/a"}, arg); } finally { prototype.getFile = getFile; }
        """,
            ALL,
        )
        assert (got["sums"], got["fetchedBytes"]) == (sums(DATA), 0), "a tab that reads does not shut others out"
        run("for (const handle of globalThis.held) handle.close();")
        lab.run("""
            const [folder, key] = Object.keys(await opfsFiles())[0].split("/");
            const held = () => new Promise((end) => (globalThis.end = end));
            globalThis.lock = navigator.locks.request(`${folder} ${key}`, held);
        """)
        waits = run("""
            const forgetting = bridge.forget("/m/a").then(() => "forgot");
            globalThis.forgetting = forgetting;
            return Promise.race([forgetting, wait(100).then(() => "waits")]);
        """)
        assert waits == "waits"
        lab.run("globalThis.end(); await globalThis.lock;")
        assert run("return globalThis.forgetting;") == "forgot"
        assert lab.kept() == []
    finally:
        page.close()


def test_quota_leaves_a_load_that_goes_on_uncached_with_one_warning(lab: Lab) -> None:
    lab.put("a")
    lab.put("b")
    session = lab.context.new_cdp_session(lab.page)
    try:
        session.send("Storage.overrideQuotaForOrigin", {"origin": lab.origin, "quotaSize": 6_000_000})
        told = lab.load("a")
        # Where the browser's estimate is wrong, the write itself fails.
        blind = """
            const {storage, locks} = navigator;
            const fake = {locks, storage: {getDirectory: () => storage.getDirectory(), estimate: async () => ({})}};
            return readLoad(await make({navigator: fake}), {url: "/m/b"}, arg);
        """
        failed = [lab.run(blind, ALL), lab.run(blind, ALL, page_itself=True)]
    finally:
        session.send("Storage.overrideQuotaForOrigin", {"origin": lab.origin})
    for got, name in [(told, "a"), *((got, "b") for got in failed)]:
        assert (got["error"], got["sums"]) == (None, sums(DATA))
        [warning] = got["warnings"]
        assert warning.startswith(f"{lab.origin}/m/{name} is not kept: no room in this browser's storage (")
    assert lab.kept() == []
    assert lab.run("return Object.keys(await opfsFiles());") == [], "nothing is left of what was begun"


def test_a_file_for_which_there_is_no_room_is_not_begun(lab: Lab) -> None:
    lab.put("a")
    got = lab.run(
        """
        const {storage, locks} = navigator;
        const estimate = async () => ({quota: 1000, usage: 100});
        const fake = {locks, storage: {getDirectory: () => storage.getDirectory(), estimate}};
        return readLoad(await make({navigator: fake}), {url: "/m/a"}, arg);
    """,
        ALL,
    )
    assert got["sums"] == sums(DATA)
    [warning] = got["warnings"]
    assert warning.endswith("(9000001 bytes are needed, and 900 are free)")
    assert lab.run("return Object.keys(await opfsFiles());") == []


def test_without_a_private_file_system_loads_go_on_and_it_is_said_once(lab: Lab) -> None:
    lab.put("a")
    got = lab.run(
        """
        const bare = await make({navigator: {}});
        const refused = await make({navigator: {locks: navigator.locks, storage: {
            getDirectory: async () => { throw new DOMException("not here", "SecurityError"); }}}});
        const found = [];
        for (const b of [bare, bare, refused]) found.push(await readLoad(b, {url: "/m/a"}, arg));
        return [...found, await caught(() => bare.cached())];
    """,
        ALL,
    )
    *loads, error = got
    assert [load["sums"] for load in loads] == [sums(DATA)] * 3
    assert [len(load["warnings"]) for load in loads] == [1, 0, 1]
    assert re.match(r"model files are not kept: .* must be served over https$", loads[0]["warnings"][0])
    assert re.match(r"model files are not kept: .* \(not here\)$", loads[2]["warnings"][0])
    assert error[0] == "Unsupported"


def test_the_browser_is_asked_once_to_keep_files(lab: Lab) -> None:
    lab.put("a")
    lab.put("b")
    asked = lab.run(
        """
        const {storage, locks} = navigator;
        let asked = 0;
        const fake = {locks, storage: {getDirectory: () => storage.getDirectory(), estimate: () => storage.estimate(),
            persist: async () => { asked += 1; throw new Error("no"); }}};
        const one = await make({navigator: fake});
        for (const url of ["/m/a", "/m/b"]) await readLoad(one, {url}, arg);
        return asked;
    """,
        HEADER,
    )
    assert asked == 1


def test_one_address_or_all_are_forgotten(lab: Lab) -> None:
    for name in ("a", "b", "c"):
        lab.put(name)
        lab.load(name, HEADER)
    assert lab.run("return bridge.forget('/m/none');") == 0
    assert lab.run("return bridge.forget(arg);", f"{lab.origin}/m/b#part") == 1
    assert [kept["url"].rpartition("/")[2] for kept in lab.kept()] == ["a", "c"]
    assert lab.run("return bridge.forget();") == 2
    assert lab.kept() == []


def test_a_load_that_is_aborted_stops_at_once_and_keeps_what_came(lab: Lab) -> None:
    file = lab.put("a", pause_s=0.02)
    got = lab.run(
        """
        const load = bridge.beginLoad();
        const reading = caught(() => bridge.fetchRange({url: "/m/a", load}, 0, 9000001));
        await wait(400);
        bridge.abortLoad(load);
        const error = await reading;
        const again = await caught(() => bridge.fetchRange({url: "/m/a", load}, 0, 10));
        return {error, again, ...bridge.endLoad(load)};
    """
    )
    assert got["error"][0] == got["again"][0] == "AbortError"
    assert 0 < got["fetchedBytes"] < len(DATA)
    assert lab.kept()[0]["bytes"] == got["fetchedBytes"]
    file.pause_s = 0
    file.asked.clear()
    assert lab.load("a", [[0, len(DATA)]])["sums"] == sums(DATA, [[0, len(DATA)]])
    assert file.asked == [*LOOK, f"bytes={got['fetchedBytes']}-{len(DATA) - 1}"]
