"""The page's client and the worker it starts, with a scripted Python in Pyodide's place."""

from __future__ import annotations

import re

import pytest

START = """
    const { start, Client } = await import("/client.mjs");
    const client = await start({ base: "/", pyodide: "fake_pyodide/", tokenizers: "fake_pyodide/tokenizers.mjs" });
    const run = async () => {BODY};
    try { return await run(); } finally { client.close(); }
"""


@pytest.fixture
def client(lab):
    return lambda body, argument=None: lab(START.replace("BODY", f"{{ {body} }}"), argument)


def test_the_worker_starts_python_with_the_bridge_and_the_package(client):
    got = client("return client.info();")
    assert got["calls"] == [
        ["loadPyodide", ["indexURL"], True],
        ["registerJsModule", "webxpu_bridge"],
        ["loadPackage", ["webxpu"]],
        ["pyimport", "webxpu.worker"],
    ]
    assert got["functions"] > 20


def test_a_site_without_its_files_is_an_error_at_the_start(lab):
    name, message = lab("""
        const { start } = await import("/client.mjs");
        return caught(() => start({ base: "/nowhere/" }));
    """)
    assert name == "TypeError"
    assert "nowhere/pyodide/pyodide.mjs" in message


def test_a_model_is_loaded_from_an_address_of_the_page(client):
    got = client("""
        const stages = [], events = [];
        client.addEventListener("info", (event) => events.push(event.detail));
        const info = await client.load({url: "models/m.gguf"},
            {onProgress: (p) => stages.push(p), context_tokens: 7, device: {limits: "default"}});
        return {info, stages, same: events[0] === info, opfs: (await client.load({opfs: "a/b.gguf"})).source};
    """)
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/models/m\.gguf", got["info"].pop("source"))
    assert isinstance(got["info"].pop("id"), int)
    assert got["info"] == {"type": "load", "device": {"limits": "default"}, "options": {"context_tokens": 7}}
    assert [s["stage"] for s in got["stages"]] == ["python", "header"]
    assert got["same"] is True
    assert got["opfs"] == "opfs:a/b.gguf"


def test_a_file_goes_to_the_worker_and_is_forgotten_after_the_load(client):
    got = client("""
        const stages = [];
        const file = new File(["0123456789"], "mine.gguf");
        const {source} = await client.load(file, {onProgress: (p) => stages.push(p)});
        const blob = await client.load(new Blob(["01"]), {onProgress: (p) => stages.push(p)});
        const again = await caught(() => client.send("load", {source: "file:mine.gguf", device: {}, options: {}}));
        return {source, stages, again, blob: blob.source};
    """)
    assert got["source"] == "file:mine.gguf"
    assert got["stages"][2] == {"stage": "download", "loaded": 3, "total": 10}
    assert got["again"] == ["FetchError", "file mine.gguf: the page has registered no file of this name"]
    assert re.fullmatch(r"file:blob \d+", got["blob"])


def test_a_load_is_aborted_by_a_signal_and_only_that_load(client):
    got = client("""
        const [one, two] = [new AbortController(), new AbortController()];
        const loads = [one, two].map(({signal}) => caught(() => client.load({url: "slow.gguf"}, {signal})));
        one.abort();
        const first = await loads[0];
        const waits = await Promise.race([loads[1], wait(50).then(() => "waits")]);
        two.abort();
        const late = await caught(() => client.load({url: "slow.gguf"}, {signal: one.signal}));
        return [first, waits, await loads[1], late[0]];
    """)
    assert got == [["AbortError", "aborted"], "waits", ["AbortError", "aborted"], "AbortError"]


def test_what_is_kept_is_asked_of_the_worker_and_a_warning_is_an_event(client):
    got = client("""
        let asked = 0;
        navigator.storage.persist = async () => { asked += 1; throw new Error("no"); };
        const said = [];
        client.addEventListener("warning", (event) => said.push(event.detail.message));
        const {warnings} = await client.load({url: "toy.mjs?unkept"});
        const before = asked;
        await client.load({url: "models/m.gguf"});
        await client.load({opfs: "m.gguf"});
        return {warnings, said, before, asked, cached: await client.cached(), one: await client.forget("m.gguf"),
            all: await client.forget()};
    """)
    assert got["said"] == got["warnings"]
    assert got["said"][0].startswith("model files are not kept: ")
    assert (got["before"], got["asked"]) == (1, 1)
    assert got["cached"]["type"] == "cached"
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/m\.gguf", got["one"]["url"])
    assert got["all"]["url"] is None


def test_errors_keep_their_names(client):
    got = client("""
        const reply = client.generate("x", {max_tokens: 2, fails: true});
        const pieces = [];
        const failed = await caught(async () => { for await (const piece of reply) pieces.push(piece.text); });
        return [await caught(() => client.load({url: "bad.gguf"})), await caught(() => client.send("dance")),
            failed, pieces, reply.finishReason];
    """)
    assert got == [
        ["FormatError", "bad.gguf: no GGUF"],
        ["TypeError", "no dance"],
        ["DeviceError", "it failed"],
        ["0 ", "1 "],
        None,
    ]


