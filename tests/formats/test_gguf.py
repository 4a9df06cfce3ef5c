"""The GGUF reader against the `gguf` package (0.19.0), and against files that are not what they claim to be."""

from __future__ import annotations

import asyncio
import random
import re
import struct
import time
import tracemalloc

import gguf
import numpy as np
import pytest
from gguf.constants import GGML_QUANT_SIZES

from tests.formats.files import key, raw, read, reader, row, small, string, written
from webxpu.errors import FormatError, Unsupported
from webxpu.formats import ggml_types
from webxpu.formats.gguf import MAX_ENTRIES, MAX_STRINGS, metadata_value, read_gguf
from webxpu.formats.window import FIRST_READ_BYTES, MAX_HEADER_BYTES
from webxpu.gpu.plan import Spec
from webxpu.host.fetch import asset
from webxpu.quant.ggml import BLOCK_TYPES, nbytes

# What a malformed file may take: the promise is 2 s.
ANSWER_S = 2.0
U8, I8, U32, F32, BOOL, STRING, ARRAY = 0, 1, 4, 6, 7, 8, 9


@pytest.fixture(scope="module")
def model_file():
    return asset("smollm2-135m")


@pytest.fixture(scope="module")
def small_file() -> bytes:
    return written(small)


def refusal(data: bytes, **options) -> str:
    """The message with which the reader refuses a file."""
    with pytest.raises(FormatError) as e:
        read(data, **options)
    return str(e.value)


def plain(value):
    """Metadata as the `gguf` package gives it."""
    return value.tolist() if isinstance(value, np.ndarray) else value


def assert_reads_as_gguf_does(path, ours) -> None:
    theirs = gguf.GGUFReader(path)
    names = [name for name in theirs.fields if not name.startswith("GGUF.")]
    assert list(ours.metadata) == names
    for name in names:
        assert plain(ours.metadata[name]) == theirs.fields[name].contents(), name
        assert type(plain(ours.metadata[name])) is type(theirs.fields[name].contents()), name
    assert list(ours.tensors) == [tensor.name for tensor in theirs.tensors]
    for tensor in theirs.tensors:
        info = ours.tensors[tensor.name]
        assert info.type == tensor.tensor_type.name.lower()
        assert info.shape == tuple(tensor.shape.tolist()[::-1])
        assert (info.start, info.nbytes) == (tensor.data_offset, tensor.n_bytes)


def test_every_kind_of_metadata_and_the_tensor_table_are_as_the_gguf_package_reads_them(small_file, tmp_path):
    path = tmp_path / "small.gguf"
    path.write_bytes(small_file)
    found = read(small_file)
    assert_reads_as_gguf_does(path, found)
    assert (found.version, found.alignment, found.size_bytes) == (3, 32, len(small_file))
    assert found.metadata["test.ints"].dtype == np.int32
    assert found.metadata["test.floats"].dtype == np.float32


def test_the_real_model_is_as_the_gguf_package_reads_it_in_four_doubling_requests(model_file):
    requests = []
    with model_file.open("rb") as file:

        async def read_range(start, nbytes):
            requests.append((start, nbytes))
            file.seek(start)
            return file.read(nbytes), model_file.stat().st_size

        found = asyncio.run(read_gguf(read_range, name=model_file.name))
    assert_reads_as_gguf_does(model_file, found)
    k = FIRST_READ_BYTES
    assert requests == [(0, k), (k, k), (2 * k, 2 * k), (4 * k, 4 * k)]
    assert found.header_bytes <= sum(nbytes for _, nbytes in requests)
    assert found.tensor("token_embd.weight").spec() == Spec((49152, 576), "q8_0")
    assert found.tensor("output_norm.weight").spec() == Spec((576,), "float32")


def test_a_vocabulary_of_49152_tokens_is_read_in_well_under_a_second(model_file):
    with model_file.open("rb") as file:
        data = file.read(2 << 20)
    began = time.process_time()
    asyncio.run(read_gguf(reader(data, tells_size=False)))
    assert time.process_time() - began < 0.8  # 0.1 s measured


def test_version_2_is_read_like_version_3():
    found = read(raw([key("a", U32, struct.pack("<I", 7))], version=2))
    assert (found.version, dict(found.metadata)) == (2, {"a": 7})


def test_tensors_start_at_the_file_s_own_alignment(tmp_path):
    def build(writer):
        writer.add_custom_alignment(256)
        small(writer)

    path = tmp_path / "aligned.gguf"
    path.write_bytes(written(build))
    found = read(path.read_bytes())
    assert found.alignment == 256
    assert_reads_as_gguf_does(path, found)


