"""Small real files, broken at random: each ends in an error that webxpu documents or in a model, in time and memory.

A failing case prints its seed; `broken(name, seed)` makes the file again.
"""

from __future__ import annotations

import asyncio
import copy
import functools
import json
import posixpath
import random
import struct
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.formats.files import key, read, reader, small, written
from tests.llm import one_bit_files, tiny, tiny_hf
from webxpu.errors import FetchError, FormatError, ShapeError, TemplateError, Unsupported
from webxpu.formats.gguf import read_gguf
from webxpu.formats.json_text import read_json
from webxpu.formats.safetensors import INDEX_NAME, read_safetensors, read_sharded
from webxpu.formats.tensor_info import TensorInfo
from webxpu.host.convert import convert
from webxpu.llm import models
from webxpu.llm.checkpoint import open_checkpoint
from webxpu.llm.checkpoint import vocab_of as vocab_of_gguf
from webxpu.llm.config import architecture_of, config_from_gguf
from webxpu.llm.hf_config import config_from_hf, model_tensors, names_of, vocab_of
from webxpu.llm.models import llama
from webxpu.llm.weights import read_arrays
from webxpu.text.hf_tokenizer import Tokenizer
from webxpu.text.template import ChatTemplate

DOCUMENTED = (FetchError, FormatError, ShapeError, TemplateError, Unsupported)
ANSWER_S, PEAK_BYTES = 2.0, 64 << 20
SEEDS = 120  # of each file
FOLDER_SEEDS = 200  # of each folder that is opened as a whole
HUGE = [0, 1, 2, 3, 0x7F, 0xFF, 0xFFFF, 1 << 16, 1 << 31, (1 << 32) - 1, 1 << 32, 1 << 40, (1 << 63) - 1, (1 << 64) - 1]


def _gguf_converted(path: Path) -> None:
    convert(tiny.FILE, path / "m", "q8")


def _folder_converted(path: Path) -> None:
    convert(tiny_hf.FOLDER / "bf16", path / "m", "q4g128")


def _bitgpu(path: Path) -> None:
    one_bit_files.write_bitgpu(path / "m", one_bit_files.parts(), baked=True)


def _bitgpu_blocks(path: Path) -> None:
    one_bit_files.write_bitgpu(path / "m", one_bit_files.parts(halves=True, tied=True), container=True, tied=True)


def _onnx(path: Path) -> None:
    one_bit_files.write_onnx(path / "m", one_bit_files.parts())


# Folders with one file that is broken, and who writes them.
FOLDERS: dict[str, tuple[str, Callable[[Path], None]]] = {
    "converted-gguf.json": ("m/manifest.json", _gguf_converted),
    "converted-folder.json": ("m/manifest.json", _folder_converted),
    "bitgpu.json": ("m/manifest.json", _bitgpu),
    "bitgpu-blocks.json": ("m/manifest.json", _bitgpu_blocks),
    "graph.onnx": ("m/onnx/model_q1.onnx", _onnx),
}


@functools.cache
def held(name: str) -> dict[str, bytes]:
    """The files of one of FOLDERS by their paths."""
    with tempfile.TemporaryDirectory() as place:
        FOLDERS[name][1](Path(place))
        return {str(p.relative_to(place)): p.read_bytes() for p in Path(place).rglob("*") if p.is_file()}


@functools.cache
def files() -> dict[str, tuple[bytes, int]]:
    """The file that each corpus breaks, and how many of its bytes are header."""
    folder = tiny_hf.FOLDER
    gguf, safetensors = tiny.FILE.read_bytes(), (folder / "bf16" / "model.safetensors").read_bytes()
    every_kind = written(small)
    index, config = (folder / "f32" / INDEX_NAME).read_bytes(), (folder / "f32" / "config.json").read_bytes()
    return {
        "model.gguf": (gguf, tiny.header().header_bytes),
        "kinds.gguf": (every_kind, read(every_kind).header_bytes),
        "model.safetensors": (safetensors, tiny_hf.table("bf16").data_start),
        INDEX_NAME: (index, len(index)),
        "config.json": (config, len(config)),
        **{name: (held(name)[path], len(held(name)[path])) for name, (path, _) in FOLDERS.items()},
    }


# Changes to the bytes of a header. Each takes random numbers, the file and the header's length.
Change = Callable[[random.Random, bytearray, int], None]


def flip_bits(rng: random.Random, data: bytearray, header: int) -> None:
    for _ in range(rng.choice((1, 1, 2, 8, 64))):
        data[rng.randrange(header)] ^= 1 << rng.randrange(8)


def cut(rng: random.Random, data: bytearray, header: int) -> None:
    del data[rng.choice((rng.randrange(header), rng.randrange(len(data)))) :]


