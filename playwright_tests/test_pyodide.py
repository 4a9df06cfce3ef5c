"""The package inside Pyodide, end to end: ops on tensors, programs, the tiny model against NumPy, the real one against
its golden. One page with one Python serves all of them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from playwright_tests.python_page import PythonPage
from tests.llm import tiny
from tests.llm.numpy_device import numpy_engine
from webxpu.host.assets import DEFAULT_MODEL, read_lock
from webxpu.host.serve import Server
from webxpu.llm.generate import Generation
from webxpu.llm.sampler import Sampling

GOLDEN = json.loads((Path(__file__).parent.parent / "tests" / "goldens" / "smollm2.json").read_text("utf-8"))
PROMPT, GREEDY = tiny.golden()["prompt"].tolist(), tiny.golden()["greedy"].tolist()
# Ids of the real model that are compared; a SwiftShader token takes about a second.
REAL_TOKENS = 16
GENERATE = """
c, s = bridge.calls, model.device.stats()
generation = model.generate(given["prompt"], **given["options"])
async for ids in generation:
    pass
e = model.device.stats()
return {
    "ids": generation.ids, "reason": generation.finish_reason, "reused": generation.reused_tokens,
    "calls": bridge.calls - c, "pipelines": e["pipelines"] - s["pipelines"], "read": e["bytesRead"] - s["bytesRead"],
    "timings": vars(generation.timings),
}
"""


@pytest.fixture(scope="session")
def tiny_model(python: PythonPage, site_server: Server) -> Iterator[PythonPage]:
    """The tiny llama, kept in the page under the name `tiny`."""
    url = site_server.share(tiny.FILE)
    python.run(
        """
from webxpu.llm import model
cpu, model.CHUNK_ROWS_CPU = model.CHUNK_ROWS_CPU, (64, 16)  # a mix of sizes, as a GPU has it
kept["tiny"] = await webxpu.load(given["url"], context_tokens=256)
model.CHUNK_ROWS_CPU = cpu
""",
        url=url,
    )
    yield python
    python.run("kept.pop('tiny').dispose()")


def generate(page: PythonPage, prompt: list[int], model: str = "tiny", **options: Any) -> dict[str, Any]:
    return page.run(f"model = kept['{model}']\n{GENERATE}", prompt=prompt, options={"stop_ids": [], **options})


def on_numpy(prompt: list[int], max_tokens: int, sampling: Sampling | None = None) -> list[int]:
    """What the reference gives for the same request."""

    async def run() -> list[int]:
        engine = numpy_engine(tiny.model()[0], tiny.dense(), 256)
        generation = Generation(engine, prompt, sampling=sampling or Sampling(), max_tokens=max_tokens)
        async for _ in generation:
            pass
        return generation.ids

    return tiny.finished(run())


def test_ops_run_on_tensors_as_on_arrays(python: PythonPage) -> None:
    worst = python.run("""
from webxpu.quant.ggml import Blocks
device = await webxpu.open_device()
random = np.random.default_rng(1)
x, y = (random.standard_normal((5, 64), np.float32) for _ in range(2))
weight = Blocks("q8_0", (7, 64), random.integers(0, 60, 7 * 68, np.uint8))
worst = 0.0
for op, args, options in [
    (ops.softmax, (x,), {}), (ops.elementwise, (x, y), {"kind": "add"}), (ops.matmul, (x, y.T.copy()), {}),
    (ops.linear, (x, weight), {}), (ops.rmsnorm, (x, y[0]), {"eps": 1e-5}), (ops.activation, (x,), {"kind": "silu"}),
]:
    got = await op(*(device.tensor(a) for a in args), **options).numpy()
    want = op(*args, **options)
    worst = max(worst, float(np.abs(got - want).max() / np.abs(want).max()))
device.close()
return worst
""")
    assert worst < 1e-5


def test_a_recorded_program_runs_again_on_new_values_in_one_call(python: PythonPage) -> None:
    calls, got, want = python.run("""
device = await webxpu.open_device()
x = device.tensor(np.zeros((3, 8), np.float32))
with device.record() as program:
    y = ops.softmax(ops.activation(ops.elementwise(x, x, kind="add"), kind="silu"))
await program.compile()
values = [np.random.default_rng(seed).standard_normal((3, 8), np.float32) for seed in (1, 2)]
calls, got = [], []
for array in values:
    x.write(array)
    before = bridge.calls
    program.run()
    calls.append(bridge.calls - before)
    got.append((await y.numpy()).tolist())
