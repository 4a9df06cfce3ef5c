"""A model's files are opened by what they hold, and what is missing or unknown is said."""

from __future__ import annotations

import asyncio
import json
import shutil
from pathlib import Path
from typing import Any

import gguf
import pytest

from tests.llm import tiny, tiny_hf
from tests.llm.fake_bridge import FakeBridge
from webxpu.errors import FetchError, FormatError, ShapeError
from webxpu.llm.checkpoint import Checkpoint, open_checkpoint
from webxpu.llm.source import Source


def opened(folder: Path, source: str) -> Checkpoint:
    return asyncio.run(open_checkpoint(source, FakeBridge(folder)))  # type: ignore[arg-type]


def test_a_gguf_file_is_opened_with_one_request_for_its_beginning() -> None:
    bridge = FakeBridge(tiny.GOLDENS)
    found = asyncio.run(open_checkpoint(tiny.FILE.name, bridge))  # type: ignore[arg-type]
    assert bridge.calls == ["fetch"]
    assert found.config == tiny.model()[0]
    assert found.source == Source("url", tiny.FILE.name)
    assert found.tokenizer is not None
    assert found.template is not None
    assert found.eos_ids == found.tokenizer.eos_ids
    assert len(found.identity) == 64


@pytest.mark.parametrize("name", tiny_hf.NAMES)
@pytest.mark.parametrize("end", ["", "config.json"])
def test_a_hugging_face_folder_is_opened_by_its_address_or_its_configurations(name: str, end: str) -> None:
    found = opened(tiny_hf.FOLDER, f"{name}/{end}")
    config, weights, _ = tiny_hf.loaded(name)
    assert found.config == config
    assert found.weights == weights
    assert found.eos_ids == (2,)  # config.json
    assert found.tokenizer is None
    assert found.no_tokenizer == "tokenizer: the folder has neither a tokenizer.json nor a tokenizer.model"
    assert found.template is None
    part = next(iter(weights.values())).parts[0].file
    assert found.source.sibling(part) == Source("url", f"{name}/{part}")


def folder(path: Path, **files: Any) -> Path:
    """The tiny bf16 folder, with other files beside; `__` in a name stands for a dot."""
    shutil.copytree(tiny_hf.FOLDER / "bf16", path / "m")
    for name, value in files.items():
        text = value if isinstance(value, str) else json.dumps(value)
        (path / "m" / name.replace("__", ".")).write_text(text)
    return path


TOKENIZER = {
    "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]},
    "decoder": {"type": "Fuse"},
    "added_tokens": [
        {"id": 3, "content": "<|im_end|>", "special": True, "single_word": False, "lstrip": False, "rstrip": False,
         "normalized": False},
    ],
}  # fmt: skip


def test_a_folders_tokenizer_template_and_stop_ids_are_found(tmp_path: Path) -> None:
    settings = {"eos_token": "<|im_end|>", "chat_template": "old"}
    files = {"tokenizer__json": TOKENIZER, "tokenizer_config__json": settings}
    found = opened(folder(tmp_path, **files, generation_config__json={"eos_token_id": [7, 3]}), "m/")
    assert found.tokenizer is not None
    assert found.tokenizer.encode("abab") == [2, 2]
    assert found.eos_ids == (7, 3)
    assert found.template is not None
    assert found.template.source == "old"


def test_a_templates_own_file_comes_before_the_configurations_and_a_list_has_a_default(tmp_path: Path) -> None:
    named = [{"name": "tool_use", "template": "T"}, {"name": "default", "template": "D"}]
    named += [{"name": ["odd"], "template": "O"}, "odd"]
    one = opened(folder(tmp_path, tokenizer_config__json={"chat_template": named}), "m/")
    assert one.template is not None
    assert one.template.source == "D"
    (tmp_path / "m" / "chat_template.jinja").write_text("J")
    two = opened(tmp_path, "m/")
    assert two.template is not None
    assert two.template.source == "J"


def test_a_folder_without_what_is_needed_says_what_was_looked_for(tmp_path: Path) -> None:
    (tmp_path / "m").mkdir()
    with pytest.raises(
        FormatError,
        match=r"^m: the folder must have a config\.json or a manifest\.json; looked for manifest\.json, config\.json$",
    ):
        opened(tmp_path, "m/")
    (tmp_path / "m" / "config.json").write_text((tiny_hf.FOLDER / "f32" / "config.json").read_text())
    with pytest.raises(
        FormatError,
        match=r"^m: the folder must have weights in safetensors; looked for .*model\.safetensors, "
        r"model\.safetensors\.index\.json$",
    ):
        opened(tmp_path, "m/")


