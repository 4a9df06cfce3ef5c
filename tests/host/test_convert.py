"""`webxpu convert`: what is written, that it loads, and that nothing half is left."""

from __future__ import annotations

import asyncio
import hashlib
import json
import shutil
import struct
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.llm import one_bit_files, tiny, tiny_hf, tiny_models
from tests.llm.fake_bridge import FakeBridge
from tests.llm.retyped import write_retyped
from webxpu.errors import FormatError
from webxpu.formats.converted import ALIGNMENT_BYTES, CHUNK_BYTES, PAYLOAD_NAME
from webxpu.formats.tensor_info import TensorInfo
from webxpu.host.cli import main
from webxpu.host.convert import convert
from webxpu.host.exits import BAD_MODEL, USAGE, BadModel, UsageError
from webxpu.llm.checkpoint import Checkpoint, open_checkpoint
from webxpu.llm.weights import read_arrays
from webxpu.ops.rope import permute_rope_channels
from webxpu.quant.ggml import Blocks, dequantize
from webxpu.quant.one_bit import quantize_q1_0
from webxpu.quant.rows import joined, quantize_to


def opened(folder: Path, source: str) -> Checkpoint:
    return asyncio.run(open_checkpoint(source, FakeBridge(folder)))  # type: ignore[arg-type]


def arrays(folder: Path, checkpoint: Checkpoint) -> dict[str, Any]:
    """The weights as the reference reads them."""

    def read(info: TensorInfo) -> bytes:
        path = folder / checkpoint.source.sibling(info.file).place
        return path.read_bytes()[info.start : info.start + info.nbytes]

    return read_arrays(checkpoint.weights, read)


def dense(found: dict[str, Any]) -> dict[str, np.ndarray]:
    return {name: dequantize(a) if isinstance(a, Blocks) else a for name, a in found.items()}


def quantised(kind: str, rows: np.ndarray) -> np.ndarray:
    data = quantize_q1_0(rows).reshape(-1) if kind == "q1_0" else joined(*quantize_to(kind, rows))
    return dequantize(Blocks(kind, rows.shape, data))


@pytest.mark.parametrize("to", ["q8", "q4g128", "q1_0"])
@pytest.mark.parametrize("keep_head", [False, True])
def test_a_gguf_file_becomes_a_folder_with_the_same_model(tmp_path: Path, to: str, keep_head: bool) -> None:
    counts = convert(tiny.FILE, tmp_path / "out", to, keep_head=keep_head)
    source, found = opened(tiny.GOLDENS, tiny.FILE.name), opened(tmp_path, "out/")
    assert found.config == source.config
    assert found.eos_ids == source.eos_ids
    assert found.tokenizer is not None
    assert source.tokenizer is not None
    assert found.tokenizer.encode("Hello <|im_end|> the") == source.tokenizer.encode("Hello <|im_end|> the")
    assert found.template is not None
    assert source.template is not None
    assert found.template.source == source.template.source
    before, after = dense(arrays(tiny.GOLDENS, source)), arrays(tmp_path, found)
    for name, rows in before.items():
        kept = name in ("embedding", "head") and keep_head
        if rows.ndim == 1 or kept:
            np.testing.assert_array_equal(dense(after)[name], rows)
        else:
            assert after[name].type == to
            np.testing.assert_array_equal(dequantize(after[name]), quantised(to, rows), err_msg=name)
    assert (counts["kept"], counts["fallback"]) == (2 if keep_head else 0, 0)
    assert counts["matrices"] == sum(len(w.parts) for w in source.weights.values() if len(w.shape) > 1) - counts["kept"]


