"""Manifests of converted checkpoints: what is wrong is named, and ranges are checked against hashes."""

from __future__ import annotations

import asyncio
import copy
import hashlib
import re
from typing import Any

import pytest

from tests.formats.files import reader
from webxpu.errors import FormatError
from webxpu.formats.converted import ChunkHashes, is_manifest, read_manifest, verified

A, B = "a" * 64, "b" * 64
GOOD: dict[str, Any] = {
    "format": "webxpu checkpoint",
    "version": 1,
    "chunk_bytes": 1024,
    "config": {"model_type": "llama"},
    "files": {"weights.bin": {"bytes": 1500, "sha256": [A, B]}, "tokenizer.json": {"bytes": 0, "sha256": []}},
    "tensors": {
        "w": {"type": "q8", "shape": [3, 20], "start": 256},
        "g": {"type": "f32", "shape": [20], "start": 512},
    },
}


def changed(**changes: Any) -> dict[str, Any]:
    """GOOD with values at paths, `__` between keys; None takes a key away."""
    made = copy.deepcopy(GOOD)
    for path, value in changes.items():
        *outer, last = path.replace("_bin", ".bin").split("__")
        place = made
        for key in outer:
            place = place[key]
        if value is None:
            del place[last]
        else:
            place[last] = value
    return made


def test_a_manifest_is_read() -> None:
    assert is_manifest(GOOD)
    assert not is_manifest({"format": "other"})
    found = read_manifest(GOOD)
    assert found.hashes["weights.bin"] == ChunkHashes(1500, 1024, (A, B))
    w = found.tensors["w"]
    assert (w.type, w.shape, w.start, w.nbytes, w.file) == ("q8", (3, 20), 256, 3 * (32 + 4), "weights.bin")
    assert found.tensors["g"].nbytes == 80
    assert (found.config, found.generation, found.metadata) == ({"model_type": "llama"}, None, None)
    metadata = changed(config=None, metadata="m.gguf", files__m={"bytes": 0, "sha256": []})
    metadata["files"]["m.gguf"] = metadata["files"].pop("m")
    assert read_manifest(metadata).metadata == "m.gguf"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"version": 2}, "version must be 1, got 2"),
        ({"version": None}, "version must be 1, got None"),
        ({"version": True}, "version must be 1, got True"),
        ({"chunk_bytes": 0}, "chunk_bytes must be 1 to 67108864, got 0"),
        ({"chunk_bytes": (64 << 20) + 1}, "chunk_bytes must be 1 to 67108864, got 67108865"),
        ({"chunk_bytes": True}, "chunk_bytes must be 1 to 67108864, got True"),
        ({"files": {}}, "files must be an object that is not empty, got '{}'"),
        ({"tensors": []}, "tensors must be an object that is not empty, got '[]'"),
        ({"config": None}, "one of config and metadata must be there, got neither"),
        ({"metadata": "weights.bin"}, "one of config and metadata must be there, got both"),
        ({"metadata": ["weights.bin"]}, "metadata must be one of the files, got \"['weights.bin']\""),
        ({"metadata": "else"}, "metadata must be one of the files, got 'else'"),
        ({"config": 5}, "config must be an object, got '5'"),
        ({"generation": [1]}, "generation must be an object, got '[1]'"),
        ({"files__weights_bin": 5}, "files 'weights.bin' must have bytes and a list sha256, got '5'"),
        ({"files__weights_bin__bytes": -1}, "files 'weights.bin' must have bytes and a list sha256"),
        ({"files__weights_bin__bytes": 2049}, "must have 3 hashes of 64 hexadecimal digits for 2049 bytes, got 2"),
        ({"files__weights_bin__sha256": [A, "x"]}, "must have 2 hashes of 64 hexadecimal digits"),
        ({"files__weights_bin": None}, "files must have 'weights.bin', got tokenizer.json"),
        ({"tensors__w__type": "q9"}, "tensor 'w' must have a type of f32, f16"),
        ({"tensors__w__type": ["q8"]}, "tensor 'w' must have a type of f32, f16"),
        ({"tensors__w__extra": 1}, "tensor 'w' must be an object of type, shape and start"),
        ({"tensors__w": 1}, "tensor 'w' must be an object of type, shape and start, got '1'"),
        ({"tensors__w__shape": [3, 0]}, "tensor 'w' must have a shape of 1 to 4 whole numbers, got '[3, 0]'"),
        ({"tensors__w__shape": [1 << 30, 1 << 30]}, "tensor 'w' must have a shape of 1 to 4 whole numbers"),
        ({"tensors__w__shape": []}, "tensor 'w' must have a shape of 1 to 4 whole numbers, got '[]'"),
        ({"tensors__w__shape": [3, 21]}, "tensor 'w' must have rows of a multiple of 4 for q8, got 21"),
        ({"tensors__w__start": 4}, "tensor 'w' must start at a multiple of 256 with 108 bytes before byte 1500, got 4"),
        ({"tensors__g__start": 1536}, "tensor 'g' must start at a multiple of 256 with 80 bytes before byte 1500"),
        ({"tensors__w__start": -256}, "tensor 'w' must start at a multiple of 256"),
        ({"tensors__g__start": 256}, "tensors must not overlap, got 'w' to byte 364, 'g' at 256"),
    ],
)
def test_what_is_wrong_is_named(changes: dict[str, Any], message: str) -> None:
    if message.startswith("tensors must not overlap"):
        message = message.replace("'w' to byte 364, 'g' at 256", "")
    with pytest.raises(FormatError, match=rf"^manifest\.json: .*{re.escape(message)}"):
        read_manifest(changed(**changes))


@pytest.mark.parametrize(
    "name", ["../x", "a/b", "", "..", "c:d", "manifest.json", "a?b", "a#b", "a%2fb", ".\t.", ".. ", "\x00"]
)
def test_a_file_is_named_and_never_reached_by_a_path(name: str) -> None:
    made = copy.deepcopy(GOOD)
    made["files"][name] = {"bytes": 0, "sha256": []}
    with pytest.raises(FormatError, match=r"must be the name of a file of this folder$"):
        read_manifest(made)


def test_ranges_are_read_by_whole_chunks_and_given_out_only_where_the_hash_is_right() -> None:
    data = bytes(range(250))
    sums = tuple(hashlib.sha256(data[at : at + 100]).hexdigest() for at in range(0, 250, 100))
    hashes = ChunkHashes(250, 100, sums)
    requests: list[tuple[int, int]] = []
    read = verified(reader(data, requests=requests), "f", hashes)
    for start, nbytes in ((0, 250), (0, 1), (99, 2), (120, 30), (240, 100), (250, 5), (400, 5), (0, 1000)):
        assert asyncio.run(read(start, nbytes)) == (data[start : start + nbytes], 250)
    assert all(start % 100 == 0 for start, _ in requests)
    broken = bytearray(data)
    broken[130] ^= 4
    read = verified(reader(bytes(broken)), "f", hashes)
    assert asyncio.run(read(0, 100)) == (data[:100], 250)
    assert asyncio.run(read(200, 50)) == (data[200:], 250)
    with pytest.raises(FormatError, match=r"^f: the 100 bytes at byte 100 must be of sha256 "):
        asyncio.run(read(199, 1))
    with pytest.raises(FormatError, match=r"^f: the 20 bytes at byte 200 must be of sha256 "):
        asyncio.run(verified(reader(data[:220]), "f", hashes)(200, 10))