def drop_bytes(rng: random.Random, data: bytearray, header: int) -> None:
    at = rng.randrange(header)
    del data[at : at + rng.randrange(1, 40)]


def repeat_bytes(rng: random.Random, data: bytearray, header: int) -> None:
    at, length = rng.randrange(header), rng.randrange(1, 200)
    data[at:at] = data[at : at + length]


def huge_number(rng: random.Random, data: bytearray, header: int) -> None:
    """A number of 32 or 64 bits somewhere: at the head or at a length, count, type, shape or offset by chance."""
    at = rng.choice((0, 4, 8, 16, rng.randrange(max(1, header - 8)), rng.randrange(max(1, header - 8))))
    width = rng.choice((4, 8))
    data[at : at + width] = (rng.choice(HUGE) & ((1 << 8 * width) - 1)).to_bytes(width, "little")


def wrong_utf8(rng: random.Random, data: bytearray, header: int) -> None:
    at = rng.randrange(header)
    wrong = rng.choice((b"\xff", b"\xc0\x80", b"\xed\xa0\x80", b"\xf5\x80\x80\x80", b"\xe6\x9d", b"\x80"))
    data[at : at + len(wrong)] = wrong


ANY: tuple[Change, ...] = (flip_bits, cut, drop_bytes, repeat_bytes, huge_number, wrong_utf8)


def gguf_field(rng: random.Random, data: bytearray, header: int) -> None:
    """A length, type, count or dimension where the file really has one: next to a name of its header."""
    names = [*tiny.header().metadata, *tiny.header().tensors] if header == tiny.header().header_bytes else ["test.text"]
    name = rng.choice(names).encode()
    at = data.find(struct.pack("<Q", len(name)) + name)
    if at >= 0:
        field = at + rng.choice((0, *[8 + len(name) + n for n in (0, 4, 8, 12, 16, 20, 24, 28, 32)]))
        width = rng.choice((4, 8))
        data[field : field + width] = (rng.choice(HUGE) & ((1 << 8 * width) - 1)).to_bytes(width, "little")


OPTIONAL = [
    *("general.alignment", "split.count", "split.no", "llama.expert_count", "llama.rope.scaling.type"),
    *("llama.rope.scale_linear", "llama.attention.key_length", "llama.attention.value_length"),
    *("tokenizer.ggml.eot_token_id", "tokenizer.ggml.scores", "tokenizer.ggml.add_eos_token"),
]


def gguf_keys(rng: random.Random, data: bytearray, header: int) -> None:
    """More keys in front: one that is there already, one of another type, arrays in arrays, long lists."""
    metadata = tiny.header().metadata
    name = rng.choice([*metadata, *OPTIONAL])
    more = rng.choice(
        (
            key(name, 4, struct.pack("<I", rng.choice(HUGE) & 0xFFFFFFFF)),
            key(name, 8, struct.pack("<Q", rng.choice(HUGE))),
            key(name, 9, struct.pack("<IQ", 9, 1) * rng.choice((2, 9, 5_000)) + struct.pack("<IQ", 0, 0)),
            key(name, 9, struct.pack("<IQ", 9, 4) + struct.pack("<IQI", 4, 1, 7) * 4),
            key(name, 9, struct.pack("<IQ", 8, rng.choice(HUGE))),
            *(key(name, 9, struct.pack("<IQ", kind, 2) + bytes(16)) for kind in (0, 4, 6, 7, 8)),
            key(name, 12, struct.pack("<d", rng.choice((float("nan"), float("inf"), -1.0, 1e308)))),
        )
    )
    was = name.encode()
    at = data.find(struct.pack("<Q", len(was)) + was)
    count = struct.unpack_from("<Q", data, 16)[0]
    if rng.random() < 0.7 and at >= 0:
        data[at + 8] ^= 1  # so that the name is no second one
    data[24:24] = more
    data[16:24] = struct.pack("<Q", count + 1)


NUMBERS = ["-1", "1e999", "-0", "0.5", "9" * 30, "9" * 5_000, "NaN", "true", "null", '"4"', "[]", "{}", *map(str, HUGE)]


def json_number(rng: random.Random, data: bytearray, header: int) -> None:
    """Another value in the place of a number."""
    begin = header - len(data[8:header]) if data[:1] != b"{" else 0
    digits = [i for i in range(begin, header) if data[i : i + 1].isdigit()]
    at = rng.choice(digits)
    end = next(i for i in range(at, header + 1) if not data[i : i + 1].isdigit())
    data[at:end] = rng.choice(NUMBERS).encode()


def json_text(rng: random.Random, data: bytearray, header: int) -> None:
    """A text changed where it stands: types, names, keys, escapes."""
    quotes = [i for i in range(header) if data[i] == ord('"')]
    at = rng.choice(quotes)
    more = rng.choice(("\\ud800", "\\u0000", "\\x", "\n", "\0", "/../", "ä", "I64", "__metadata__", "x" * 70_000))
    data[at + 1 : at + 1] = more.encode()


