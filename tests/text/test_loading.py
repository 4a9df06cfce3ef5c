"""`load_tokenizer`: what a source is by its content, which file of several counts, and what it says of others."""

from __future__ import annotations

import asyncio
import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

import webxpu
from tests.llm import tiny, tiny_hf
from tests.llm.fake_bridge import FakeBridge
from tests.text.gguf_files import gguf_bytes
from tests.text.sentencepiece_files import UNKNOWN, model, trained
from tests.text.test_gguf_pieces import NAMES, TRAINED, metadata
from tests.text.vocabularies import CONTROL, made
from webxpu.errors import FetchError, FormatError, ShapeError, Unsupported
from webxpu.formats.window import FIRST_READ_BYTES
from webxpu.host.convert import convert
from webxpu.llm.files import Files
from webxpu.llm.hf_checkpoint import read_text
from webxpu.llm.load_tokenizer import open_tokenizer
from webxpu.llm.local_files import LocalBridge, as_bridge, local_source
from webxpu.text.gguf_tokenizer import tokenizer_json
from webxpu.text.hf_tokenizer import Tokenizer
from webxpu.text.sentencepiece import SentencePiece
from webxpu.text.tokenizers import AnyTokenizer
from webxpu.text.vocabulary_json import vocabulary_text

NAME = next(name for name in NAMES if {"bos", "eos"} <= {r for r, n in TRAINED[name].names.items() if n})
MODEL = trained()[NAME]
SPM = SentencePiece.from_bytes(MODEL)
BPE_METADATA = made([("<s>", CONTROL), ("</s>", CONTROL)], ["h e", "l l"], bos_token_id=258, eos_token_id=259)
BPE = tokenizer_json(BPE_METADATA)
TEXT = "hello  world <s>"


def load(source: Any, **options: Any) -> AnyTokenizer:
    return asyncio.run(webxpu.load_tokenizer(source, **options))