@pytest.mark.parametrize("name", tiny_hf.NAMES)
@pytest.mark.parametrize("to", ["q8", "q4g128", "q1_0"])
def test_a_hugging_face_folder_becomes_one_with_the_same_model(tmp_path: Path, name: str, to: str) -> None:
    shutil.copytree(tiny_hf.FOLDER / name, tmp_path / "in")
    (tmp_path / "in" / "tokenizer_config.json").write_text(json.dumps({"chat_template": "T", "eos_token": "</s>"}))
    (tmp_path / "in" / "generation_config.json").write_text(json.dumps({"eos_token_id": [5, 6]}))
    counts = convert(tmp_path / "in", tmp_path / "out", to)
    found = opened(tmp_path, "out/manifest.json")
    config, _, before = tiny_hf.loaded(name)
    assert found.config == config
    assert found.eos_ids == (5, 6)
    assert found.template is not None
    assert found.template.source == "T"
    after = arrays(tmp_path, found)
    kind = "q8" if to == "q1_0" else to  # its rows are no multiple of 128
    for key, rows in dense(before).items():
        want = rows if rows.ndim == 1 else quantised(kind, rows)
        np.testing.assert_array_equal(dense(after)[key], want, err_msg=key)
    assert (counts["matrices"] == 0) == (counts["fallback"] > 0) == (to == "q1_0")
    assert counts["kept"] == 0


@pytest.mark.parametrize("to", ["q8", "q4g128", "q1_0"])
@pytest.mark.parametrize("name", ["llama", "qwen2", "qwen3-tied", "qwen3moe", "gemma3"])
def test_a_models_two_forms_become_the_same_weights(tmp_path: Path, name: str, to: str) -> None:
    tiny_models.write_gguf(tmp_path / "m.gguf", name, "f32")
    tiny_models.write_folder(tmp_path / "m", tiny_models.MODELS[name].config, tiny_models.tensors(name))
    counts = [convert(tmp_path / form, tmp_path / f"to-{form}", to) for form in ("m.gguf", "m")]
    one, two = (opened(tmp_path, f"to-{form}/") for form in ("m.gguf", "m"))
    assert one.config.layers == two.config.layers
    routers = 2 if name == "qwen3moe" else 0
    assert [(c["kept"], c["fallback"]) for c in counts] == [(routers, 0)] * 2
    a, b = (dense(arrays(tmp_path, found)) for found in (one, two))
    assert set(a) == set(b)
    for key, values in b.items():
        if name == "llama" and key.endswith("qkv"):  # GGUF's rows of query and key are in another order
            heads, keys, d = one.config.heads, one.config.kv_heads, one.config.head_dim
            q, k, v = np.split(values, [heads * d, (heads + keys) * d])
            values = np.concatenate([permute_rope_channels(q, heads), permute_rope_channels(k, keys), v])
        np.testing.assert_array_equal(a[key], values, err_msg=key)


def test_every_block_type_is_read_as_a_source(tmp_path: Path) -> None:
    write_retyped(tmp_path / "in.gguf")
    convert(tmp_path / "in.gguf", tmp_path / "out", "q8")
    source, found = opened(tmp_path, "in.gguf"), opened(tmp_path, "out/")
    before, after = dense(arrays(tmp_path, source)), dense(arrays(tmp_path, found))
    for name, rows in before.items():
        np.testing.assert_array_equal(after[name], rows if rows.ndim == 1 else quantised("q8", rows), err_msg=name)


def test_the_manifest_has_a_hash_for_every_chunk_and_tensors_begin_at_whole_multiples(tmp_path: Path) -> None:
    convert(tiny.FILE, tmp_path / "out", "q8")
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert set(manifest["files"]) | {"manifest.json"} == {p.name for p in (tmp_path / "out").iterdir()}
    for name, entry in manifest["files"].items():
        data = (tmp_path / "out" / name).read_bytes()
        assert entry["bytes"] == len(data)
        chunks = [data[at : at + CHUNK_BYTES] for at in range(0, len(data), CHUNK_BYTES)]
        assert entry["sha256"] == [hashlib.sha256(chunk).hexdigest() for chunk in chunks]
    assert all(entry["start"] % ALIGNMENT_BYTES == 0 for entry in manifest["tensors"].values())
    assert len(opened(tmp_path, "out/").hashes[PAYLOAD_NAME].sha256) == len(manifest["files"][PAYLOAD_NAME]["sha256"])


