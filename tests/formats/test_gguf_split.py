"""A model in several files: one table, each tensor with the file it lies in."""

from __future__ import annotations

import asyncio
import re
import struct

import pytest

from tests.formats.files import key, raw, reader, row
from webxpu.errors import FormatError, Unsupported
from webxpu.formats.gguf import read_gguf

U16, I32 = 2, 5


def part(number: int, count: int, names: str, total: int | None = None) -> bytes:
    """A part with tensors of one weight each."""
    keys = [key("split.no", U16, struct.pack("<H", number)), key("split.count", U16, struct.pack("<H", count))]
    if total is not None:
        keys.append(key("split.tensors.count", I32, struct.pack("<i", total)))
    return raw(keys, [row(name, (1,), 0, 32 * i) for i, name in enumerate(names)], data=32 * len(names))


def name_of(number: int, count: int) -> str:
    return f"some-00001-model-{number + 1:05}-of-{count:05}.gguf"


def read_parts(files: dict[str, bytes], name: str | None = None, opened: list[str] | None = None):
    def open_part(part_name: str):
        if opened is not None:
            opened.append(part_name)
        return reader(files[part_name])

    name = name or next(iter(files))
    return asyncio.run(read_gguf(reader(files[name]), name=name, open_part=open_part))


def three(**changed: bytes) -> dict[str, bytes]:
    parts = {"first": part(0, 3, "ab", 4), "second": part(1, 3, ""), "third": part(2, 3, "cd"), **changed}
    return {name_of(number, 3): data for number, data in enumerate(parts.values())}


def test_the_parts_of_a_model_make_one_table_that_names_their_files():
    opened: list[str] = []
    found = read_parts(three(), opened=opened)
    assert {name: info.file for name, info in found.tensors.items()} == {
        "a": name_of(0, 3),
        "b": name_of(0, 3),
        "c": name_of(2, 3),
        "d": name_of(2, 3),
    }
    assert found.parts == tuple(name_of(number, 3) for number in range(3))
    assert opened == list(found.parts[1:])
    alone = asyncio.run(read_gguf(reader(part(0, 1, "cd")), name="alone.gguf"))
    assert found.tensors["d"].start == alone.tensors["d"].start  # counted from the beginning of its own file


def test_a_file_that_says_it_is_the_only_part_needs_no_special_name():
    found = asyncio.run(read_gguf(reader(part(0, 1, "ab")), name="model.gguf"))
    assert (found.parts, len(found.tensors)) == ((), 2)


@pytest.mark.parametrize(
    ("files", "name", "message"),
    [
        (three(), name_of(1, 3), "a model in parts must be opened by its first, some-00001-model-00001-of-00003.gguf"),
        (
            {"model.gguf": part(0, 3, "ab")},
            None,
            "model.gguf: the name of a model in 3 parts must end in -00001-of-00003.gguf",
        ),
        (
            {name_of(0, 4): part(0, 3, "ab")},
            None,
            "the name of a model in 3 parts must end in -00001-of-00003.gguf",
        ),
        (
            three(second=part(2, 3, "x")),
            None,
            "some-00001-model-00002-of-00003.gguf: split.no, split.count must be (1, 3), got (2, 3)",
        ),
        (
            three(third=part(2, 4, "cd")),
            None,
            "some-00001-model-00003-of-00003.gguf: split.no, split.count must be (2, 3), got (2, 4)",
        ),
        (three(second=raw()), None, "00002-of-00003.gguf: the metadata key 'split.no' is missing"),
        (three(third=part(2, 3, "cb")), None, "00003-of-00003.gguf: tensor 'b' is in another part too"),
        (three(third=part(2, 3, "c")), None, "split.tensors.count must be 3, as many as there are, got 4"),
        (three(third=part(2, 3, "cd")[:-32]), None, "00003-of-00003.gguf: the data of 'd' at byte"),
        (three(third=b"GGUF"), None, "00003-of-00003.gguf: the version at byte 4 must be complete"),
    ],
)
def test_parts_that_do_not_belong_together_are_refused(files, name, message):
    with pytest.raises(FormatError, match=re.escape(message)):
        read_parts(files, name)


def test_a_source_that_cannot_open_other_files_is_told_which_one_is_missing():
    files = three()
    with pytest.raises(Unsupported, match=r"is part 1 of 3; its source gives no way to open .*-00002-of-00003\.gguf$"):
        asyncio.run(read_gguf(reader(files[name_of(0, 3)]), name=name_of(0, 3)))
