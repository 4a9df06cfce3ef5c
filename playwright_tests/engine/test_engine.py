"""The running engine: a long prompt, a window that rolls, conversations kept across a reload, aborts, a lost GPU.

With `--engine-model smollm2` the same on the default model, where the NumPy engine is too slow to be asked: then runs
are compared with each other.
"""

from __future__ import annotations

import math
import shutil
import subprocess
from typing import Any

from playwright_tests.engine.engine_page import EnginePage
from tests.goldens.tiny_engine import long_prompt

WINDOW = 192


def test_a_prompt_of_2000_tokens_is_read_to_its_end(engine: EnginePage) -> None:
    prompt = long_prompt(engine.vocab)
    done = engine.generate(prompt, max_tokens=8)
    assert (len(done["ids"]), done["reason"], done["reused"]) == (8, "length", 0)
    if engine.golden:
        assert done["ids"] == engine.golden["long"]
    # What it said depends on the whole prompt, and the cache has all of it.
    again = engine.generate([*prompt[:-1], (prompt[-1] + 1) % engine.vocab], max_tokens=8)
    assert again["reused"] == len(prompt) - 1
    assert again["ids"] != done["ids"]


def test_600_tokens_go_through_a_window_of_192(engine: EnginePage) -> None:
    engine.load("window", context_tokens=WINDOW + 5, sink_tokens=4)
    done = engine.generate(engine.prompt, "window", max_tokens=600)
    about = engine.python.run("""
model = kept.pop("window")
evicted, told = model.ledger.evicted, model.capabilities
model.dispose()
return {"evicted": evicted, **told}
""")
    assert (about["capacity"], about["sinks"], about["rolling"]) == (WINDOW, 64, True)
    assert (len(done["ids"]), done["reason"]) == (600, "length")
    fed = len(engine.prompt) + 599
    assert about["evicted"] == math.ceil((fed + 1 - WINDOW) / 64) * 64
    if engine.golden:
        assert done["ids"] == engine.golden["window"]


def test_an_abort_while_a_token_is_made_keeps_what_came_and_harms_nothing(engine: EnginePage) -> None:
    want = engine.generate(engine.prompt, max_tokens=12)["ids"]
    got, reason, held = engine.python.run(
        """
import asyncio
model = kept["model"]
await model.reset()
generation = model.generate(given["prompt"], max_tokens=500, stop_ids=[])
await anext(generation)
waiting = asyncio.ensure_future(anext(generation, None))
await asyncio.sleep(0)
generation.abort()
await waiting
assert await anext(generation, None) is None
return generation.ids, generation.finish_reason, model.ledger.ids
""",
        prompt=engine.prompt,
    )
    assert reason == "abort"
    assert got
    assert got[:12] == want[: len(got)]
    assert held == [*engine.prompt, *got[:-1]]
    assert engine.generate(engine.prompt, max_tokens=12)["ids"] == want


def test_the_gpu_holds_as_much_after_100_generations_as_after_2(engine: EnginePage) -> None:
    def held_after(first: int, last: int) -> dict[str, int | None]:
        stats: dict[str, int | None] = engine.python.run(
            """
model, device = kept["model"], kept["device"]
other = kept.setdefault("other", model.sequence())
for turn in range(given["first"], given["last"] + 1):
    prompt = [*given["prompt"][: 20 + turn % 7], turn]
    async for _ in (other if turn % 10 == 0 else model).generate(prompt, max_tokens=2, stop_ids=[]):
        pass
stats = device.stats()
return {name: stats[name] for name in ("bytes", "buffers", "groups", "pipelines", "programs")}
""",
            prompt=engine.prompt,
            first=first,
            last=last,
        )
        assert all(stats.values())
        return {**stats, "driver's MiB": driver_mib()}

    first, last = held_after(1, 2), held_after(3, 100)
    assert first == last


def driver_mib() -> int | None:
    """What NVIDIA's driver says that all processes hold on the first GPU; None without that driver."""
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return None
    asked = [tool, "--query-gpu=memory.used", "--format=csv,noheader,nounits", "--id=0"]
    return int(subprocess.run(asked, check=True, capture_output=True, text=True).stdout)


