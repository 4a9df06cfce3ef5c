"""The safetensors reader against the `safetensors` package, at random: equal tables, and what it refuses is refused."""

import asyncio
import json
import random

import numpy as np
import pytest
import torch
from safetensors import SafetensorError, deserialize
from safetensors.numpy import save
from safetensors.torch import save as save_torch

from tests.formats.files import reader
from tests.formats.test_safetensors import MALFORMED, entry, file_of
from webxpu.errors import FormatError
from webxpu.formats.safetensors import DTYPE_BITS, read_safetensors

FILES, MUTATIONS = 40, 4_000
DTYPES = ["f8", "f4", "f2", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1", "?", "c8"]
# What the package reads though its meaning is open: a name twice (its format document forbids it), other keys in an
# entry, an entry that is an array of its three fields, and shapes that no tensor has.
STRICTER = (
    "without a name twice",
    "an object of dtype, shape and data_offsets",
    "at most 8 whole numbers",
    "less than 2**56 elements",
)


def read(data):
    return asyncio.run(read_safetensors(reader(data)))


def written(rng):
    """A file of the package's own, and what it is made of."""
    arrays = {}
    for i in range(int(rng.integers(0, 9))):
        shape = tuple(rng.integers(0 if rng.random() < 0.1 else 1, 6, int(rng.integers(0, 5))).tolist())
        arrays[f"blöck \n.{i}\"\\'"] = np.asarray(rng.standard_normal(shape) * 50).astype(rng.choice(DTYPES))
    metadata = {"é": "ü\n", "format": "np"} if rng.random() < 0.5 else None
    return arrays, metadata, save(arrays, metadata)


def test_random_files_of_the_package_read_equal(rng):
    for _ in range(FILES):
        arrays, metadata, data = written(rng)
        found = read(data)
        assert found.metadata == (metadata or {})
        assert found.tensors.keys() == arrays.keys()
        theirs = {name: (tensor["dtype"], bytes(tensor["data"])) for name, tensor in deserialize(data)}
        for name, info in found.tensors.items():
            assert info.shape == arrays[name].shape
            assert (info.type.upper(), data[info.start : info.start + info.nbytes]) == theirs[name]


def test_bfloat16_of_torch_reads_equal():
    data = save_torch({"a": torch.arange(6, dtype=torch.bfloat16).reshape(2, 3)})
    info = read(data).tensor("a")
    assert (info.type, info.shape) == ("bf16", (2, 3))
    bits = np.frombuffer(data, np.uint16, 6, info.start).astype(np.uint32) << 16
    assert bits.view(np.float32).tolist() == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize("dtype", DTYPE_BITS)
def test_each_type_has_the_packages_number_of_bits(dtype):
    bits = DTYPE_BITS[dtype]
    for nbytes in (4, 6, 8, 16, 32, 64, 128):
        data = file_of({"a": entry(0, nbytes, [8], dtype)}, nbytes)
        if nbytes == bits:
            assert deserialize(data)[0][1]["dtype"] == dtype
        else:
            with pytest.raises(SafetensorError):
                deserialize(data)


def refused_by(package_reads, data):
    try:
        package_reads(data)
    except (FormatError, SafetensorError) as e:
        return str(e)
    return ""


@pytest.mark.parametrize("name", MALFORMED)
def test_what_is_refused_here_the_package_refuses_too_but_where_the_reader_is_stricter(name):
    _, data = MALFORMED[name]
    stricter = any(rule in refused_by(read, data) for rule in STRICTER)
    assert refused_by(deserialize, data) or stricter


def test_random_mutations_are_refused_where_the_package_refuses_them(rng):
    """Flips of bits, changes of digits and characters that mean something, cuts and insertions."""
    random_ = random.Random(int(rng.integers(1 << 62)))
    both = refused = 0
    for _ in range(MUTATIONS):
        _, _, data = written(rng)
        broken = bytearray(data)
        header_end = 8 + int.from_bytes(data[:8], "little")
        for _ in range(random_.choice((1, 1, 2))):
            at = random_.randrange(min(header_end, len(broken)))
            match random_.randrange(4):
                case 0:
                    broken[at] ^= 1 << random_.randrange(8)
                case 1:
                    broken[at] = random_.choice(b'0123456789[]{},:"\\-.e \n\0')
                case 2:
                    del broken[at : at + random_.randrange(1, 9)]
                case 3:
                    broken[at:at] = random_.choice((b"0", b"-", b",", b"[", b'"', b"\xff", b"1e3", b"\\u0041", b"null"))
        if random_.random() < 0.5:  # a length that fits again lets more of them reach the JSON
            length = header_end + len(broken) - len(data) - 8
            broken[:8] = max(0, length).to_bytes(8, "little")
        ours, theirs = refused_by(read, bytes(broken)), refused_by(deserialize, bytes(broken))
        shown = f"\nours: {ours}\ntheirs: {theirs}\n{json.dumps(bytes(broken[8:header_end]).decode('latin-1'))}"
        assert ours or not theirs, shown
        assert theirs or not ours or any(rule in ours for rule in STRICTER), shown
        both += not ours
        refused += bool(theirs)
    assert both > MUTATIONS / 50
    assert refused > MUTATIONS / 2
