"""The safetensors reader against files of other writers, and against files that are not what they claim to be.

tests/torch/test_safetensors.py compares it with the `safetensors` package at random.
"""

from __future__ import annotations

import asyncio
import json
import re
import struct
import time
import tracemalloc

import pytest

from tests.formats.files import reader
from webxpu.errors import FormatError, Unsupported
from webxpu.formats.safetensors import MAX_HEADER_TEXT_BYTES, Safetensors, read_safetensors, read_sharded
from webxpu.formats.tensor_info import TensorInfo
from webxpu.formats.window import FIRST_READ_BYTES
from webxpu.gpu.plan import Spec

ANSWER_S = 2.0
# What `safetensors.numpy.save({"w": float32 [[1, 2]], "é": int8 [7]}, {"format": "np"})` of safetensors 0.8.0 gives.
WRITTEN = (
    b"\x90\x00\x00\x00\x00\x00\x00\x00"
    b'{"__metadata__":{"format":"np"},"w":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]},'
    b'"\xc3\xa9":{"dtype":"I8","shape":[1],"data_offsets":[8,9]}}    '
    b"\x00\x00\x80?\x00\x00\x00@\x07"
)


def file_of(header: str | bytes | dict[str, object], data: int | bytes = b"", *, length: int | None = None) -> bytes:
    """A file with a header as it stands; `length` lies about it."""
    if isinstance(header, dict):
        header = json.dumps(header)
    raw = header.encode() if isinstance(header, str) else header
    tail = bytes(data) if isinstance(data, int) else data
    return struct.pack("<Q", len(raw) if length is None else length) + raw + tail


def entry(start: int, end: int, shape: list[object], dtype: object = "F32") -> dict[str, object]:
    return {"dtype": dtype, "shape": shape, "data_offsets": [start, end]}


def read(data: bytes, *, tells_size: bool = True) -> Safetensors:
    return asyncio.run(read_safetensors(reader(data, tells_size=tells_size)))


def refusal(data: bytes, **options: bool) -> str:
    with pytest.raises(FormatError) as e:
        read(data, **options)
    return str(e.value)


@pytest.mark.parametrize("tells_size", [True, False])
def test_a_file_of_the_safetensors_package_is_read_as_it_was_written(tells_size: bool) -> None:
    found = read(WRITTEN, tells_size=tells_size)
    assert found.metadata == {"format": "np"}
    assert found.data_start == 8 + 0x90
    assert found.size_bytes == len(WRITTEN)
    assert found.tensors == {
        "w": TensorInfo("w", "f32", (1, 2), 152, 8, "model.safetensors"),
        "é": TensorInfo("é", "i8", (1,), 160, 1, "model.safetensors"),
    }
    assert struct.unpack_from("<2f", WRITTEN, found.tensor("w").start) == (1.0, 2.0)
    assert found.tensor("w").spec() == Spec((1, 2), "float32")
    with pytest.raises(Unsupported, match=r"^model.safetensors: tensor 'é' has type i8, which webxpu cannot"):
        found.tensor("é").spec()
    with pytest.raises(FormatError, match=r"^model.safetensors: tensor 'x' is missing; the file has 2 others$"):
        found.tensor("x")


def test_a_small_header_costs_one_request_and_a_large_one_two() -> None:
    requests: list[tuple[int, int]] = []
    asyncio.run(read_safetensors(reader(WRITTEN, requests=requests)))
    assert requests == [(0, FIRST_READ_BYTES)]
    large = file_of({f"{i:05}": entry(4 * i, 4 * i + 4, [1]) for i in range(9_000)}, 36_000)
    requests.clear()
    assert len(asyncio.run(read_safetensors(reader(large, requests=requests))).tensors) == 9_000
    assert len(requests) == 2
    assert requests[1][0] == FIRST_READ_BYTES