def json_nesting(rng: random.Random, data: bytearray, header: int) -> None:
    opening, closing = rng.choice((("[", "]"), ('{"a":', "}"), ("[" * 2, "]")))
    depth = rng.choice((2, 31, 33, 500, 20_000))
    at = next(i for i in range(rng.randrange(header // 2), header) if data[i : i + 1] == b":")
    data[at + 1 : at + 1] = (opening * depth + closing * depth + ",").encode() if rng.random() < 0.5 else b"[" * depth


def json_twice(rng: random.Random, data: bytearray, header: int) -> None:
    """An entry a second time."""
    commas = [i for i in range(header) if data[i] == ord(",")]
    one, two = sorted(rng.sample(commas, 2))
    data[one:one] = data[one:two]


VALUES: list[Any] = [
    None, True, False, "", "x", "../x", "a/b", "f32", "q8", "q1_0", [], [1], [[]], {}, {"a": 1}, -1, 0.5, 1e300, 10**19,
    float("nan"), float("inf"), *HUGE,
]  # fmt: skip


def json_tree(rng: random.Random, data: bytearray, header: int) -> None:
    """A value of the tree taken away, put elsewhere, renamed, or of any type where another is due."""
    tree = json.loads(data)
    places: list[tuple[Any, Any]] = []

    def walk(value: Any) -> None:
        # Of long lists, as of hashes, a few: every kind of place is to come up.
        items = value.items() if isinstance(value, dict) else enumerate(value[:3]) if isinstance(value, list) else ()
        for name, inner in items:
            places.append((value, name))
            walk(inner)

    walk(tree)
    outer, name = rng.choice([p for p in places if p[0] is tree] if rng.random() < 0.3 else places)
    other, its = rng.choice(places)
    match rng.randrange(7):
        case 0:
            del outer[name]
        case 1:
            outer[name] = copy.deepcopy(other[its])
        case 2 if isinstance(outer, dict):
            new = rng.choice(("", "..", "../x", "a/b", "x" * 70_000, "é\n", *(str(v) for _, v in places[:40])))
            outer[new] = outer.pop(name)
        case _:
            outer[name] = rng.choice(VALUES)
    data[:] = json.dumps(tree).encode()


CHANGES: dict[str, tuple[Change, ...]] = {
    "gguf": (*ANY, gguf_field, gguf_field, gguf_keys, gguf_keys),
    "safetensors": (*ANY, json_number, json_number, json_text, json_nesting, json_twice),
    "json": (*ANY, json_number, json_number, json_text, json_nesting, json_twice),
    "onnx": ANY,
}
TREES = (*CHANGES["json"], *[json_tree] * 20)


def broken(name: str, seed: int) -> bytes:
    """The file of a corpus after one change, at times two."""
    data, header = files()[name]
    rng, changed = random.Random(f"{name} {seed}"), bytearray(data)
    kinds = TREES if name in FOLDERS and name.endswith(".json") else CHANGES[name.rpartition(".")[2]]
    kinds[seed % len(kinds)](rng, changed, header)
    if name.endswith(".safetensors") and rng.random() < 0.8 and changed[:8] == data[:8]:
        # With a length that fits again the change reaches the JSON.
        changed[:8] = max(0, header - 8 + len(changed) - len(data)).to_bytes(8, "little")
    return bytes(changed)


def bytes_of(data: bytes, part: TensorInfo) -> bytes:
    """A tensor's bytes, as whoever uploads them asks for them: where no size was told, the end is found here."""
    found = data[part.start : part.start + part.nbytes]
    if len(found) < part.nbytes:
        raise FormatError(f"{part.file}: the data of {part.name!r} ends with the file")
    return found


async def load_gguf(data: bytes, tells_size: bool) -> object:
    header = await read_gguf(reader(data, tells_size=tells_size), name="fuzz.gguf")
    config = config_from_gguf(header.metadata, vocab_of_gguf(header))
    weights = models.find(architecture_of(header.metadata)).weights(config, header.tensors)
    read_arrays(weights, lambda part: bytes_of(data, part))
    return Tokenizer.from_gguf(header.metadata), ChatTemplate.from_gguf(header.metadata)


async def load_table(data: bytes, tells_size: bool) -> object:
    table = await read_gguf(reader(data, tells_size=tells_size), name="fuzz.gguf")
    return {name: (info.type, bytes_of(data, info)) for name, info in table.tensors.items()}


async def load_safetensors(data: bytes, tells_size: bool) -> object:
    table = await read_safetensors(reader(data, tells_size=tells_size))
    values = tiny_hf.settings("bf16")
    config = config_from_hf(values, vocab_of(table.tensors))
    weights = llama.weights(config, model_tensors(values, table.tensors), names_of("llama"))
    return read_arrays(weights, lambda part: bytes_of(data, part))


async def load_index(data: bytes, tells_size: bool) -> object:
    folder = tiny_hf.FOLDER / "f32"

    def open_file(name: str) -> Any:
        path = folder / name
        if not path.exists():
            raise FormatError(f"{name}: no such file")
        return tiny_hf.reader(path)

    return await read_sharded(reader(data, tells_size=tells_size), open_file)


async def load_config(data: bytes, tells_size: bool) -> object:
    read_range = reader(data, tells_size=tells_size)
    values = await read_json(read_range, name="config.json", most_bytes=1 << 20, most=100_000)
    config = config_from_hf(values, 96)
    return llama.weights(config, model_tensors(values, tiny_hf.table("f32").tensors), names_of("llama"))


class Memory:
    """A bridge to files in memory, all of one folder, which no source may leave. Like the browser's it takes memory for
    the whole range that it is asked for."""

    def __init__(self, files: Mapping[str, bytes], tells_size: bool) -> None:
        self.files, self.tells_size = files, tells_size

    async def fetch_range(self, source: Mapping[str, str], start: int, nbytes: int) -> dict[str, Any]:
        place = posixpath.normpath(source["url"])
        assert place.startswith("m/"), f"{place} is out of the folder"
        found = bytearray(nbytes)
        if place not in self.files:
            error = FetchError(f"{place}: no such file")
            error.missing = True
            raise error
        data = self.files[place]
        part = data[start : start + nbytes]
        found[: len(part)] = part
        return {"bytes": bytes(found[: len(part)]), "total": len(data) if self.tells_size else None}


def load_folder(name: str) -> Callable[[bytes, bool], Any]:
    path, source = FOLDERS[name][0], "m/" if name.endswith(".json") else FOLDERS[name][0]

    async def load(data: bytes, tells_size: bool) -> object:
        files = {**held(name), path: data}
        found = await open_checkpoint(source, Memory(files, tells_size))  # type: ignore[arg-type]

        def read(part: TensorInfo) -> bytes:  # a file that there is not is one without bytes
            return bytes_of(files.get(found.source.sibling(part.file).place, b""), part)

        return read_arrays(found.weights, read)

    return load


LOADERS: dict[str, Callable[[bytes, bool], Any]] = {
    "model.gguf": load_gguf,
    "kinds.gguf": load_table,
    "model.safetensors": load_safetensors,
    INDEX_NAME: load_index,
    "config.json": load_config,
    **{name: load_folder(name) for name in FOLDERS},
}


def outcome(name: str, data: bytes, tells_size: bool) -> str:
    """What became of a file: "loaded", the name of a documented error, or what must not be."""
    tracemalloc.start()
    began = time.process_time()
    try:
        asyncio.run(LOADERS[name](data, tells_size))
        found = "loaded"
    except DOCUMENTED as e:
        found = type(e).__name__ if str(e) else "an error without a message"
    except Exception as e:  # noqa: BLE001 - whatever else comes out is what the test looks for
        found = f"undocumented {type(e).__name__}: {str(e)[:200]}"
    finally:
        spent, peak = time.process_time() - began, tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    if spent > ANSWER_S or peak > PEAK_BYTES:
        return f"{found} after {spent:.2f} s and {peak >> 20} MiB"
    return found


@pytest.mark.parametrize("name", LOADERS)
def test_a_broken_file_ends_in_a_documented_error_or_a_model_in_two_seconds_and_64_mib(name: str) -> None:
    seeds = range(FOLDER_SEEDS if name in FOLDERS else SEEDS)
    found = {seed: outcome(name, broken(name, seed), tells_size=seed % 3 > 0) for seed in seeds}
    faults = {s: o for s, o in found.items() if o != "loaded" and o not in {e.__name__ for e in DOCUMENTED}}
    assert not faults, "\n".join(f"broken({name!r}, {seed}): {what}" for seed, what in faults.items())
    assert sum(o == "FormatError" for o in found.values()) > len(seeds) / 4  # the changes do reach the checks


@pytest.mark.parametrize("name", LOADERS)
def test_an_unbroken_file_loads(name: str) -> None:
    data, _ = files()[name]
    assert outcome(name, data, True) == outcome(name, data, False) == "loaded"


def test_the_corpus_is_the_same_in_each_run_and_breaks_every_file() -> None:
    for name, (data, _) in files().items():
        made = [broken(name, seed) for seed in range(30)]
        assert made == [broken(name, seed) for seed in range(30)]
        assert sum(one != data for one in made) > 25
        assert len(set(made)) > 25
    assert json.loads(files()["config.json"][0])["model_type"] == "llama"