want = [ops.softmax(ops.activation(ops.elementwise(a, a, kind="add"), kind="silu")).tolist() for a in values]
device.close()
return calls, got, want
""")
    assert calls == [1, 1]
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


def test_wrong_uses_raise_typed_errors_that_name_what_was_wrong(python: PythonPage) -> None:
    errors = python.run("""
device = await webxpu.open_device()
other = await webxpu.open_device()
x, y = (d.tensor(np.ones((2, 4), np.float32)) for d in (device, other))
gone = device.tensor(np.ones((2, 4), np.float32))
gone.free()
found = []
for wrong in (lambda: ops.softmax(gone), lambda: ops.elementwise(x, y, kind="add"),
              lambda: ops.elementwise(x, np.ones((2, 4), np.float32), kind="add")):
    try:
        wrong()
    except Exception as e:
        found.append([type(e).__name__, str(e)])
device.close(), other.close()
return found
""")
    assert errors == [
        ["DeviceError", "softmax: x, float32[2, 4], was freed"],
        ["DeviceError", "elementwise: b, float32[2, 4], belongs to another device"],
        ["ShapeError", "elementwise: arguments must all be tensors or all arrays, got a tensor and ndarray"],
    ]


def test_the_tiny_model_gives_transformers_ids(tiny_model: PythonPage) -> None:
    done = generate(tiny_model, PROMPT, max_tokens=len(GREEDY))
    assert done["ids"] == GREEDY
    assert done["reason"] == "length"


def test_a_second_prompt_of_another_length_makes_no_pipeline_and_few_calls(tiny_model: PythonPage) -> None:
    generate(tiny_model, PROMPT, max_tokens=4)
    done = generate(tiny_model, PROMPT[5:38], max_tokens=64)
    assert len(done["ids"]) == 64
    assert done["pipelines"] == 0
    assert done["calls"] <= 64 / 8 + 10
    assert done["read"] <= 64 * 64
    assert done["ids"] == on_numpy(PROMPT[5:38], 64)


@pytest.mark.parametrize(
    "sampling",
    [
        Sampling(temperature=1.0, seed=5),
        Sampling(temperature=0.7, top_k=20, seed=2**63 + 1),
        Sampling(temperature=1.5, top_p=0.8, min_p=0.05, seed=6),
    ],
    ids=["plain", "top_k", "top_p"],
)
def test_sampled_ids_are_those_of_numpy(tiny_model: PythonPage, sampling: Sampling) -> None:
    done = generate(tiny_model, PROMPT, max_tokens=16, **vars(sampling))
    assert done["ids"] == on_numpy(PROMPT, 16, sampling)
    assert done["pipelines"] == 0


CHOOSING = """
from webxpu.llm.dry import Dry
from webxpu.llm.host_sampler import HostSampler
from webxpu.llm.sampler import Sampling

class Even:
    def allowed(self, prefix):
        return range(0, 320, 2) if len(prefix) % 3 else None

def choices():
    return [
        {"repetition_penalty": 1.1, "logprobs": 5, "constraint": Even()},
        {"temperature": 2.0, "seed": 5, "top_n_sigma": 1.0, "repetition_penalty": 1.3, "presence_penalty": 0.2,
         "frequency_penalty": 0.1, "no_repeat_ngram_size": 2, "logit_bias": {3: 1.0, 4: -float("inf")}, "logprobs": 3},
        {"temperature": 1.5, "seed": 7, "dry": Dry(2.0), "constraint": Even(), "logprobs": 2},
        {"sampler": HostSampler(Sampling(temperature=1.5, top_k=50), seed=2**70)},
    ]

async def chosen(model, prompt):
    found = []
    for options in choices():
        generation = model.generate(prompt, max_tokens=8, stop_ids=[], **options)
        async for _ in generation:
            pass
        found.append([generation.ids, [[one.logprob, one.top] for one in generation.logprobs]])
    return found