def test_bytes_that_are_not_those_of_the_manifest_are_refused(tmp_path: Path) -> None:
    convert(tiny.FILE, tmp_path / "out", "q8")
    path = tmp_path / "out" / "metadata.gguf"
    data = bytearray(path.read_bytes())
    data[200] ^= 1
    path.write_bytes(data)
    with pytest.raises(
        FormatError, match=r"^metadata\.gguf: the \d+ bytes at byte 0 must be of sha256 \w{64}, got \w{64}$"
    ):
        opened(tmp_path, "out/")


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_a_run_that_is_interrupted_leaves_nothing(tmp_path: Path, error: type[BaseException]) -> None:
    def stop(_: str, done: int, total: int | None) -> None:
        if total is not None and done > total / 2:
            raise error

    with pytest.raises(error):
        convert(tiny.FILE, tmp_path / "out", "q8", report=stop)
    assert list(tmp_path.iterdir()) == []
    convert(tiny.FILE, tmp_path / "out", "q8")
    with pytest.raises(error):
        convert(tiny.FILE, tmp_path / "out", "q4g128", force=True, report=stop)
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert opened(tmp_path, "out/").weights["head"].type == "q8"


def test_what_is_there_is_replaced_only_where_asked_and_only_a_checkpoint(tmp_path: Path) -> None:
    convert(tiny.FILE, tmp_path / "out", "q8")
    with pytest.raises(UsageError, match=r"out exists; --force replaces a checkpoint$"):
        convert(tiny.FILE, tmp_path / "out", "q4g128")
    convert(tiny.FILE, tmp_path / "out", "q4g128", force=True)
    assert opened(tmp_path, "out/").weights["head"].type == "q4g128"
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("words")
    with pytest.raises(UsageError, match=r"mine is no checkpoint of webxpu, so it is not replaced$"):
        convert(tiny.FILE, tmp_path / "mine", "q8", force=True)
    assert (tmp_path / "mine" / "thesis.txt").read_text() == "words"
    (tmp_path / "mine" / "manifest.json").write_text('{"name": "a web app", "files": {"thesis.txt": {}}}')
    with pytest.raises(UsageError, match=r"mine is no checkpoint of webxpu, so it is not replaced$"):
        convert(tiny.FILE, tmp_path / "mine", "q8", force=True)
    (tmp_path / "out" / "notes.txt").write_text("mine")
    with pytest.raises(UsageError, match=r"out is no checkpoint of webxpu, so it is not replaced$"):
        convert(tiny.FILE, tmp_path / "out", "q8", force=True)
    (tmp_path / "out" / "notes.txt").unlink()
    (tmp_path / "file").write_text("words")
    with pytest.raises(UsageError, match=r"file is no checkpoint of webxpu, so it is not replaced$"):
        convert(tiny.FILE, tmp_path / "file", "q8", force=True)
    with pytest.raises(UsageError, match=r"out is converted already"):
        convert(tmp_path / "out", tmp_path / "again", "q8")


def test_a_move_that_fails_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    convert(tiny.FILE, tmp_path / "out", "q8")
    rename = Path.rename

    def failing(self: Path, target: Path) -> Path:
        if self.name.endswith(".partial"):
            raise OSError("no")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", failing)
    with pytest.raises(OSError, match=r"^no$"):
        convert(tiny.FILE, tmp_path / "out", "q4g128", force=True)
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert opened(tmp_path, "out/").weights["head"].type == "q8"


def test_the_folder_that_one_is_in_is_filled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    convert(tiny.FILE, Path(), "q8", force=True)
    assert opened(tmp_path, "here/").weights["head"].type == "q8"


def test_a_source_of_another_form_is_refused(tmp_path: Path) -> None:
    one_bit_files.write_bitgpu(tmp_path / "bitgpu", one_bit_files.parts())
    one_bit_files.write_onnx(tmp_path, one_bit_files.parts())
    for source, form in (("bitgpu", "bitgpu"), ("bitgpu/manifest.json", "bitgpu"), ("onnx/model_q1.onnx", "onnx")):
        with pytest.raises(UsageError, match=rf"must be a Hugging Face folder or a GGUF file, got one of {form}$"):
            convert(tmp_path / source, tmp_path / "out", "q8")
    assert not (tmp_path / "out").exists()