def test_a_server_that_answers_every_path_with_its_page_has_none_of_the_files(tmp_path: Path) -> None:
    page = "<!doctype html><p>not here"
    found = opened(folder(tmp_path, tokenizer__json=page, tokenizer_config__json=page, chat_template__jinja=page), "m/")
    assert (found.tokenizer, found.template) == (None, None)


@pytest.mark.parametrize("length", [0x0920, 0x3C20])
def test_a_header_whose_length_reads_like_text_is_no_missing_file(tmp_path: Path, length: int) -> None:
    path = folder(tmp_path) / "m" / "model.safetensors"
    data = path.read_bytes()
    end = 8 + int.from_bytes(data[:8], "little")
    assert end - 8 <= length
    path.write_bytes(length.to_bytes(8, "little") + data[8:end].ljust(length) + data[end:])
    assert opened(tmp_path, "m/").config == tiny_hf.loaded("bf16")[0]


def test_a_template_may_begin_with_a_token(tmp_path: Path) -> None:
    found = opened(folder(tmp_path, chat_template__jinja="<s>{{ messages[0].content }}"), "m/")
    assert found.template is not None
    assert found.template.render([{"role": "user", "content": "hi"}]) == "<s>hi"


def test_a_failing_connection_is_no_missing_file() -> None:
    bridge = FakeBridge(tiny_hf.FOLDER, fail={"fetch": FetchError("offline")})
    with pytest.raises(FetchError, match=r"^offline$"):
        asyncio.run(open_checkpoint("f32/", bridge))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"tokenizer_config__json": "["}, r"^tokenizer_config\.json: the text at byte 1 must be JSON"),
        (
            {"tokenizer_config__json": []},
            r"^tokenizer_config\.json: the text at byte 0 must be a JSON object, got an",
        ),
        ({"tokenizer_config__json": {"chat_template": [{"name": "default", "template": 5}]}}, r"a text, got int$"),
        ({"tokenizer_config__json": {"chat_template": 5}}, r"chat_template must be a text, got int$"),
        ({"generation_config__json": {"eos_token_id": "x"}}, r"^generation_config\.json: eos_token_id must be an id"),
        ({"tokenizer__json": {"model": {}}}, r"^tokenizer\.json: must have a model with a vocabulary$"),
    ],
)
def test_a_broken_file_is_named(tmp_path: Path, files: dict[str, Any], message: str) -> None:
    with pytest.raises(FormatError, match=message):
        opened(folder(tmp_path, **files), "m/")


def test_an_unknown_tokenizer_stops_no_model(tmp_path: Path) -> None:
    reader, writer = gguf.GGUFReader(tiny.FILE), gguf.GGUFWriter(tmp_path / "m.gguf", "llama")
    for field in reader.fields.values():
        if field.name.startswith(("llama.", "tokenizer.ggml.tokens", "tokenizer.ggml.eos")):
            writer.add_key_value(field.name, field.contents(), *field.types[:2])
    writer.add_tokenizer_model("rwkv")
    for tensor in reader.tensors:
        writer.add_tensor(tensor.name, tensor.data, raw_dtype=tensor.tensor_type)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    found = opened(tmp_path, "m.gguf")
    assert found.tokenizer is None
    assert "'rwkv' is not supported" in found.no_tokenizer
    assert found.eos_ids == (tiny.header().metadata["tokenizer.ggml.eos_token_id"],)


def test_identity_is_that_of_the_numbers_and_the_table() -> None:
    names = [opened(tiny_hf.FOLDER, f"{name}/").identity for name in tiny_hf.NAMES]
    assert len(set(names)) == 3
    assert opened(tiny.GOLDENS, "tiny_hf/f32/").identity == names[0]


def test_what_names_no_source_is_refused() -> None:
    with pytest.raises(ShapeError, match=r"^load: source must be a URL"):
        opened(tiny.GOLDENS, "")


def test_a_file_of_another_kind_is_refused_by_its_first_bytes(tmp_path: Path) -> None:
    (tmp_path / "x.bin").write_bytes(b"\x80\x02}q\x00")
    with pytest.raises(FormatError, match=r"^model\.safetensors: must be a whole model, .* Name the folder, with"):
        opened(tiny_hf.FOLDER, "bf16/model.safetensors")
    with pytest.raises(FormatError, match=r"^x\.bin: the magic number at byte 0 must be 'GGUF'"):
        opened(tmp_path, "x.bin")