def test_a_file_without_tensors_may_end_with_its_header():
    data = raw([key("a", U8, b"\1")])
    assert read(data[: read(data).header_bytes]).metadata["a"] == 1


def test_nested_arrays_are_lists():
    inner = struct.pack("<IQ", U8, 2) + b"\1\2"
    found = read(raw([key("a", ARRAY, struct.pack("<IQ", ARRAY, 2) + inner + inner)]))
    assert [plain(v) for v in found.metadata["a"]] == [[1, 2], [1, 2]]


def test_all_types_have_the_block_sizes_of_the_gguf_package():
    theirs = {kind.name: (kind.value, sizes) for kind, sizes in GGML_QUANT_SIZES.items()}
    ours = {kind.name: (kind.value, ggml_types.BLOCK_SIZES[kind]) for kind in ggml_types.GgmlType}
    assert ours == theirs


def test_a_type_without_kernels_is_listed_and_refused_only_when_used():
    found = read(raw(rows=[row("k", (256, 2), 23, 0), row("new", (32,), 99, 288)], data=400))
    assert (found.tensors["k"].type, found.tensors["k"].nbytes) == ("iq4_xs", 272)
    assert (found.tensors["new"].type, found.tensors["new"].nbytes) == ("type 99", 0)
    for name, kind in (("k", "iq4_xs"), ("new", "type 99")):
        with pytest.raises(Unsupported, match=f"^model.gguf: tensor '{name}' has type {kind}, which"):
            found.tensor(name).spec()


@pytest.mark.parametrize("name", BLOCK_TYPES)
def test_every_block_type_is_found_by_its_number_and_can_be_computed_with(name):
    number = gguf.GGMLQuantizationType[name.upper()]
    found = read(raw(rows=[row("w", (256, 2), number, 0)], data=1024)).tensor("w")
    assert (found.spec(), found.nbytes) == (Spec((2, 256), name), nbytes(name, (2, 256)))


def test_a_missing_tensor_is_named(small_file):
    with pytest.raises(FormatError, match=r"^model.gguf: tensor 'x' is missing; the file has 4 others$"):
        read(small_file).tensor("x")


@pytest.mark.parametrize(
    ("key_name", "kind", "message"),
    [
        ("nothing", int, "the metadata key 'nothing' is missing"),
        ("text", int, "text must be int, got str 'abc'"),
        ("yes", int, "yes must be int, got bool 'True'"),
        ("whole", str, "whole must be str, got int '3'"),
        ("real", int, "real must be int, got float '0.5'"),
    ],
)
def test_a_metadata_value_of_another_type_is_an_error(key_name, kind, message):
    metadata = {"text": "abc", "yes": True, "whole": 3, "real": 0.5}
    with pytest.raises(FormatError, match=f"^GGUF metadata: {re.escape(message)}$"):
        metadata_value(metadata, key_name, kind)


def test_a_metadata_value_may_have_a_default_and_an_int_will_do_for_a_float():
    assert metadata_value({}, "a", int, 5) == 5
    assert metadata_value({"a": 3}, "a", float) == 3.0
    assert isinstance(metadata_value({"a": 3}, "a", float), float)