def put(folder: Path, files: dict[str, Any]) -> Path:
    """A folder with these files: bytes, or what becomes JSON."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in files.items():
        (folder / name).write_bytes(data if isinstance(data, bytes) else json.dumps(data).encode())
    return folder


SOURCES = {
    "model": (MODEL, SPM.encode(TEXT)),
    "gguf pieces": (gguf_bytes(metadata(TRAINED[NAME])), SPM.encode(TEXT)),
    "gguf bpe": (gguf_bytes(BPE_METADATA), Tokenizer.from_gguf(BPE_METADATA).encode(TEXT)),
    "tokenizer.json": (json.dumps(BPE).encode(), Tokenizer.from_json(BPE).encode(TEXT)),
    "vocabulary": (vocabulary_text(SPM).encode(), SPM.encode(TEXT)),
    "indented json": (b"\n \t" + json.dumps(BPE, indent=1).encode(), Tokenizer.from_json(BPE).encode(TEXT)),
}


@pytest.mark.parametrize("kind", SOURCES)
@pytest.mark.parametrize("form", [bytes, bytearray, memoryview, Path, str])
def test_a_source_is_what_it_holds_whatever_its_name(tmp_path: Path, kind: str, form: type) -> None:
    data, ids = SOURCES[kind]
    path = tmp_path / "some.thing"
    path.write_bytes(data)
    found = load(form(path) if form in (Path, str) else form(data))
    assert found.encode(TEXT) == ids
    assert found.decode(ids, skip_special=False)


def test_a_model_file_that_begins_as_json_does_is_none() -> None:
    data = model([("{" + "a" * 10,), ("<unk>", 0.0, UNKNOWN)])
    assert data.lstrip().startswith(b"{")
    assert load(data).id_to_piece(0) == "{" + "a" * 10


def test_a_configuration_beside_the_file_counts_unless_another_is_given(tmp_path: Path) -> None:
    folder = put(
        tmp_path,
        {
            "m": MODEL,
            "j": BPE,
            "tokenizer_config.json": {"add_bos_token": False, "bos_token": "<s>", "eos_token": "</s>"},
        },
    )
    assert not load(folder / "m").add_bos
    assert load(folder / "m", config={}).add_bos
    assert (load(folder / "j").bos_id, load(folder / "j").eos_ids) == (258, (259,))
    other = load(folder / "j", config=json.dumps({"bos_token": {"content": "</s>"}}))
    assert (other.bos_id, other.eos_ids) == (259, ())
    assert load(MODEL).add_bos
    assert not load(MODEL, config=b'{"add_bos_token": false}').add_bos


def test_an_older_folders_added_tokens_count_where_its_configuration_says_none(tmp_path: Path) -> None:
    new = SPM.vocab_size
    folder = put(tmp_path, {"tokenizer.model": MODEL, "added_tokens.json": {"<new>": new}})
    for source in (folder, folder / "tokenizer.model"):
        assert load(source).encode("<new>") == [new]
    assert load(folder, config={"added_tokens_decoder": {}}).vocab_size == new
    (folder / "added_tokens.json").write_text("{")
    with pytest.raises(FormatError, match=r"^added_tokens\.json"):
        load(folder)


def test_a_folders_tokenizer_is_the_one_that_load_takes(tmp_path: Path) -> None:
    settings = {"bos_token": "<s>"}
    cases = {
        "both": {"tokenizer.json": BPE, "tokenizer.model": MODEL, "tokenizer_config.json": settings},
        "json": {"tokenizer.json": BPE},
        "model": {"tokenizer.model": MODEL, "tokenizer_config.json": {"add_bos_token": False}},
    }
    for case, files in cases.items():
        folder = put(tmp_path / case, files)
        text = asyncio.run(read_text(Files(local_source(folder), as_bridge(LocalBridge()))))
        assert text.tokenizer is not None
        for source in (folder, str(folder), f"{folder}/"):
            found = load(source)
            assert type(found) is type(text.tokenizer) is (SentencePiece if case == "model" else Tokenizer)
            assert found.encode(TEXT, add_special=True) == text.tokenizer.encode(TEXT, add_special=True)
            assert found.bos_id == text.tokenizer.bos_id


@pytest.mark.parametrize("name", ["model.safetensors", "config.json"])
def test_other_files_of_a_folder_stand_for_it(tmp_path: Path, name: str) -> None:
    shutil.copytree(tiny_hf.FOLDER / "f16", tmp_path, dirs_exist_ok=True)
    put(tmp_path, {"tokenizer.model": MODEL, "tokenizer_config.json": {"add_bos_token": False}})
    assert not load(tmp_path / name).add_bos
    assert load(tmp_path / "tokenizer_config.json").encode(TEXT) == SPM.encode(TEXT)
    index = put(tmp_path, {"model.safetensors.index.json": {"metadata": {}, "weight_map": {}}})
    assert load(index / "model.safetensors.index.json").encode(TEXT) == SPM.encode(TEXT)


def test_an_onnx_graphs_tokenizer_lies_beside_it_or_above(tmp_path: Path) -> None:
    graph = b"\x08\x08\x12\x07pytorch"
    folder = put(tmp_path / "m", {"tokenizer.model": MODEL})
    put(folder / "onnx", {"model.onnx": graph})
    assert load(folder / "onnx" / "model.onnx").encode(TEXT) == SPM.encode(TEXT)
    put(folder / "onnx", {"tokenizer.json": BPE})
    assert load(folder / "onnx" / "model.onnx").encode(TEXT) == Tokenizer.from_json(BPE).encode(TEXT)


def test_a_converted_checkpoints_tokenizer_is_its_sources_and_held_against_its_hash(tmp_path: Path) -> None:
    convert(tiny.FILE, tmp_path / "gguf", "q8")
    want = load(tiny.FILE).encode(TEXT)
    assert load(tmp_path / "gguf").encode(TEXT) == load(tmp_path / "gguf" / "manifest.json").encode(TEXT) == want
    shutil.copytree(tiny_hf.FOLDER / "f16", tmp_path / "hf")
    put(tmp_path / "hf", {"tokenizer.model": MODEL})
    convert(tmp_path / "hf", tmp_path / "out", "q8")
    assert load(tmp_path / "out").encode(TEXT) == SPM.encode(TEXT)
    data = (tmp_path / "out" / "tokenizer.model").read_bytes()
    (tmp_path / "out" / "tokenizer.model").write_bytes(data[:-1] + b"x")
    with pytest.raises(FormatError, match=r"^tokenizer\.model: the \d+ bytes at byte 0 must be of sha256 "):
        load(tmp_path / "out")


class Counting(LocalBridge):
    """Notes what is read."""

    def __init__(self) -> None:
        self.read_bytes = 0

    def read(self, path: Path, start: int, nbytes: int) -> bytes:
        self.read_bytes += len(found := super().read(path, start, nbytes))
        return found


def test_of_a_large_file_its_beginning_alone_is_read(tmp_path: Path) -> None:
    path = tmp_path / "large.gguf"
    path.write_bytes(gguf_bytes(BPE_METADATA))
    with path.open("r+b") as file:
        file.truncate(8 << 30)
    bridge = Counting()
    found = asyncio.run(open_tokenizer(Files(local_source(path), as_bridge(bridge))))
    assert found.encode(TEXT) == SOURCES["gguf bpe"][1]
    assert bridge.read_bytes == FIRST_READ_BYTES
    path.write_bytes(b"PK\x03\x04")
    with path.open("r+b") as file:
        file.truncate(8 << 30)
    bridge = Counting()
    with pytest.raises(FormatError, match=r"^large\.gguf: must be "):
        asyncio.run(open_tokenizer(Files(local_source(path), as_bridge(bridge))))
    assert bridge.read_bytes == FIRST_READ_BYTES


def test_a_split_models_tokenizer_is_in_its_first_part_alone(tmp_path: Path) -> None:
    first, second = ({"split.no": number, "split.count": 2, "split.tensors.count": 0} for number in (0, 1))
    put(
        tmp_path,
        {"m-00001-of-00002.gguf": gguf_bytes(first | BPE_METADATA), "m-00002-of-00002.gguf": gguf_bytes(second)},
    )
    assert load(tmp_path / "m-00001-of-00002.gguf").encode(TEXT) == SOURCES["gguf bpe"][1]
    with pytest.raises(
        FormatError,
        match=r"^m-00002-of-00002\.gguf: must have a tokenizer, got metadata without tokenizer\.ggml\.model of part 1: "
        r"a split model has its tokenizer in its first$",
    ):
        load(tmp_path / "m-00002-of-00002.gguf")


KINDS = r"a GGUF file, a tokenizer\.json, a SentencePiece model, a vocabulary JSON .*, or a file of a model's folder"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", rf"^x: must be {KINDS}, got an empty file$"),
        (b"PK\x03\x04" + bytes(99), rf"^x: must be {KINDS}, got a zip archive or .* 50 4b 03 04( 00){{12}}$"),
        (b"\x1f\x8b\x08", rf"^x: must be {KINDS}, got gzip, .* 1f 8b 08$"),
        (b"\xef\xbb\xbf{}", rf"^x: must be {KINDS}, got a byte order mark, .* ef bb bf 7b 7d$"),
        ("{}".encode("utf-16-le"), rf"^x: must be {KINDS}, got UTF-16, .* 7b 00 7d 00$"),
        ("{}".encode("utf-16"), rf"^x: must be {KINDS}, got UTF-16, "),
        (b"<!DOCTYPE html><html>", rf"^x: must be {KINDS}, got a web page 3c 21 44 "),
        (b'{"a": 1, "b": 2}', rf"^x: must be {KINDS}, got JSON with the keys 'a', 'b': 7b 22 61 "),
        (b"{}", rf"^x: must be {KINDS}, got JSON with the keys \(none\): 7b 7d$"),
        (b'{"pieces": [["a", 0]]}', r"^x: byteFallback must be true or false, got 'nothing'$"),
        (
            b'{"model": {"type": "Unigram", "vocab": {"a": 0}}, "decoder": null}',
            r"model\.vocab must be a list of pieces ",
        ),
        (b"[1, 2]", rf"^x: must be {KINDS}, got bytes 5b 31 "),
        (b'{"model": ', r"^x: the text at byte 10 must be JSON, got Expecting value \(bytes none\)$"),
        (b'{"model": ' + b"[" * 100_000, r"^x: the text at byte 0 must be nested at most 32 deep, got more "),
        (b'{"model": "\xff"}', r"^x: the text at byte 11 must be UTF-8, got invalid start byte "),
        (MODEL[:-7], r"^x: .* at byte \d+ must be complete before byte \d+, got "),
        (b"GGUF\x01\0\0\0" + bytes(20), r"^x: the version at byte 4 must be 2 or 3, got 1 "),
        (gguf_bytes({"general.name": "m"}), r"^x: must have a tokenizer, got metadata without tokenizer\.ggml\.model$"),
    ],
)
def test_what_is_no_tokenizer_is_named_with_its_first_bytes(tmp_path: Path, data: bytes, message: str) -> None:
    (tmp_path / "x").write_bytes(data)
    with pytest.raises(FormatError, match=message):
        load(tmp_path / "x")
    with pytest.raises(FormatError, match=message.replace("^x", "^source")):
        load(data)


LFS_POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n"


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("tokenizer.model", LFS_POINTER, rf"^tokenizer\.model: must be {KINDS}, got a Git LFS pointer, "),
        (
            "tokenizer.json",
            json.dumps(BPE).encode("utf-16"),
            r"^tokenizer\.json: the text at byte 0 must be UTF-8, got ",
        ),
        (
            "tokenizer.json",
            json.dumps(BPE).encode("utf-8-sig"),
            r"^tokenizer\.json: the text at byte 0 must be JSON, got ",
        ),
    ],
)
def test_what_is_no_tokenizer_is_none_in_a_folder_either(tmp_path: Path, name: str, data: bytes, message: str) -> None:
    folder = put(tmp_path, {name: data})
    for source in (folder, folder / name):
        with pytest.raises(FormatError, match=message if source == folder else rf"^{name}: must be {KINDS}, got "):
            load(source)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"IQ== 0\nIg== 1\n", r"^tokenizer\.model: a tiktoken file, a table of byte-level ranks, is not supported; "),
        (b'{"config": {}, "vocab": []}', r"^tokenizer\.model: a tekken file, .* use the model's tokenizer\.json$"),
    ],
)
def test_tables_of_ranks_are_refused_by_name(tmp_path: Path, data: bytes, message: str) -> None:
    folder = put(tmp_path, {"tokenizer.model": data, "tekken.json": data})
    with pytest.raises(Unsupported, match=message):
        load(folder / "tokenizer.model")


def test_a_folders_table_of_ranks_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(Unsupported, match=r"^tokenizer\.model: a tiktoken file"):
        load(put(tmp_path / "a", {"tokenizer.model": b"IQ== 0\nIg== 1\n"}))
    with pytest.raises(Unsupported, match=r"^tekken\.json: a tekken file"):
        load(put(tmp_path / "b", {"tekken.json": {"config": {}}}))
    text = read_text(Files(local_source(tmp_path / "a"), as_bridge(LocalBridge())))
    assert asyncio.run(text).reason.startswith("tokenizer.model: a tiktoken file")


def test_a_folder_without_a_tokenizer_says_what_was_looked_for(tmp_path: Path) -> None:
    message = (
        r": the folder must have a tokenizer; looked for manifest\.json, tokenizer_config\.json, tokenizer\.json, "
        r"tokenizer\.model, tekken\.json$"
    )
    with pytest.raises(FormatError, match=message):
        load(tmp_path)
    with pytest.raises(FormatError, match=r"^source: must be a GGUF file, .*, got another file of a model$"):
        load(json.dumps({"model_type": "llama"}).encode())


def test_a_broken_model_file_is_named_as_it_is_called(tmp_path: Path) -> None:
    folder = put(tmp_path, {"tokenizer.model": MODEL[:-7], "spiece.model": MODEL[:-7]})
    for name, source in (("tokenizer.model", folder), ("spiece.model", folder / "spiece.model")):
        with pytest.raises(FormatError, match=rf"^{name}: ModelProto\.normalizer_spec at byte \d+ must be complete "):
            load(source)


def test_a_broken_configuration_is_named(tmp_path: Path) -> None:
    folder = put(tmp_path, {"tokenizer.model": MODEL, "tokenizer_config.json": b"{"})
    for source in (folder, folder / "tokenizer.model"):
        with pytest.raises(FormatError, match=r"^tokenizer_config\.json: the text at byte 1 must be JSON, got "):
            load(source)
    with pytest.raises(FormatError, match=r"^config: the text at byte 1 must be JSON, got "):
        load(MODEL, config="{")


@pytest.mark.parametrize(
    ("source", "options", "message"),
    [
        ("https://example.org/m.gguf", {}, r"must be bytes or a path outside of a browser, got 'https:.*Download the "),
        ("opfs:m.gguf", {}, r"must be bytes or a path outside of a browser, got 'opfs:m\.gguf'"),
        ("", {}, r"source must be bytes, a path, or in a browser a URL, 'file:NAME' or 'opfs:PATH', got ''$"),
        (None, {}, r"source must be bytes, a path, .*, got None$"),
        (MODEL, {"config": 5}, r"config must be a mapping or JSON, got int$"),
        (vocabulary_text(SPM).encode(), {"config": {}}, r"config must be None for a vocabulary JSON, which says all "),
        (gguf_bytes(BPE_METADATA), {"config": {}}, r"config must be None for a GGUF file, which says all itself"),
    ],
)
def test_what_names_no_source_is_refused(source: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ShapeError, match=rf"^load_tokenizer: {message}|^load_tokenizer: source {message}"):
        load(source, **options)


def test_a_missing_file_is_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(FetchError, match=r"^load_tokenizer: no file or folder .*/m\.gguf$") as caught:
        load(tmp_path / "m.gguf")
    assert caught.value.missing


class Started(FakeBridge):
    started = 0

    async def start(self) -> None:
        self.started += 1


def test_in_a_browser_a_text_is_what_load_takes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bridge = Started(put(tmp_path, {"m.model": MODEL, "tokenizer.model": MODEL, "g": gguf_bytes(metadata(SPM.model))}))
    monkeypatch.setitem(sys.modules, "webxpu.bridge", bridge)
    monkeypatch.setattr(sys, "platform", "emscripten")
    for source in ("m.model", "g", "./"):
        assert load(source).encode(TEXT) == SPM.encode(TEXT)
    assert (bridge.started, bridge.loads) == (3, {})
    assert load(tmp_path / "m.model").encode(TEXT) == load(MODEL).encode(TEXT) == SPM.encode(TEXT)
    assert bridge.started == 3, "neither needs JavaScript"
    with pytest.raises(FetchError, match=r"^none: at byte 0: the server answered with HTTP status 404$"):
        load("none")
    with pytest.raises(ShapeError, match=r"^load: source must name a file after opfs:"):
        load("opfs:")
    assert bridge.loads == {}


def test_a_configuration_may_say_no_limit_as_transformers_writes_it(tmp_path):
    settings = {"model_max_length": int(1e30), "add_bos_token": False}
    folder = put(tmp_path, {"tokenizer.model": MODEL, "tokenizer_config.json": settings})
    assert load(folder / "tokenizer.model").encode(TEXT) == SPM.encode(TEXT)
