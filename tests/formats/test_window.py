"""Small files are read whole, in few requests and never past the most that they may have."""

from __future__ import annotations

import asyncio

import pytest

from tests.formats.files import reader
from webxpu.errors import FormatError
from webxpu.formats.file_names import is_neighbour
from webxpu.formats.window import FIRST_READ_BYTES, read_whole

F = FIRST_READ_BYTES
MOST = 5 * F + 7


@pytest.mark.parametrize("tells_size", [True, False])
@pytest.mark.parametrize("size", [0, 1, F - 1, F, F + 1, 3 * F, MOST])
def test_all_bytes_of_a_file_are_read(size: int, tells_size: bool) -> None:
    data, requests = bytes(range(251)) * (size // 251 + 1), []
    read = reader(data[:size], tells_size=tells_size, requests=requests)
    assert asyncio.run(read_whole(read, "f", MOST)) == data[:size]
    assert len(requests) <= 3
    assert all(start + nbytes <= MOST + 1 for start, nbytes in requests)


@pytest.mark.parametrize("tells_size", [True, False])
@pytest.mark.parametrize("most", [0, 1, F - 1, F, 2 * F])
def test_a_longer_file_is_refused(most: int, tells_size: bool) -> None:
    read = reader(bytes(most + 1), tells_size=tells_size)
    with pytest.raises(FormatError, match=rf"^f: must be at most {most} bytes long, got {most + 1}$"):
        asyncio.run(read_whole(read, "f", most))


def test_a_size_that_is_too_small_ends_the_file() -> None:
    async def read(start: int, nbytes: int) -> tuple[bytes, int]:
        assert nbytes > 0
        return bytes(nbytes), 10

    assert len(asyncio.run(read_whole(read, "f", MOST))) == F


@pytest.mark.parametrize("name", ["a", "a b.bin", "é.bin", "..a", "a..", ".a"])
def test_a_neighbour_has_a_plain_name(name: str) -> None:
    assert is_neighbour(name)


@pytest.mark.parametrize(
    "name", ["", ".", "..", " .. ", "../a", "a/b", "a\\b", "c:a", "a?b", "a#b", "a%2fb", ".\t.", "a\n", "\x7f", 5, None]
)  # fmt: skip
def test_a_path_or_an_address_is_no_neighbour(name: object) -> None:
    assert not is_neighbour(name)