# Files that are not what they claim to be: message, then the file.
VALID_ROW = row("t", (4,), 0, 0)
MALFORMED: dict[str, tuple[str, bytes]] = {
    "empty": ("the magic number at byte 0 must be complete, to byte 4, got a file of 0 bytes (bytes none)", b""),
    "other magic": ("the magic number at byte 0 must be 'GGUF', got 'PK\\x03\\x04' (bytes 50 4b 03 04", b"PK\3\4" * 9),
    "a web page": ("must be 'GGUF', got a web page; use the link", b"\n<!DOCTYPE html><html>" + bytes(99)),
    "an LFS pointer": ("got a Git LFS pointer; download", b"version https://git-lfs.github.com/spec/v1\noid sha256:0"),
    "an old format": ("got an older GGML format", b"tjgg" + bytes(99)),
    "another byte order": ("must be 'GGUF', got an older GGML format or another byte order", b"FUGG" + bytes(99)),
    "version 1": ("the version at byte 4 must be 2 or 3, got 1 (bytes 01 00 00 00", raw(version=1)),
    "version 4": ("the version at byte 4 must be 2 or 3, got 4 (bytes 04 00 00 00", raw(version=4)),
    "version 0": ("the version at byte 4 must be 2 or 3, got 0 (bytes 00 00 00 00", raw(version=0)),
    "big-endian": (
        "the version at byte 4 must be 2 or 3, got a big-endian file, which webxpu cannot read (bytes 00 00 00 03",
        b"GGUF" + struct.pack(">IQQ", 3, 0, 0) + bytes(99),
    ),
    "too many tensors": (
        f"the number of tensors at byte 8 must be at most {MAX_ENTRIES}, got {2**63} (bytes 00 00 00 00 00 00 00 80",
        raw(counts=(2**63, 0)),
    ),
    "more tensors than bytes": (
        "the number of tensors at byte 8 must be small enough to end before byte 32, got 65536",
        raw(counts=(65_536, 0)),
    ),
    "too many keys": (
        f"the number of metadata keys at byte 16 must be at most {MAX_ENTRIES}, got {2**64 - 1}",
        raw(counts=(0, 2**64 - 1)),
    ),
    "a key too many": (
        "metadata key 1 at byte 64 must be complete, to byte 72, got a file of 64 bytes (bytes none)",
        raw([key("a", STRING, string("x" * 19))], counts=(0, 2)),
    ),
    "a tensor too many": (
        "row 1 of the tensor table at byte 96 must be complete, to byte 104, got a file of 96 bytes (bytes none)",
        raw([key("a", STRING, string("x" * 18))], [VALID_ROW], counts=(2, 1)),
    ),
    "long key": (
        "the length of a metadata key at byte 24 must be at most 65535, got 1152921504606846976",
        raw([struct.pack("<Q", 1 << 60)], data=32),
    ),
    "key past the end": (
        "metadata key 0 at byte 32 must be complete, to byte 60032, got a file of 64 bytes",
        raw([struct.pack("<Q", 60_000)], data=32),
    ),
    "key not UTF-8": (
        "a metadata key at byte 33 must be UTF-8, got invalid start byte (bytes ff 62",
        raw([key(b"a\xffb", U8, b"\1")]),
    ),
    "value not UTF-8": (
        "the value of 'a' at byte 46 must be UTF-8, got unexpected end of data (bytes e6 9d",
        raw([key("a", STRING, string(b"x\xe6\x9d"))]),
    ),
    "unknown value type": (
        "the type of the value of 'a' at byte 33 must be 0 to 12, got 13 (bytes 0d 00 00 00",
        raw([key("a", 13, b"")]),
    ),
    "unknown element type": (
        "the type of the value of 'a' at byte 37 must be 0 to 12, got 77",
        raw([key("a", ARRAY, struct.pack("<IQ", 77, 1))]),
    ),
    "a third truth value": (
        "the value of 'a' at byte 37 must be 0 or 1, got 2 (bytes 02",
        raw([key("a", BOOL, b"\2")]),
    ),
    "a third truth value in an array": (
        "the value of 'a' at byte 50 must be 0 or 1, got 255",
        raw([key("a", ARRAY, struct.pack("<IQ", BOOL, 3) + b"\1\xff\0")]),
    ),
    "string past the end": (
        f"the value of 'a' at byte 37 must be complete, to byte {45 + 2**62}, got a file of 64 bytes (bytes",
        raw([key("a", STRING, struct.pack("<Q", 1 << 62))]),
    ),
    "string in an array past the end": (
        f"the value of 'a' at byte 49 must be complete, to byte {57 + 2**40}, got a file of 64 bytes",
        raw([key("a", ARRAY, struct.pack("<IQQ", STRING, 1, 1 << 40))]),
    ),
    "absurd array": (
        f"the length of the value of 'a' at byte 41 must be at most {MAX_HEADER_BYTES}, got {2**60}",
        raw([key("a", ARRAY, struct.pack("<IQ", U8, 1 << 60))]),
    ),
    "array past the end": (
        "the length of the value of 'a' at byte 41 must be small enough to end before byte 1064, got 300",
        raw([key("a", ARRAY, struct.pack("<IQ", F32, 300))], data=1000),
    ),
    "deep array": (
        "the value of 'a' at byte 85 must be nested at most 4 deep, got an array in it",
        raw([key("a", ARRAY, struct.pack("<IQ", ARRAY, 1) * 9)]),
    ),
    "the same key twice": (
        "metadata key 1 at byte 38 must be a new name, got 'a' a second time (bytes 01 00 00 00 00 00 00 00 61",
        raw([key("a", U8, b"\1"), key("a", U8, b"\2")]),
    ),
    "odd alignment": (
        "general.alignment must be a power of two up to 1048576, got 48",
        raw([key("general.alignment", U32, struct.pack("<I", 48))]),
    ),
    "no alignment": (
        "general.alignment must be a power of two up to 1048576, got 0",
        raw([key("general.alignment", U32, bytes(4))]),
    ),
    "absurd alignment": (
        "general.alignment must be a power of two up to 1048576, got 2147483648",
        raw([key("general.alignment", U32, struct.pack("<I", 1 << 31))]),
    ),
    "alignment in words": (
        "general.alignment must be int, got str '32'",
        raw([key("general.alignment", STRING, string("32"))]),
    ),
    "five dimensions": (
        "the dimensions of 't' at byte 33 must be at most 4, got 5",
        raw(rows=[row("t", (1, 1, 1, 1, 1), 0, 0)], data=4),
    ),
    "no weights": (
        "the shape of 't' at byte 37 must be of 1 to 2**63 - 1 weights, got [4, 0]",
        raw(rows=[row("t", (4, 0), 0, 0)], data=4),
    ),
    "overflowing shape": (
        f"the shape of 't' at byte 37 must be of 1 to 2**63 - 1 weights, got [{2**32}, {2**32}]",
        raw(rows=[row("t", (1 << 32, 1 << 32), 0, 0)], data=4),
    ),
    "tensor name not UTF-8": (
        "a tensor's name at byte 32 must be UTF-8, got invalid start byte",
        raw(rows=[row(b"\xff", (4,), 0, 0)], data=16),
    ),
    "the same tensor twice": (
        "a tensor's name at byte 57 must be new, got 't' a second time",
        raw(rows=[VALID_ROW, row("t", (4,), 0, 32)], data=64),
    ),
    "broken blocks": (
        "the rows of 't' at byte 24 must be whole blocks of 32 Q4_0 weights, got 48",
        raw(rows=[row("t", (48, 2), 2, 0)], data=99),
    ),
    "a scalar in blocks": (
        "the rows of 't' at byte 24 must be whole blocks of 32 Q4_0 weights, got 1",
        raw(rows=[row("t", (), 2, 0)], data=99),
    ),
    "unaligned tensor": (
        "the offset of 't' at byte 24 must be a multiple of 32, got 4",
        raw(rows=[row("t", (4,), 0, 4)], data=99),
    ),
    "tensor past the end": (
        "the data of 't' at byte 24 must be inside the file of 76 bytes, got bytes 64 to 80",
        raw(rows=[row("t", (4,), 0, 0)], data=12),
    ),
    "tensor far past the end": (
        f"the data of 't' at byte 24 must be inside the file of 80 bytes, got bytes {64 + 2**62}",
        raw(rows=[row("t", (4,), 0, 1 << 62)], data=16),
    ),
    "overlapping tensors": (
        "tensors must not overlap, got 'b' at bytes 96 to 160 and 'a' at 128 to 144",
        raw(rows=[row("a", (4,), 0, 32), row("b", (16,), 0, 0)], data=64),
    ),
    "tensors at one place": (
        "tensors must not overlap, got 'b' at bytes 96 to 100 and 'a' at 96 to 112",
        raw(rows=[row("a", (4,), 0, 0), row("b", (1,), 0, 0)], data=64),
    ),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_a_malformed_file_is_refused_at_its_offset_with_its_bytes_at_once(name):
    message, data = MALFORMED[name]
    began = time.process_time()
    found = refusal(data)
    assert time.process_time() - began < ANSWER_S
    assert found.startswith("model.gguf: ")
    assert message in found


@pytest.mark.parametrize("tells_size", [True, False])
def test_a_header_cut_at_any_byte_is_refused(small_file, tells_size):
    header_bytes = read(small_file).header_bytes
    for length in range(header_bytes):
        message = refusal(small_file[:length], tells_size=tells_size)
        assert re.search(r" at byte \d+ must be ", message), message


def test_tensor_data_cut_at_any_byte_is_refused_where_the_size_is_known(small_file):
    last = max(read(small_file).tensors.values(), key=lambda t: t.start)
    for length in range(read(small_file).header_bytes, last.start + last.nbytes):
        assert "must be inside the file" in refusal(small_file[:length])
    assert read(small_file[: last.start + last.nbytes]).tensors


def test_a_file_that_was_read_to_its_end_has_a_size_though_none_was_told():
    complete = raw(rows=[row("t", (4,), 0, 0)], data=16)
    assert read(complete, tells_size=False).size_bytes == len(complete)
    assert "must be inside the file of 79 bytes" in refusal(complete[:-1], tells_size=False)


def test_flipped_bits_end_in_a_format_error_or_a_result_and_never_in_anything_else(small_file):
    rng = random.Random(20_26)
    header_bytes = read(small_file).header_bytes
    refused = 0
    for _ in range(3_000):
        broken = bytearray(small_file)
        for _ in range(rng.choice((1, 1, 2, 8))):
            broken[rng.randrange(header_bytes)] ^= 1 << rng.randrange(8)
        began = time.process_time()
        try:
            found = read(bytes(broken), tells_size=rng.random() < 0.5)
        except FormatError:
            refused += 1
        else:
            assert found.tensors
        assert time.process_time() - began < ANSWER_S
    assert 1_000 < refused < 3_000  # flips in texts and numbers leave a valid file


def test_random_bytes_after_the_magic_number_never_end_in_anything_but_a_format_error():
    rng = random.Random(7)
    for _ in range(2_000):
        head = struct.pack("<IQQ", 3, rng.randrange(3), rng.randrange(4))
        # Small numbers are likelier to be taken for lengths and types than evenly spread ones.
        body = bytes(rng.choice((0, 0, 0, 0, 1, 4, 8, 9, rng.randrange(256))) for _ in range(rng.randrange(400)))
        try:
            read(b"GGUF" + head + body)
        except FormatError:
            continue


def _array(kind: int, count: int, items: bytes) -> bytes:
    return key("a", ARRAY, struct.pack("<IQ", kind, count) + items)


# As much as the limits allow, and a tensor past the end of the file as the very last fault.
LAST_FAULT = row("t", (4,), 0, 0)
HOSTILE = {
    "strings": lambda: raw([_array(STRING, MAX_STRINGS, string("abcdefghijklmnopqrst") * MAX_STRINGS)], [LAST_FAULT]),
    "empty strings": lambda: raw([_array(STRING, MAX_STRINGS, string("") * MAX_STRINGS)], [LAST_FAULT]),
    "truth values": lambda: raw([_array(BOOL, MAX_STRINGS, b"\1" * MAX_STRINGS)], [LAST_FAULT]),
    "arrays": lambda: raw(
        [_array(ARRAY, MAX_STRINGS // 16, struct.pack("<IQ", U8, 0) * (MAX_STRINGS // 16))], [LAST_FAULT]
    ),
    "numbers": lambda: raw([_array(U8, 60_000_000, bytes(60_000_000))], [LAST_FAULT]),
    "keys": lambda: raw([key(f"{i:05}", U8, b"\1") for i in range(MAX_ENTRIES)], [LAST_FAULT]),
    "tensors": lambda: raw(rows=[row(f"{i:05}", (8,), 0, 32 * i) for i in range(MAX_ENTRIES)]),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_fault_at_the_end_of_the_largest_header_is_found_within_two_seconds(name):
    data = HOSTILE[name]()
    began = time.process_time()  # of this process, so that a busy machine fails nothing
    assert "must be inside the file of" in refusal(data)
    assert time.process_time() - began < ANSWER_S


@pytest.mark.parametrize(
    ("kind", "item", "cost"),
    [(STRING, string(""), 1), (BOOL, b"\1", 1), (ARRAY, bytes(12), 16)],
    ids=["strings", "truth values", "arrays"],
)
def test_a_header_may_have_so_many_strings_and_no_more(kind, item, cost):
    half = MAX_STRINGS // 2 // cost
    rest = MAX_STRINGS // cost - half
    keys = [_array(kind, half, item * half), _array(kind, rest, item * rest).replace(b"a", b"b", 1)]
    assert len(read(raw(keys)).metadata["b"]) == rest
    more = raw([keys[0], _array(kind, rest + 1, item * (rest + 1)).replace(b"a", b"b", 1)])
    assert f"must be in the header's first {MAX_STRINGS} strings, got " in refusal(more)


@pytest.mark.parametrize("name", [name for name, (_, data) in MALFORMED.items() if len(data) > 24])
def test_memory_for_a_malformed_file_is_bounded_by_its_bytes_and_not_by_what_it_claims(name):
    tracemalloc.start()
    try:
        refusal(MALFORMED[name][1])
        assert tracemalloc.get_traced_memory()[1] < 2 << 20
    finally:
        tracemalloc.stop()


def test_an_endless_server_is_asked_for_no_more_than_a_header_may_be():
    asked = 0

    async def endless(start: int, nbytes: int) -> tuple[bytes, None]:
        nonlocal asked
        asked += nbytes
        head = raw([key("a", ARRAY, struct.pack("<IQ", U8, MAX_HEADER_BYTES - 60))], counts=(0, 9))[:49]
        return (head + bytes(nbytes) if start == 0 else bytes(nbytes))[:nbytes], None

    with pytest.raises(FormatError, match=f"must be in the file's first {MAX_HEADER_BYTES} bytes"):
        asyncio.run(read_gguf(endless))
    assert asked == MAX_HEADER_BYTES
