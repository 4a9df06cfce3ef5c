"""`load` without a GPU: what it allocates, records and uploads, and that nothing stays where it fails."""

from __future__ import annotations

import asyncio
import gc
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest

from tests.formats.files import raw, read, row
from tests.llm import tiny
from tests.llm.fake_bridge import FakeBridge
from webxpu.errors import FetchError, FileChanged, FormatError, KernelError, OutOfMemory, ShapeError, Unsupported
from webxpu.gpu.device import Device, open_device
from webxpu.llm.checkpoint import vocab_of
from webxpu.llm.head import Choice
from webxpu.llm.model import ATTENTION_PARTS, CHUNK_ROWS, CHUNK_ROWS_CPU, Model, load
from webxpu.llm.programs import CHAT_CHOICES
from webxpu.llm.source import LoadReport

NAME = tiny.FILE.name


def device_of(bridge: FakeBridge) -> Device:
    return asyncio.run(open_device(bridge=bridge))  # type: ignore[arg-type]


def loaded(bridge: FakeBridge, source: str = NAME, **options: Any) -> Model:
    return asyncio.run(load(source, device=device_of(bridge), **options))


def test_a_gpu_gets_programs_of_every_size_and_five_dispatches_a_layer() -> None:
    model = loaded(FakeBridge(tiny.GOLDENS))
    programs, made = model.engine.programs, model.engine.programs.all()
    greedy, sampled = CHAT_CHOICES
    assert programs.sizes == CHUNK_ROWS
    assert {id(p) for c in CHAT_CHOICES for p in programs.needed(c)} | {
        id(programs.prefill(rows)) for rows in CHUNK_ROWS
    } == {id(p) for p in made}
    assert programs.decode(greedy).dispatches == 5 * 2 + 3  # embed, head, advance
    assert programs.decode(sampled).dispatches > 5 * 2 + 3
    assert programs.choose(256, greedy).dispatches == 2
    assert programs.all() == made
    attend = next(step for step in programs.decode(greedy).steps if step.name == "attend")
    assert attend.outputs[0][1].shape == (1, 4, ATTENTION_PARTS, 64)
    assert model.engine.tries_lookup


def test_a_cpu_adapter_gets_small_chunks_and_undivided_keys() -> None:
    engine = loaded(FakeBridge(tiny.GOLDENS, {"isFallbackAdapter": True})).engine
    programs = engine.programs
    assert programs.sizes == CHUNK_ROWS_CPU
    assert not engine.tries_lookup
    attend = next(step for step in programs.decode(CHAT_CHOICES[0]).steps if step.name == "attend")
    assert attend.outputs[0][1].shape == (1, 4, 1, 64)


def test_each_weight_byte_of_the_file_is_uploaded_once_and_progress_comes_through() -> None:
    bridge, seen = FakeBridge(tiny.GOLDENS), []
    loaded(bridge, progress=lambda *at: seen.append(at))
    [sent] = bridge.uploads
    assert sent["source"]["url"] == NAME
    ranges = sorted((piece["start"], piece["bytes"]) for piece in sent["pieces"])
    assert ranges == sorted((info.start, info.nbytes) for info in tiny.header().tensors.values())
    total = sum(nbytes for _, nbytes in ranges)
    assert seen == [(total, total)]


def test_the_context_is_the_lesser_of_the_models_and_the_one_asked_for() -> None:
    assert loaded(FakeBridge(tiny.GOLDENS)).capacity == 512
    assert loaded(FakeBridge(tiny.GOLDENS), context_tokens=100).capacity == 100


def test_what_a_model_says_of_itself() -> None:
    model = loaded(FakeBridge(tiny.GOLDENS))
    assert model.config.architecture == "llama"
    assert model.template is not None
    assert model.load_ms > 0
    assert model.generate([5]).stop_ids == sorted(model.tokenizer.eos_ids)
    assert model.generate([5], stop_ids=[7]).stop_ids == [7]
    with pytest.raises(ShapeError, match=r"^generate: top_p must be .*, got 2$"):
        model.generate([5], top_p=2)


def test_free_gives_everything_back_and_leaves_a_device_that_was_lent() -> None:
    bridge = FakeBridge(tiny.GOLDENS)
    model = loaded(bridge)
    assert bridge.buffers
    assert bridge.programs
    model.dispose()
    assert (bridge.buffers, bridge.programs, bridge.closed) == ({}, {}, 0)