"""


def test_penalties_constraints_and_samplers_choose_numpys_ids(tiny_model: PythonPage) -> None:
    """The same lines in the page and here."""
    found = tiny_model.run(f"{CHOOSING}\nreturn await chosen(kept['tiny'], given['prompt'])", prompt=PROMPT)
    here: dict[str, Any] = {}
    exec(CHOOSING, here)
    wanted = tiny.finished(here["chosen"](numpy_engine(tiny.model()[0], tiny.dense(), 256), PROMPT))
    assert [ids for ids, _ in found] == [ids for ids, _ in wanted]
    for (_, got), (_, want) in zip(found, wanted, strict=True):
        assert [[i for i, _ in top] for _, top in got] == [[i for i, _ in top] for _, top in want]
        assert [own for own, _ in got] == pytest.approx([own for own, _ in want], abs=1e-4)
    assert [len(got) for _, got in found] == [8, 8, 8, 0]


def test_a_conversation_goes_on_from_the_cache(tiny_model: PythonPage) -> None:
    first = generate(tiny_model, PROMPT, max_tokens=20)
    longer = [*PROMPT, *first["ids"], 9, 8, 7]
    done = generate(tiny_model, longer, max_tokens=12)
    assert done["reused"] == len(PROMPT) + 19
    assert done["ids"] == on_numpy(longer, 12)


def test_a_stop_id_and_an_abort_leave_a_cache_that_is_right(tiny_model: PythonPage) -> None:
    tiny_model.run("await kept['tiny'].reset()")
    stopped = generate(tiny_model, PROMPT, max_tokens=100, stop_ids=[GREEDY[9]])
    assert (stopped["ids"], stopped["reason"]) == (GREEDY[:9], "stop")
    aborted = tiny_model.run(
        """
generation = kept["tiny"].generate(given["prompt"], max_tokens=100, stop_ids=[])
async for ids in generation:
    generation.abort()
return generation.ids, generation.finish_reason
""",
        prompt=PROMPT[:50],
    )
    assert aborted[1] == "abort"
    assert aborted[0] == on_numpy(PROMPT[:50], len(aborted[0]))
    assert generate(tiny_model, PROMPT, max_tokens=len(GREEDY))["ids"] == GREEDY


def test_a_context_that_is_full_ends_the_reply_and_harms_nothing(tiny_model: PythonPage) -> None:
    prompt = (PROMPT * 4)[:250]
    done = generate(tiny_model, prompt)
    assert (len(done["ids"]), done["reason"]) == (6, "context")
    assert done["ids"] == on_numpy(prompt, 6)
    again = generate(tiny_model, prompt[:200], max_tokens=8)
    assert again["reused"] == 199
    assert again["ids"] == on_numpy(prompt[:200], 8)


def test_chat_streams_the_text_of_the_ids(tiny_model: PythonPage) -> None:
    pieces, text, prompt, ids = tiny_model.run("""
chat = webxpu.Chat(kept["tiny"])
reply = chat.stream([{"role": "user", "content": "Hello 東京"}], max_tokens=12, stop_ids=[])
pieces = [piece async for piece in reply]
return pieces, reply.text, kept["tiny"].tokenizer.decode(reply.prompt_ids, skip_special=False), reply.ids
""")
    assert prompt == "<|im_start|>user\nHello 東京<|im_end|>\n<|im_start|>assistant\n"
    assert all(pieces)
    assert "".join(pieces) == text
    assert len(ids) == 12


def test_freeing_a_model_gives_all_its_memory_back(tiny_model: PythonPage, site_server: Server) -> None:
    before, loaded, after = tiny_model.run(
        """
device = kept["tiny"].device
found = [device.stats()]
model = await webxpu.load(given["url"], device=device, context_tokens=64)
found.append(device.stats())
model.dispose()
found.append(device.stats())
return [[s["buffers"], s["bytes"], s["programs"]] for s in found]
""",
        url=site_server.share(tiny.FILE),
    )
    assert after == before
    assert all(more > less for more, less in zip(loaded, before, strict=True))


def test_a_file_that_is_no_model_leaves_nothing_behind(python: PythonPage, site_server: Server, tmp_path: Path) -> None:
    short = tmp_path / "short.gguf"
    short.write_bytes(tiny.FILE.read_bytes()[:-1000])
    text = tmp_path / "text.gguf"
    text.write_text("<!doctype html>")
    urls = [site_server.share(short), site_server.share(text), f"{site_server.url}/models/none.gguf"]
    found = python.run(
        """
device = await webxpu.open_device()
found = []
for url in given["urls"]:
    try:
        await webxpu.load(url, device=device)
    except Exception as e:
        found.append([type(e).__name__, str(e)])
found.append(device.stats()["bytes"])
device.close()
return found
""",
        urls=urls,
    )
    assert [error[0] for error in found[:3]] == ["FormatError", "FormatError", "FetchError"]
    assert "short.gguf" in found[0][1]
    assert "the magic number at byte 0 must be 'GGUF'" in found[1][1]
    assert found[3] == 0


@pytest.fixture(scope="module")
def real_model(python: PythonPage, site_server: Server) -> Iterator[dict[str, Any]]:
    """The default model, kept in the page under the name `real`, and what loading it did."""
    heap = python.heap_bytes()
    found = python.run(
        """