def test_a_gguf_file_may_have_any_name(tmp_path: Path) -> None:
    shutil.copy(tiny.FILE, tmp_path / "m.safetensors")
    convert(tmp_path / "m.safetensors", tmp_path / "out", "q8")
    assert opened(tmp_path, "out/").config == opened(tiny.GOLDENS, tiny.FILE.name).config


def test_memory_does_not_grow_with_a_tensor(tmp_path: Path) -> None:
    """A folder with an embedding of 32 MiB; what a block of rows takes is a fraction of it."""
    folder = tmp_path / "in"
    folder.mkdir()
    v, k, f = 8192, 1024, 32
    config = json.loads((tiny_hf.FOLDER / "f32" / "config.json").read_text())
    config |= {"vocab_size": v, "hidden_size": k, "intermediate_size": f, "num_hidden_layers": 1, "head_dim": 4}
    (folder / "config.json").write_text(json.dumps(config | {"tie_word_embeddings": True}))
    layer = "model.layers.0."
    shapes = {
        "model.embed_tokens.weight": (v, k), "model.norm.weight": (k,),
        layer + "input_layernorm.weight": (k,), layer + "post_attention_layernorm.weight": (k,),
        **{f"{layer}self_attn.{p}_proj.weight": (4 * n, k) for p, n in (("q", 4), ("k", 2), ("v", 2))},
        layer + "self_attn.o_proj.weight": (k, 16), layer + "mlp.down_proj.weight": (k, f),
        **{f"{layer}mlp.{p}_proj.weight": (f, k) for p in ("gate", "up")},
    }  # fmt: skip
    table, at = {}, 0
    for name, shape in shapes.items():
        table[name] = {"dtype": "F32", "shape": shape, "data_offsets": [at, at + 4 * int(np.prod(shape))]}
        at = table[name]["data_offsets"][1]
    head = json.dumps(table).encode()
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(head)) + head + bytes(at))
    tracemalloc.start()
    try:
        convert(folder, tmp_path / "out", "q4g128")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 24 << 20
    assert opened(tmp_path, "out/").config.hidden == k


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = str(tmp_path / "out")
    assert main(["convert", str(tiny.FILE), out, "--to", "q8", "--keep-head"]) == 0
    assert "14 matrices in q8, 2 left in their own type, " in " ".join(capsys.readouterr().err.split())
    assert main(["convert", str(tiny.FILE), out, "--to", "q8"]) == USAGE
    narrow = str(tmp_path / "narrow")
    assert main(["convert", str(tiny_hf.FOLDER / "f32"), narrow, "--to", "q1_0"]) == 0
    said = " ".join(capsys.readouterr().err.split())
    assert "0 matrices in q1_0, 16 in q8, since their rows are no multiple of 128 numbers, " in said
    table = json.loads((tmp_path / "narrow" / "manifest.json").read_text())["tensors"]
    assert {entry["type"] for entry in table.values() if len(entry["shape"]) == 2} == {"q8"}
    assert main(["convert", str(tmp_path / "none"), str(tmp_path / "x"), "--to", "q8"]) == BAD_MODEL
    assert "no file or folder" in capsys.readouterr().err


def test_a_source_that_is_cut_off_is_refused(tmp_path: Path) -> None:
    data = (tiny_hf.FOLDER / "bf16" / "model.safetensors").read_bytes()
    shutil.copytree(tiny_hf.FOLDER / "bf16", tmp_path / "in")
    (tmp_path / "in" / "model.safetensors").write_bytes(data[:-100])
    with pytest.raises((BadModel, FormatError), match=r"model\.safetensors"):
        convert(tmp_path / "in", tmp_path / "out", "q8")
    assert not (tmp_path / "out").exists()
