"""The types of the key/value cache: shapes, what is stored, what comes back."""

import numpy as np
import pytest

from webxpu.errors import ShapeError, Unsupported
from webxpu.gpu.plan import Spec
from webxpu.quant.kv import KV_TYPES, kv_of, kv_spec, pack_blocks, restored, stored, unpack_blocks, width_of

# Codes and values of this block are bitgpu 0.19.1's (MIT): 0.1, -0.5, 1.25, -2.0, then 28 times 0.01.
BLOCK = np.float32([0.1, -0.5, 1.25, -2.0, *[0.01] * 28])


def test_a_block_is_its_largest_magnitude_and_signed_bytes_with_ties_up():
    words = pack_blocks(BLOCK)
    assert words.shape == (9,)
    assert words[:1].view(np.float32)[0] == 2.0
    assert words[1:].view(np.int8).tolist() == [6, -32, 79, -127, *[1] * 28]
    # In a word the first byte is the lowest.
    assert words[1] == 6 | (256 - 32) << 8 | 79 << 16 | (256 - 127) << 24
    np.testing.assert_allclose(
        unpack_blocks(words)[:5], [0.09448819, -0.50393701, 1.24409449, -2.0, 0.01574803], rtol=1e-6
    )


def test_a_tie_between_two_codes_goes_up():
    block = np.zeros(32, np.float32)
    block[:3] = 256, 128, -128  # 127 * 128 / 256 is 63.5
    assert pack_blocks(block)[1:].view(np.int8)[:3].tolist() == [127, 64, -63]


def test_zeros_have_a_scale_that_can_divide_and_come_back_as_zeros():
    words = pack_blocks(np.zeros((2, 32), np.float32))
    assert (words[:, 0].view(np.float32) == np.float32(1e-30)).all()
    assert not unpack_blocks(words).any()


def test_a_code_of_minus_128_reads_as_minus_one():
    words = pack_blocks(BLOCK)
    words[1] = 0x80
    assert unpack_blocks(words)[0] == -2.0


def test_blocks_do_not_share_a_scale():
    rows = np.stack([np.linspace(-1, 1, 64), np.linspace(-50, 3, 64)]).astype(np.float32)
    back = unpack_blocks(pack_blocks(rows))
    largest = np.abs(rows).reshape(2, 2, 32).max(axis=-1)
    error = np.abs(back - rows).reshape(2, 2, 32).max(axis=-1)
    assert (error <= largest / 254 * 1.0001).all()
    assert (error > 0).all()


@pytest.mark.parametrize(
    ("kv", "shape", "dtype"),
    [("f32", (5, 2, 64, 3, 64), "float32"), ("f16", (5, 2, 64, 3, 64), "float16"), ("q8", (5, 2, 64, 3, 18), "uint32")],
)
def test_a_cache_is_known_by_its_dtype_and_rows_come_back(kv, shape, dtype):
    spec = kv_spec(kv, 5, 3, 64)
    assert spec == Spec(shape, dtype)
    assert (kv_of(spec), width_of(spec)) == (kv, 64)
    rows = np.linspace(-3, 3, 2 * 3 * 64, dtype=np.float32).reshape(2, 3, 64)
    kept = stored(rows, spec.dtype)
    assert (kept.dtype, kept.shape) == (dtype, (2, *shape[3:]))
    back = restored(kept)
    assert back.dtype == np.float32
    np.testing.assert_allclose(back, rows, rtol=5e-4 if kv == "f16" else 1e-7, atol=3 / 250 if kv == "q8" else 0)
    np.testing.assert_array_equal(stored(back, spec.dtype), kept)


def test_each_type_takes_its_bytes():
    nbytes = {kv: kv_spec(kv, 1, 1, 128).nbytes for kv in KV_TYPES}
    assert nbytes == {"f32": 65_536, "f16": 32_768, "q8": 18_432}


@pytest.mark.parametrize(("kv", "d", "multiple"), [("f16", 7, 2), ("q8", 48, 32), ("q8", 80, 32)])
def test_a_width_that_a_type_cannot_hold_is_not_supported(kv, d, multiple):
    text = rf"^kv_spec: a {kv} cache needs heads of a width that is a multiple of {multiple}, got {d}$"
    with pytest.raises(Unsupported, match=text):
        kv_spec(kv, 1, 1, d)


def test_types_that_do_not_exist_are_named():
    with pytest.raises(ShapeError, match=r"^kv_spec: kv must be one of f32, f16, q8, got 'q4'$"):
        kv_spec("q4", 1, 1, 64)
    with pytest.raises(ShapeError, match=r"^kv_of: cache must be of dtype float32, float16, uint32, got int32\[3\]$"):
        kv_of(Spec((3,), "int32"))