reads, seen = [], []
fetch_range, upload = bridge.fetch_range, bridge.upload
async def noted_fetch(source, start, nbytes):
    answer = await fetch_range(source, start, nbytes)
    reads.append(["read", start, len(answer["bytes"])])
    return answer
async def noted_upload(device, options):
    reads.append(["upload", min(p["start"] for p in options["pieces"]), sum(p["bytes"] for p in options["pieces"])])
    return await upload(device, options)
bridge.fetch_range, bridge.upload = noted_fetch, noted_upload
try:
    kept["real"] = await webxpu.load(given["url"], progress=lambda *at: seen.append(at))
finally:
    bridge.fetch_range, bridge.upload = fetch_range, upload
return {"reads": reads, "progress": seen, "load_ms": kept["real"].load_ms}
""",
        url=f"{site_server.url}/models/{read_lock()[DEFAULT_MODEL].file}",
    )
    yield {**found, "heap_growth": python.heap_bytes() - heap}
    python.run("kept.pop('real').dispose()")


def test_the_real_models_bytes_go_past_pythons_memory(real_model: dict[str, Any], seen: list[str]) -> None:
    seen.append(
        f"loaded in {real_model['load_ms'] / 1e3:.1f} s; Python's memory grew by {real_model['heap_growth'] >> 20} MiB"
    )
    assert real_model["heap_growth"] < 32 << 20
    *reads, upload = real_model["reads"]
    assert upload[0] == "upload"
    tensors_at, tensor_bytes = upload[1:]
    assert tensor_bytes > 96_000_000
    # Python reads the header, by doubling: its last range may reach past it, but none begins there.
    assert [kind for kind, *_ in reads] == ["read"] * len(reads)
    assert all(start < tensors_at for _, start, _ in reads)
    assert sum(nbytes for *_, nbytes in reads) < 2 * tensors_at


def test_loading_reports_its_progress_up_to_the_last_byte(real_model: dict[str, Any]) -> None:
    seen = real_model["progress"]
    tensor_bytes = real_model["reads"][-1][2]
    assert {total for _, total in seen} == {tensor_bytes}
    loaded = [done for done, _ in seen]
    assert loaded == sorted(loaded)
    assert loaded[-1] == tensor_bytes
    assert len(set(loaded)) > 10


@pytest.mark.parametrize("prompt", GOLDEN["prompts"], ids=lambda prompt: prompt["kind"])
def test_the_real_model_gives_the_goldens_ids(
    python: PythonPage, real_model: dict[str, Any], prompt: dict[str, Any], seen: list[str]
) -> None:
    expected = prompt["greedy_ids"][:REAL_TOKENS]
    stopped = GOLDEN["eos_token_id"] in expected
    done = generate(python, prompt["prompt_ids"], "real", max_tokens=REAL_TOKENS, stop_ids=[GOLDEN["eos_token_id"]])
    assert done["ids"] == [i for i in expected if i != GOLDEN["eos_token_id"]]
    assert done["reason"] == ("stop" if stopped else "length")
    assert done["timings"]["dispatches_per_token"] <= 5 * 30 + 4
    timings = done["timings"]
    pace = timings["decode_ms"] / 1e3 / max(timings["decode_tokens"], 1)
    seen.append(
        f"{timings['prefill_tokens']} prompt tokens in {timings['prefill_ms'] / 1e3:.1f} s, then {pace:.2f} s a token"
    )


def test_the_readmes_example_does_what_its_comments_say(python: PythonPage, site_server: Server) -> None:
    readme = (Path(__file__).parent.parent / "README.md").read_text("utf-8")
    example = readme.split("```python\n")[1].split("```")[0]
    address = "https://example.org/SmolLM2-135M-Instruct.Q4_1.gguf"
    assert address in example
    example = example.replace(address, f"{site_server.url}/models/{read_lock()[DEFAULT_MODEL].file}")
    said = python.run(f"""
import contextlib, io
said = io.StringIO()
with contextlib.redirect_stdout(said):
{"".join(f"    {line}" + chr(10) for line in example.splitlines() if line)}
model.dispose()
device.close()
return said.getvalue()
""")
    rows, answer = said.split("]]")
    want = np.exp([1.0, 2.0, 3.0]) / np.exp([1.0, 2.0, 3.0]).sum()
    np.testing.assert_allclose(np.array(re.findall(r"0\.\d+", rows), float), np.tile(want, 2), rtol=1e-5)
    assert answer.strip() == "The capital of Japan is Tokyo."