@pytest.mark.parametrize("ms", [0, 3])
def test_a_reply_comes_in_pieces_and_ends_with_its_result(client, ms):
    got = client(
        """
        const reply = client.chat([{role: "user", content: "x"}], {max_tokens: 5, ms: arg});
        const pieces = [], before = reply.finishReason;
        for await (const piece of reply) pieces.push(piece);
        return {pieces, before, reason: reply.finishReason, result: reply.result, calls: (await client.info()).calls};
    """,
        ms,
    )
    assert got["pieces"] == [{"text": f"{i} ", "tokens": 1} for i in range(5)]
    assert (got["before"], got["reason"]) == (None, "length")
    assert got["result"]["type"] == "chat"
    assert got["calls"][-1][0] == "destroy"


def test_abort_ends_the_replies_that_run_and_no_later_one(client):
    got = client("""
        const one = client.generate([1, 2], {max_tokens: 1000, ms: 2});
        const two = client.chat([], {max_tokens: 1000, ms: 2});
        await one.next();
        client.abort();
        let count = 0;
        for await (const _ of one) count++;
        for await (const _ of two) count++;
        const three = client.generate("after", {max_tokens: 3});
        for await (const _ of three);
        return {count, reasons: [one, two, three].map((r) => r.finishReason), prompt: one.result.prompt};
    """)
    assert got["reasons"] == ["abort", "abort", "length"]
    assert got["count"] < 100
    assert got["prompt"] == [1, 2]


def test_leaving_a_reply_early_aborts_it(client):
    got = client("""
        const reply = client.generate("x", {max_tokens: 1000, ms: 2});
        for await (const _ of reply) break;
        const other = client.generate("y", {max_tokens: 1000, ms: 2});
        other.abort();
        for await (const _ of other);
        while (!reply.finishReason) await wait(5);
        return [reply.finishReason, other.finishReason];
    """)
    assert got == ["abort", "abort"]


def test_two_clients_have_a_worker_each(client):
    got = client("""
        const other = await start({ base: "/", pyodide: "fake_pyodide/", tokenizers: "fake_pyodide/tokenizers.mjs" });
        const replies = [client, other].map((c) => c.generate("x", {max_tokens: 200, ms: 1}));
        await replies[1].next();
        other.abort();
        for (const reply of replies) for await (const _ of reply);
        other.close();
        return replies.map((r) => r.finishReason);
    """)
    assert got == ["length", "abort"]


def test_a_closed_client_and_a_broken_worker_reject_what_waits(client):
    got = client("""
        const open = client.generate("x", {max_tokens: 1000, ms: 5});
        const closed = caught(async () => { for await (const _ of open); });
        client.close();
        const broken = new Client(new Worker("/no-such-worker.mjs", {type: "module"}));
        return [await closed, await caught(() => broken.info())];
    """)
    assert got == [["Error", "the client was closed"], ["Error", "the worker's script could not be loaded"]]


def test_a_lost_device_is_an_event(crashing, prelude):
    page, crash = crashing
    page.evaluate(f"""async () => {{ {prelude}
        const {{ start }} = await import("/client.mjs");
        const fake = "fake_pyodide/";
        const client = await start({{base: "/", pyodide: fake, tokenizers: `${{fake}}tokenizers.mjs`}});
        globalThis.lost = new Promise((done) => client.addEventListener("lost", (event) => done(event.detail)));
        await client.open();
    }}""")
    crash()
    assert page.evaluate("() => globalThis.lost")["message"]


def test_the_tokenizer_is_the_injected_library(lab):
    got = lab("""
        const tokenizers = await import("/fake_pyodide/tokenizers.mjs");
        const b = await make({tokenizers});
        const made = b.createTokenizer('{"first": 1}', "{}");
        const ids = [b.encodeText(made, "Aé", false), b.encodeText(made, "A", true)];
        b.freeTokenizer(made);
        const freed = await caught(() => b.encodeText(made, "A", true));
        const bad = await Promise.all(["{}", "{"].map((json) => caught(() => b.createTokenizer(json, "{}"))));
        return [ids, freed, await caught(() => bridge.createTokenizer("{}", "{}")), ...bad];
    """)
    assert got[0] == [[65, 233], [1, 65]]
    assert got[1][0] == "DeviceError"
    assert got[2][0] == "Unsupported"
    assert [name for name, _ in got[3:]] == ["FormatError", "FormatError"]
    rule = "tokenizer: must be one that @huggingface/tokenizers can read, got: "
    assert got[3][1] == f'{rule}Tokenizer must contain a "first" property'
