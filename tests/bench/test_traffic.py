"""What the dispatches of recorded programs move, by hand."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from tests.llm.fake_bridge import FakeBridge
from webxpu.bench.synthetic import Shape, write_model
from webxpu.bench.traffic import DISPATCH_S, Moved, Traffic, weight_bytes
from webxpu.gpu.device import open_device
from webxpu.gpu.plan import arg
from webxpu.llm.head import Choice
from webxpu.llm.model import Model, load
from webxpu.quant.ggml import nbytes

SMALL = Shape("llama", 2, 256, 512, 4, 2, 64, 320, 1e4, 1e-5, 512)


def opened(folder: Any, name: str, **options: Any) -> Model:
    async def run() -> Model:
        device = await open_device(bridge=FakeBridge(folder))  # type: ignore[arg-type]
        return await load(name, device=device, **options)

    return asyncio.run(run())


def moved(model: Model, program: Any, rows: int, tokens: int) -> list[Traffic]:
    return Moved.new(model.config, list(model.tensors.values()), model.engine.cache, rows, tokens).of(program)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Model:
    folder = tmp_path_factory.mktemp("models")
    write_model(folder / "m.gguf", SMALL, "q4_1")
    return opened(folder, "m.gguf")


def test_a_token_reads_every_weight_once_and_one_row_of_the_embedding(model: Model) -> None:
    found = moved(model, model.engine.programs.decode(Choice(greedy=True)), 1, 100)
    matrices = 2 * ((4 + 2 + 2) * 64 * 256 + 256 * 256 + 3 * 512 * 256) + 320 * 256
    gains = 4 * 256 * (2 * 2 + 1)
    assert weight_bytes(found) == nbytes("q4_1", (1, matrices)) + nbytes("q4_1", (1, 256)) + gains


def test_each_dispatch_has_its_own_weights_its_tokens_and_its_activations(model: Model) -> None:
    embed, *layers, head, advance = moved(model, model.engine.programs.decode(Choice(greedy=True)), 1, 100)
    assert embed.kernel.startswith("embed/")
    assert embed.nbytes == nbytes("q4_1", (1, 256)) + 4 + 256 + 4 * 256  # a row, its id, the state, its values
    qkv, attend, _, gate_up, _ = layers[:5]
    row = 4 * 256
    token = 2 * 2 * 64 * 4  # key and value of two heads
    weight = nbytes("q4_1", (512, 256))
    assert qkv.kernel.startswith("norm_qkv/")
    assert qkv.nbytes == weight + 2 * row + row + 8 * 32 + token + 4 * 2 + 256  # table row, its token, pages, state
    assert attend.kernel.startswith("attend/")
    assert not attend.weights
    parts = 4 * 4 * 16 * (64 + 2)
    assert attend.nbytes == row + 100 * token + 4 * 2 + 256 + parts
    assert gate_up.nbytes == nbytes("q4_1", (1024, 256)) + 2 * row + 4 * 512
    assert sum(head.weights.values()) == nbytes("q4_1", (320, 256)) + row
    assert advance.nbytes < 8192


def test_a_chunk_of_a_prompt_reads_the_weights_once_and_the_tokens_before_it(model: Model) -> None:
    program = model.engine.programs.prefill(64)
    found = moved(model, program, 50, 150)
    assert weight_bytes(found) < weight_bytes(moved(model, model.engine.programs.decode(Choice(greedy=True)), 1, 1)) + (
        50 * nbytes("q4_1", (1, 256))
    )
    assert sum(found[0].weights.values()) == 50 * nbytes("q4_1", (1, 256))
    token = 2 * 2 * 64 * 4
    attend = [m for m in found if m.kernel == "attend/prefill"]
    more = [m for m in moved(model, program, 50, 151) if m.kernel == "attend/prefill"]
    assert [b.nbytes - a.nbytes for a, b in zip(attend, more, strict=True)] == [token] * 2


def test_a_weight_that_several_dispatches_read_counts_once(model: Model) -> None:
    parts = [Traffic("a", 100, {(1, 0): 60}), Traffic("b", 90, {(1, 0): 60, (2, 256): 5}), Traffic("c", 7, {})]
    assert weight_bytes(parts) == 65
    assert [part.least_seconds(1e9) for part in parts] == [DISPATCH_S] * 3
    assert parts[0].least_seconds(1e6) == pytest.approx(1e-4)


def test_of_experts_only_those_chosen_are_read(model: Model) -> None:
    whole = Moved.new(model.config, [], model.engine.cache, 1, 1)
    assert whole.experts == 1.0
    config = replace(model.config, experts=8, experts_used=2)
    assert [Moved.new(config, [], model.engine.cache, rows, 1).experts for rows in (1, 3, 9)] == [0.25, 0.75, 1.0]
    weight = next(t for name, t in model.tensors.items() if name == "0.down")
    step = SimpleNamespace(name="expert_down", inputs=[(weight.storage, weight.spec, 0)])
    some = Moved.new(config, [weight], model.engine.cache, 1, 1)
    dispatch = SimpleNamespace(constants={}, bindings=[arg(0)], kernel=SimpleNamespace(label="experts/down"))
    step.plan = SimpleNamespace(dispatches=[dispatch])
    [found] = some.of(SimpleNamespace(steps=[step]))  # type: ignore[arg-type]
    assert found.nbytes == weight.nbytes // 4


def test_a_sliding_window_reads_no_more_than_itself_and_the_rows(model: Model) -> None:
    [step] = [s for s in model.engine.programs.decode(Choice(greedy=True)).steps if s.name == "attend"][:1]
    [dispatch] = step.plan.dispatches
    token = 2 * 2 * 64 * 4
    sizes = []
    for window in (0, 32, 200):
        slid = replace(dispatch, constants={**dispatch.constants, "WINDOW": window})
        program = SimpleNamespace(steps=[replace(step, plan=replace(step.plan, dispatches=[slid]))])
        sizes += [moved(model, program, rows, 100)[0].nbytes for rows in (1, 4)]
    assert [sizes[0] - size for size in sizes] == [0, 0, 68 * token, 65 * token, 0, 0]