def test_tensors_without_weights_scalars_and_types_of_less_than_a_byte_are_read() -> None:
    table = {
        "scalar": entry(0, 4, []), "none": entry(4, 4, [0, 3]), "f4": entry(4, 8, [2, 4], "F4"),
        "none too": entry(8, 8, [0], "F16"), "f6": entry(8, 11, [4], "F6_E2M3"),
    }  # fmt: skip
    found = read(file_of(table, 11))
    assert {name: info.nbytes for name, info in found.tensors.items()} == {
        "scalar": 4, "none": 0, "f4": 4, "none too": 0, "f6": 3,
    }  # fmt: skip
    assert found.tensors["scalar"].shape == ()


def test_the_order_in_the_header_need_not_be_the_order_in_the_file_and_spaces_may_stand_around_it() -> None:
    text = " " + json.dumps({"b": entry(4, 8, [1]), "a": entry(0, 4, [1])}) + "\n  "
    found = read(file_of(text, 8))
    assert list(found.tensors) == ["b", "a"]
    assert found.tensors["a"].start == found.data_start == 8 + len(text)


def test_an_empty_table_is_a_file() -> None:
    assert read(file_of("{}")).tensors == {}


ONE = {"a": entry(0, 4, [1])}
HALF = '{"a":' + json.dumps(entry(0, 4, [1]))
SPAN = "the data_offsets of 'a' at byte 9 must be "
MALFORMED: dict[str, tuple[str, bytes]] = {
    "empty": ("the length of the header at byte 0 must be complete, to byte 8, got a file of 0 bytes", b""),
    "seven bytes": ("at byte 0 must be complete, to byte 8, got a file of 7 bytes (bytes 01 02", b"\1\2\3\4\5\6\7"),
    "a web page": ("at byte 0 must be at most 16777216, got 4341026308191960074, a web page", b"\n<html><body>" * 9),
    "an LFS pointer": (", a Git LFS pointer; download the file", b"version https://git-lfs.github.com/spec/v1"),
    "a GGUF file": (", a GGUF file (bytes 47 47 55 46", b"GGUF\3\0\0\0" * 9),
    "a pickle": (", a zip archive, as PyTorch writes (bytes 50 4b 03 04", b"PK\3\4abcd" * 9),
    "no header": ("the length of the header at byte 0 must be 2 to 3, what the file has left, got 0", file_of("", 3)),
    "header past the end": (
        "the length of the header at byte 0 must be 2 to 64, what the file has left, got 65",
        file_of(ONE, 4, length=65)[:72],
    ),
    "huge length": (
        f"must be at most {MAX_HEADER_TEXT_BYTES}, got {2**64 - 1} (bytes ff",
        file_of(ONE, length=2**64 - 1),
    ),
    "header cut": ("the header at byte 67 must be JSON, got Expecting ',' delimiter", file_of(HALF, 4)),
    "not UTF-8": ("the header at byte 10 must be UTF-8, got invalid start byte (bytes ff", file_of(b'{"\xff":1}')),
    "a byte order mark": ("the header at byte 8 must be JSON, got", file_of(b"\xef\xbb\xbf{}")),
    "zero after it": ("the header at byte 10 must be JSON, got Extra data (bytes 00", file_of(b"{}\0")),
    "an array": ("the header at byte 8 must be a JSON object, got []", file_of("[]")),
    "deep": (
        "the header at byte 8 must be nested at most 32 deep",
        file_of('{"a":' + "[" * 50_000 + "]" * 50_000 + "}"),
    ),
    "a tensor twice": (
        "the header at byte 9 must be without a name twice in one object, got 'a' (bytes 22 61 22",
        file_of(HALF + "," + HALF[1:] + "}", 4),
    ),
    "a text of metadata twice": (
        "must be without a name twice in one object, got 'b'",
        file_of('{"__metadata__":{"b":"1","b":"2"}}'),
    ),
    "half a surrogate pair": ("must be Unicode, got half a surrogate pair in '\\ud800'", file_of('{"\\ud800":{}}')),
    "metadata of numbers": (
        "__metadata__ at byte 9 must be an object of texts, got {'a': 1}",
        file_of({"__metadata__": {"a": 1}}),
    ),
    "metadata in an array": (
        "__metadata__ at byte 9 must be an object of texts, got ['a']",
        file_of({"__metadata__": ["a"]}),
    ),
    "no entry": ("tensor 'a' at byte 9 must be an object of dtype, shape and data_offsets, got 7", file_of({"a": 7})),
    "a key too few": (
        "tensor 'a' at byte 9 must be an object of dtype, shape and data_offsets, got {'dtype': 'F32', 'shape': []}",
        file_of({"a": {"dtype": "F32", "shape": []}}),
    ),
    "a key too many": ("tensor 'a' at byte 9 must be an object of", file_of({"a": {**entry(0, 4, [1]), "x": 1}}, 4)),
    "unknown dtype": (
        "the dtype of 'a' at byte 9 must be one of BOOL, U8, ",
        file_of({"a": entry(0, 4, [1], "f32")}, 4),
    ),
    "a dtype by number": ("the dtype of 'a' at byte 9 must be one of", file_of({"a": entry(0, 4, [1], [1])}, 4)),
    "a real shape": (
        "the shape of 'a' at byte 9 must be at most 8 whole numbers, got [1.0]",
        file_of({"a": entry(0, 4, [1.0])}, 4),
    ),
    "a true shape": ("must be at most 8 whole numbers, got [True]", file_of({"a": entry(0, 4, [True])}, 4)),
    "a negative shape": ("must be at most 8 whole numbers, got [-1]", file_of({"a": entry(0, 4, [-1])}, 4)),
    "nine dimensions": ("must be at most 8 whole numbers, got [1, 1, ", file_of({"a": entry(0, 4, [1] * 9)}, 4)),
    "no shape": ("must be at most 8 whole numbers, got None", file_of({"a": {**entry(0, 4, []), "shape": None}}, 4)),
    "minus zero": ("with whole numbers of at most 31 digits, got -0 (bytes 2d 30", file_of('{"a":{"shape":[-0]}}')),
    "endless digits": ("with whole numbers of at most 31 digits, got 9999", file_of('{"a":[' + "9" * 5000 + "]}")),
    "overflowing shape": (
        "the shape of 'a' at byte 9 must be of less than 2**56 elements, got [4294967296, 4294967296]",
        file_of({"a": entry(0, 4, [1 << 32, 1 << 32])}, 4),
    ),
    "an overflow times zero": (
        "the shape of 'a' at byte 9 must be of less than 2**56 elements",
        file_of({"a": entry(0, 0, [1 << 63, 0])}),
    ),
    "half a byte": (
        "the shape of 'a' at byte 9 must be of whole bytes, got 28 bits",
        file_of({"a": entry(0, 4, [7], "F4")}, 4),
    ),
    "three offsets": (
        SPAN + "where it begins and ends",
        file_of({"a": {**entry(0, 4, [1]), "data_offsets": [0, 4, 4]}}, 4),
    ),
    "backwards": (SPAN + "where it begins and ends, got [4, 0]", file_of({"a": entry(4, 0, [1])}, 4)),
    "another size": (SPAN + "4 bytes apart, for F32 [1], got [0, 8]", file_of({"a": entry(0, 8, [1])}, 8)),
    "a gap at the beginning": (
        "the data of 'a' at byte 9 must be from byte 69 on, got 73, which leaves a gap",
        file_of({"a": entry(4, 8, [1])}, 8),
    ),
    "a gap": (
        "must be from byte 134 on, got 135, which leaves a gap",
        file_of({"a": entry(0, 4, [1]), "b": entry(5, 9, [1])}, 9),
    ),
    "an overlap": (
        "the data of 'b' at byte 70 must be from byte 134 on, got 132, which overlaps the tensor before it (bytes 22",
        file_of({"a": entry(0, 4, [1]), "b": entry(2, 6, [1])}, 6),
    ),
    "two in one place": (
        "which overlaps the tensor before it",
        file_of({"a": entry(0, 4, [1]), "b": entry(0, 4, [1])}, 4),
    ),
    "data cut": (
        "the last tensor's end at byte 73 must be the end of the file, got a file of 72 bytes",
        file_of(ONE, 3),
    ),
    "data left over": (
        "the last tensor's end at byte 73 must be the end of the file, got a file of 74 bytes (bytes 00)",
        file_of(ONE, 5),
    ),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_a_malformed_file_is_refused_at_its_offset_with_its_bytes_at_once(name: str) -> None:
    message, data = MALFORMED[name]
    tracemalloc.start()
    try:
        began = time.process_time()
        found = refusal(data)
        assert time.process_time() - began < ANSWER_S
        assert tracemalloc.get_traced_memory()[1] < 2 << 20
    finally:
        tracemalloc.stop()
    assert re.match(r"model\.safetensors: .* at byte \d+ must be .*, got .* \(bytes .*\)$", found), found
    assert message in found


@pytest.mark.parametrize("tells_size", [True, False])
def test_a_file_cut_at_any_byte_is_refused(tells_size: bool) -> None:
    for length in range(len(WRITTEN)):
        assert " at byte " in refusal(WRITTEN[:length], tells_size=tells_size)


def test_a_file_whose_size_nobody_tells_is_read_no_further_than_its_header() -> None:
    header = file_of({"a": entry(0, 1 << 30, [1 << 28])})
    padded = header + bytes(FIRST_READ_BYTES - len(header))
    assert read(padded + bytes(10), tells_size=False).tensors["a"].nbytes == 1 << 30


HOSTILE = {
    "tensors": lambda: file_of({f"{i:08}": entry(4 * i, 4 * i + 4, [1]) for i in range(66_000)}, 4),
    "arrays": lambda: file_of('{"a":[' + "[]," * 5_000_000 + "[]]}"),
    "numbers": lambda: file_of('{"a":[' + "1," * 8_000_000 + "1]}"),
    "one text": lambda: file_of('{"a":"' + "é" * 8_000_000 + '"}'),
    "backslashes": lambda: file_of('{"a":"' + "\\\\" * 8_000_000),
    "quotes": lambda: file_of('"' * 16_000_000),
    "brackets": lambda: file_of("[" * 16_000_000),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_the_largest_hostile_header_is_refused_within_two_seconds(name: str) -> None:
    data = HOSTILE[name]()
    began = time.process_time()
    refusal(data)
    assert time.process_time() - began < ANSWER_S


def test_one_tensor_more_than_there_may_be_is_refused() -> None:
    table = {f"{i:05}": entry(0, 0, [0]) for i in range(65_537)}
    assert "the header at byte 8 must be of at most 65536 tensors, got 65537 (bytes 7b" in refusal(file_of(table))
    del table["00000"]
    assert len(read(file_of(table)).tensors) == 65_536


def test_as_many_tensors_as_there_may_be_are_read_within_two_seconds() -> None:
    data = file_of({f"model.{i:08}": entry(4 * i, 4 * i + 4, [1, 1, 1, 1]) for i in range(65_536)}, 4 * 65_536)
    began = time.process_time()
    assert len(read(data).tensors) == 65_536
    assert time.process_time() - began < ANSWER_S


INDEX = "model.safetensors.index.json"
FIRST, SECOND = "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"
SHARDS = {
    INDEX: json.dumps({"metadata": {"total_size": -1}, "weight_map": {"a": FIRST, "c": SECOND, "b": FIRST}}).encode(),
    FIRST: file_of({"a": entry(0, 4, [1]), "b": entry(4, 8, [1])}, 8),
    SECOND: file_of({"c": entry(0, 4, [1])}, 4),
}


def read_folder(files: dict[str, bytes], opened: list[str] | None = None) -> Safetensors:
    def open_file(name: str):
        if opened is not None:
            opened.append(name)
        return reader(files[name])

    return asyncio.run(read_sharded(reader(files[INDEX]), open_file))


def test_the_shards_of_a_folder_make_one_table_that_names_their_files() -> None:
    opened: list[str] = []
    found = read_folder(SHARDS, opened)
    assert {name: info.file for name, info in found.tensors.items()} == {"a": FIRST, "b": FIRST, "c": SECOND}
    assert found.tensors["c"].start == read(SHARDS[SECOND]).tensors["c"].start
    assert (list(found.parts), opened) == ([FIRST, SECOND], [FIRST, SECOND])


def mapped(**places: object) -> dict[str, bytes]:
    return {INDEX: json.dumps({"weight_map": {"a": FIRST, "b": FIRST, "c": SECOND, **places}}).encode()}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({INDEX: b"[]"}, f"{INDEX}: the text at byte 0 must be a JSON object, got an array (bytes 5b 5d)"),
        ({INDEX: b'{"a":1,}'}, f"{INDEX}: the text at byte 7 must be JSON, got "),
        ({INDEX: b"{}"}, f"{INDEX}: weight_map must be an object that is not empty, got None"),
        ({INDEX: b'{"weight_map":{}}'}, f"{INDEX}: weight_map must be an object that is not empty, got {{}}"),
        (mapped(c=7), f"{INDEX}: weight_map must name .safetensors files of its own folder, got '7' for 'c'"),
        (mapped(c="../c.safetensors"), "of its own folder, got '../c.safetensors' for 'c'"),
        (mapped(c="https:x.safetensors"), "of its own folder, got 'https:x.safetensors' for 'c'"),
        (mapped(c="c.bin"), "of its own folder, got 'c.bin' for 'c'"),
        (mapped(d=SECOND), f"{SECOND}: tensor 'd', which {INDEX} places there, is missing"),
        (mapped(c=FIRST, d=SECOND), f"{SECOND}: tensor 'c' must be where the index says, got it {FIRST} by {INDEX}"),
        (
            {INDEX: mapped()[INDEX].replace(b'"b"', b'"d"')},
            f"tensor 'b' must be where the index says, got it left out of {INDEX}",
        ),
        ({SECOND: SHARDS[SECOND][:-1]}, f"{SECOND}: the last tensor's end at byte 73 must be the end of the file"),
    ],
)
def test_an_index_and_shards_that_do_not_belong_together_are_refused(change: dict[str, bytes], message: str) -> None:
    with pytest.raises(FormatError, match=re.escape(message)):
        read_folder({**SHARDS, **change})


def test_an_index_of_a_thousand_and_one_files_is_refused_before_any_is_opened() -> None:
    index = {"weight_map": {str(i): f"{i}.safetensors" for i in range(1_001)}}
    opened: list[str] = []
    with pytest.raises(FormatError, match=r"weight_map must name at most 1000 files, got 1001$"):
        read_folder({INDEX: json.dumps(index).encode()}, opened)
    assert opened == []


def test_an_index_of_which_less_comes_than_there_is_is_refused() -> None:
    async def short(start: int, nbytes: int) -> tuple[bytes, int]:
        return b"{}", 99

    with pytest.raises(FormatError, match=f"^{INDEX}: must be complete, to byte 99, got 2 bytes$"):
        asyncio.run(read_sharded(short, reader))  # type: ignore[arg-type]


def test_an_index_longer_than_any_is_refused() -> None:
    long = b'{"weight_map":' + b" " * MAX_HEADER_TEXT_BYTES + b"{}}"
    with pytest.raises(
        FormatError, match=f"^{INDEX}: must be at most {MAX_HEADER_TEXT_BYTES} bytes long, got {len(long)}$"
    ):
        read_folder({INDEX: long})