def test_a_device_that_load_opened_is_closed_with_the_model_and_where_loading_fails(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bridge = FakeBridge(tiny.GOLDENS)

    async def opened() -> Device:
        return await open_device(bridge=bridge)  # type: ignore[arg-type]

    monkeypatch.setattr("webxpu.llm.model.open_device", opened)
    asyncio.run(load(NAME)).dispose()
    assert bridge.closed == 1
    bridge.fail["upload"] = FetchError("gone")
    with pytest.raises(FetchError, match=r"^gone$"):
        asyncio.run(load(NAME))
    assert bridge.closed == 2


@pytest.mark.parametrize("call", ["fetch", "create", "upload", "compile"])
def test_where_a_step_fails_its_error_comes_out_and_nothing_stays(call: str) -> None:
    errors = {
        "fetch": FetchError("no host"), "create": OutOfMemory("full"),
        "upload": FetchError("cut"), "compile": KernelError("x.wgsl:1:1"),
    }  # fmt: skip
    bridge = FakeBridge(tiny.GOLDENS, fail={call: errors[call]})
    device = device_of(bridge)
    with pytest.raises(type(errors[call]), match=f"^{errors[call]}$"):
        asyncio.run(load(NAME, device=device))
    gc.collect()
    assert (bridge.buffers, bridge.programs, bridge.closed) == ({}, {}, 0)


@pytest.mark.parametrize("call", ["fetch_range", "upload", "compile"])
def test_a_cancelled_load_leaves_nothing(call: str) -> None:
    """Wherever it is: the bridge ends what it does, as `webxpu.bridge` promises, and the rest is freed."""
    bridge = FakeBridge(tiny.GOLDENS)
    device = device_of(bridge)

    async def run() -> None:
        reached = asyncio.Event()

        async def endless(*_: Any) -> Any:
            reached.set()
            await asyncio.Event().wait()

        setattr(bridge, call, endless)
        task = asyncio.ensure_future(load(NAME, device=device))
        await reached.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(run())
    gc.collect()
    assert (bridge.buffers, bridge.programs, bridge.loads, bridge.closed) == ({}, {}, {}, 0)


def test_a_file_that_changes_while_it_is_loaded_is_loaded_from_its_header_on() -> None:
    bridge = FakeBridge(tiny.GOLDENS)
    upload, failures = bridge.upload, [FileChanged("it changed")]

    async def changing(device: int, options: Any) -> None:
        if failures:
            raise failures.pop()
        await upload(device, options)

    bridge.upload = changing  # type: ignore[method-assign]
    model = loaded(bridge, cache=False)
    assert bridge.calls.count("fetch") >= 2
    assert model.loaded == LoadReport(10, 20, ())
    assert bridge.loads == {}
    model.dispose()
    assert (bridge.buffers, bridge.programs) == ({}, {})


@pytest.mark.parametrize("wrong", [1, 0, -5, 2.0, True, None])
def test_a_context_that_is_no_number_of_tokens_is_refused_before_anything_is_fetched(wrong: Any) -> None:
    bridge = FakeBridge(tiny.GOLDENS)
    with pytest.raises(ShapeError, match=rf"^load: context_tokens must be a whole number of at least 2, got {wrong}$"):
        loaded(bridge, context_tokens=wrong)
    assert bridge.calls == ["open"]


def written(path: Path, architecture: str, tensors: dict[str, np.ndarray]) -> str:
    writer = gguf.GGUFWriter(path, architecture)
    writer.add_context_length(512)
    for name, values in tensors.items():
        writer.add_tensor(name, values)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path.name


def test_an_unknown_architecture_and_a_header_that_lacks_numbers_are_refused(tmp_path: Path) -> None:
    embedding = {"token_embd.weight": np.zeros((320, 256), np.float32)}
    bridge = FakeBridge(tmp_path)
    with pytest.raises(
        Unsupported, match=r"^load: general\.architecture must be one of gemma3, llama, .*, got 'mamba'$"
    ):
        loaded(bridge, written(tmp_path / "mamba.gguf", "mamba", embedding))
    with pytest.raises(FormatError, match=r"^metadata: llama\.embedding_length is missing$"):
        loaded(bridge, written(tmp_path / "llama.gguf", "llama", embedding))
    assert "create" not in bridge.calls


def test_an_embedding_that_is_a_single_number_has_no_rows() -> None:
    assert vocab_of(read(raw(rows=[row("token_embd.weight", (), 0, 0)], data=4))) == 0
    assert vocab_of(read(raw())) == 0


def test_a_split_model_is_read_and_uploaded_from_all_its_files(tmp_path: Path) -> None:
    first, second = split(tmp_path)
    bridge = FakeBridge(tmp_path)
    model = loaded(bridge, first)
    assert [sent["source"]["url"] for sent in bridge.uploads] == [first, second]
    assert sum(len(sent["pieces"]) for sent in bridge.uploads) == len(tiny.header().tensors)
    assert model.config == tiny.model()[0]


def split(folder: Path) -> list[str]:
    """The tiny file cut in two, as llama.cpp's gguf-split does."""
    reader = gguf.GGUFReader(tiny.FILE)
    names = [f"m-{number:05}-of-00002.gguf" for number in (1, 2)]
    for number, name in enumerate(names):
        writer = gguf.GGUFWriter(folder / name, "llama")
        for field in reader.fields.values():
            if number == 0 and not field.name.startswith(("GGUF.", "general.architecture")):
                writer.add_key_value(field.name, field.contents(), *field.types[:2])
        writer.add_key_value("split.no", number, gguf.GGUFValueType.UINT16)
        writer.add_key_value("split.count", 2, gguf.GGUFValueType.UINT16)
        writer.add_key_value("split.tensors.count", len(reader.tensors), gguf.GGUFValueType.INT32)
        for tensor in reader.tensors[number * 9 : 9 + number * 99]:
            writer.add_tensor(tensor.name, tensor.data, raw_dtype=tensor.tensor_type)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
    return names


def test_a_window_is_counted_in_whole_pages() -> None:
    model = loaded(FakeBridge(tiny.GOLDENS), context_tokens=200, sink_tokens=4, sequences=3, kv="q8")
    about = model.capabilities
    assert (about["capacity"], about["sinks"], about["rolling"], about["kv"]) == (192, 64, True, "q8")
    assert about["pages"] == {"all": 9, "held": 0, "kept": 0}
    assert about["cache_bytes"] == 2 * 9 * 2 * 64 * 2 * 18 * 4  # layers, pages, k and v, tokens, heads, words
    assert (about["target"], about["timestamps"]) == ("nvidia", False)
    assert about["limits"]["maxStorageBuffersPerShaderStage"] == 8


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"context_tokens": 127, "sink_tokens": 64},
            r"sink_tokens must leave a page of 64 tokens .* 127 tokens, got 64",
        ),
        (
            {"context_tokens": 191, "sink_tokens": 65},
            r"sink_tokens must leave a page of 64 tokens .* 191 tokens, got 65",
        ),
        ({"sink_tokens": -1}, r"sink_tokens must be a whole number of at least 0, got -1"),
        ({"sequences": 0}, r"sequences must be a whole number of at least 1, got 0"),
        ({"kv": "f8"}, r"kv must be one of f32, f16, q8, got 'f8'"),
    ],
)
def test_a_cache_that_can_not_be_is_refused_and_leaves_nothing(options: dict[str, Any], message: str) -> None:
    bridge = FakeBridge(tiny.GOLDENS)
    with pytest.raises(ShapeError, match=f"^load: {message}$"):
        loaded(bridge, **options)
    assert (bridge.buffers, bridge.programs) == ({}, {})
    loaded(bridge, context_tokens=128, sink_tokens=64)


def test_programs_and_tables_that_came_later_are_freed_with_the_model() -> None:
    bridge = FakeBridge(tiny.GOLDENS)
    model = loaded(bridge)
    before = len(bridge.programs)
    programs = model.engine.programs
    choice = Choice(greedy=False, penalized=True, dry=True, masked=True, logprobs=3)
    for _ in range(2):
        asyncio.run(programs.compile([*programs.needed(choice), programs.verify()]))
    assert len(bridge.programs) == before + len(CHUNK_ROWS) + 2
    model.dispose()
    assert (bridge.buffers, bridge.programs) == ({}, {})


def test_another_conversation_has_the_models_own_stop_ids() -> None:
    model = loaded(FakeBridge(tiny.GOLDENS))
    other = model.sequence()
    assert other.generate([5]).stop_ids == sorted(model.eos_ids)
    assert other.engine is model.engine
    assert other.ledger is not model.ledger