def test_ids_are_chosen_by_every_kind_of_option_as_numpy_chooses_them(engine: EnginePage) -> None:
    found = engine.python.run(
        """
from webxpu.llm.dry import Dry
from webxpu.llm.host_sampler import HostSampler
from webxpu.llm.sampler import Sampling

class Even:
    def allowed(self, prefix):
        return range(0, 320, 2) if len(prefix) % 2 else None

drawn = {"temperature": 0.9, "seed": 11}
choices = {
    "penalized": {"repetition_penalty": 1.2, "presence_penalty": 0.3, "no_repeat_ngram_size": 3, "logprobs": 2},
    "biased": {**drawn, "top_p": 0.9, "logit_bias": {17: 2.0, 170: -float("inf")}},
    "constrained": {**drawn, "constraint": Even()},
    "dry": {"dry": Dry(multiplier=2.0)},
    "host": {"sampler": HostSampler(Sampling(temperature=0.9, top_k=40), seed=42)},
    "plain": {},
    "drafted": {"prompt_lookup": True},
}
device, found, pipelines = kept["device"], {}, []
for turn in range(2):
    for name, options in choices.items():
        if turn and name == "host":
            continue  # its generator goes on
        prompt = given["prompt"][: 30 + 10 * turn] if turn else given["prompt"]
        generation = kept["model"].generate(prompt, max_tokens=12, stop_ids=[], **options)
        async for _ in generation:
            pass
        if not turn:
            found[name] = generation.ids
        if name == "penalized":
            assert len(generation.logprobs) == 12
            assert all(found.top[0][1] >= found.logprob for found in generation.logprobs)
    pipelines.append(device.stats()["pipelines"])
return found, pipelines
""",
        prompt=engine.prompt,
    )
    ids, pipelines = found
    assert ids.pop("drafted") == ids.pop("plain")
    assert pipelines[0] == pipelines[1]  # another length compiles nothing
    if engine.golden:
        assert ids == engine.golden["choices"]


def test_every_kind_of_cache_gives_the_ids_of_numpy(engine: EnginePage) -> None:
    sizes = {}
    for kv in ("f16", "q8"):
        engine.load(kv, context_tokens=256, kv=kv)
        done = engine.generate(engine.prompt, kv, max_tokens=12)
        sizes[kv] = engine.python.run(
            "model = kept.pop(given['kv'])\nsize = model.capabilities['cache_bytes']\nmodel.dispose()\nreturn size",
            kv=kv,
        )
        if engine.golden:
            assert done["ids"] == engine.golden["kv"][kv]
    assert sizes["q8"] * 16 == sizes["f16"] * 9


def test_a_conversation_is_saved_and_goes_on_after_a_reload(engine: EnginePage) -> None:
    first = engine.generate(engine.prompt, max_tokens=30)["ids"]
    longer = [*engine.prompt, *first, 5]
    size = engine.python.run("""
import js
from pyodide.ffi import to_js
saved = await kept["model"].save()
folder = await js.navigator.storage.getDirectory()
file = await (await folder.getFileHandle("conversation", create=True)).createWritable()
await file.write(to_js(saved))
await file.close()
return len(saved)
""")
    assert size > 100_000
    want = engine.generate(longer, max_tokens=10)
    engine.python.start()
    engine.load(context_tokens=1024)
    engine.python.run("""
import js
folder = await js.navigator.storage.getDirectory()
file = await (await folder.getFileHandle("conversation")).getFile()
saved = (await file.arrayBuffer()).to_bytes()
await kept["model"].restore(saved)
try:
    await kept["model"].restore(saved[:-1])
except webxpu.errors.FormatError:
    return
raise AssertionError("a snapshot that was cut was put back")
""")
    again = engine.generate(longer, max_tokens=10)
    assert again == want
    assert again["reused"] == len(longer) - 2


def test_a_lost_gpu_ends_a_generation_with_its_own_error_and_a_new_engine_works(engine: EnginePage) -> None:
    want = engine.generate(engine.prompt, max_tokens=10)["ids"]
    engine.python.run(
        """
import asyncio
generation = kept["generation"] = kept["model"].generate(given["prompt"], max_tokens=900, stop_ids=[])
await anext(generation)
async def rest():
    async for _ in generation:
        pass
kept["task"] = asyncio.ensure_future(rest())
""",
        prompt=engine.prompt,
    )
    engine.crash()
    found: dict[str, Any] = engine.python.run(
        """
import asyncio
found = {}
for name, work in (("task", kept.pop("task")), ("later", kept["model"].forward(given["prompt"]))):
    try:
        await asyncio.wait_for(work, 20)
    except Exception as e:
        found[name] = [type(e).__name__, str(e)]
found["reason"] = kept.pop("generation").finish_reason
kept.pop("model").dispose()
kept.pop("device").close()
return found
""",
        prompt=engine.prompt,
    )
    for call in ("task", "later"):
        assert found[call][0] == "DeviceLost", found[call]
        assert found[call][1].startswith("the GPU device was lost: ")
    assert found["reason"] == "error"
    engine.load(context_tokens=1024)
    assert engine.generate(engine.prompt, max_tokens=10)["ids"] == want
