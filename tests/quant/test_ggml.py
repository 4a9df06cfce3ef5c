"""GGML block types against the `gguf` package (0.19.0), bit for bit, and the bytes that kernels read.

Q1_0, which that package does not dequantise, is held to libgguf by the goldens (tests/goldens/block_ops.py).
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from gguf import GGMLQuantizationType
from gguf.constants import GGML_QUANT_SIZES
from gguf.quants import dequantize as gguf_dequantize
from gguf.quants import quantize as gguf_quantize

from webxpu.cases.case import FEW_CASES
from webxpu.errors import ShapeError
from webxpu.quant.ggml import (
    BLOCK_TYPES,
    WEIGHT_TYPES,
    Blocks,
    dequantize,
    is_block_type,
    nbytes,
    stored_nbytes,
    to_stored,
)

TYPES = sorted(BLOCK_TYPES)
# The gguf package quantises none of these.
K_QUANTS = ("q2_k", "q3_k", "q4_k", "q5_k", "q6_k", "q1_0")
GOLDENS = Path(__file__).parent.parent / "goldens" / "block_ops.npz"


def gguf_type(name: str) -> GGMLQuantizationType:
    return GGMLQuantizationType[name.upper()]


def f16(value: float) -> bytes:
    return np.float16(value).tobytes()


def random_bytes(name: str, shape: tuple[int, ...], seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, nbytes(name, shape), np.uint8)


def same_bits(ours: np.ndarray, theirs: np.ndarray) -> None:
    assert ours.dtype == theirs.dtype == np.float32
    assert ours.shape == theirs.shape
    np.testing.assert_array_equal(ours.view(np.uint32), theirs.view(np.uint32))


@pytest.mark.parametrize("name", TYPES)
def test_block_sizes_are_the_gguf_package_s(name):
    assert (BLOCK_TYPES[name].elements, BLOCK_TYPES[name].nbytes) == GGML_QUANT_SIZES[gguf_type(name)]


@pytest.mark.parametrize("name", sorted(set(TYPES) - set(K_QUANTS)))
def test_quantised_weights_dequantise_to_the_same_bits_as_in_the_gguf_package(name):
    k = max(96, BLOCK_TYPES[name].elements)
    weights = (np.random.default_rng(3).standard_normal((7, k)) * 10.0 ** np.arange(-3, 4)[:, None]).astype(np.float32)
    packed = gguf_quantize(weights, gguf_type(name))
    blocks = Blocks(name, weights.shape, packed.view(np.uint8).reshape(-1))
    same_bits(dequantize(blocks), gguf_dequantize(packed, gguf_type(name)))


@pytest.mark.parametrize("name", FEW_CASES)
def test_real_weights_dequantise_to_the_same_bits_as_in_libgguf(name):
    with np.load(GOLDENS) as golden:
        data, values = golden[f"blocks.{name}.data"], golden[f"blocks.{name}.values"]
    assert np.abs(values).max() > 0.01
    same_bits(dequantize(Blocks(name, (4, 256), data.reshape(-1))), values)


@pytest.mark.parametrize("name", sorted(set(TYPES) - {"q1_0"}))
def test_any_bytes_dequantise_to_the_same_bits_as_in_the_gguf_package(name):
    """Scales of every kind come up: subnormal, infinite, not a number, negative zero."""
    data = random_bytes(name, (512, 256), seed=4)
    with np.errstate(invalid="ignore", over="ignore"):
        theirs = gguf_dequantize(data.reshape(512, -1), gguf_type(name))
        same_bits(dequantize(Blocks(name, (512, 256), data)), theirs.reshape(512, 256))


def test_a_q1_0_block_is_a_scale_and_128_signs():
    signs = bytes([0b10010110] + [0] * 7 + [0xFF] * 8)
    row = dequantize(Blocks("q1_0", (1, 128), np.frombuffer(f16(0.5) + signs, np.uint8)))[0]
    assert (row[:8] * 2).tolist() == [-1, 1, 1, -1, 1, -1, -1, 1]
    assert (row[8:64] * 2).tolist() == [-1] * 56
    assert (row[64:] * 2).tolist() == [1] * 64


def test_a_q8_0_block_is_a_scale_and_32_signed_codes():
    codes = np.arange(-16, 16, dtype=np.int8)
    block = np.frombuffer(f16(0.5) + codes.tobytes(), np.uint8)
    np.testing.assert_array_equal(dequantize(Blocks("q8_0", (1, 32), block))[0], codes * np.float32(0.5))


@pytest.mark.parametrize(
    ("name", "scales", "first", "last"),
    [("q4_0", (2.0,), [-16, -14], [12, 14]), ("q4_1", (2.0, 0.25), [0.25, 2.25], [28.25, 30.25])],
)
def test_a_byte_of_nibbles_holds_weight_j_low_and_weight_j_plus_16_high(name, scales, first, last):
    low, high = np.arange(16), np.arange(15, -1, -1)  # codes of weights 0..15 and 16..31
    block = np.frombuffer(b"".join(map(f16, scales)) + (low | high << 4).astype(np.uint8).tobytes(), np.uint8)
    row = dequantize(Blocks(name, (1, 32), block))[0]
    assert row[:2].tolist() == first
    assert row[14:16].tolist() == last
    assert row[:16].tolist() == row[:15:-1].tolist()


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("blocks_a_row", [(1, 1), (3, 1), (5, 3), (16, 2), (2, 3, 1)])
def test_the_stored_form_has_its_promised_size_and_loses_nothing(name, blocks_a_row):
    shape = (*blocks_a_row[:-1], blocks_a_row[-1] * max(32, BLOCK_TYPES[name].elements))
    blocks = Blocks(name, shape, random_bytes(name, shape, seed=5))
    stored = to_stored(blocks)
    assert stored.nbytes == stored_nbytes(name, shape)
    assert stored.nbytes % (16 if BLOCK_TYPES[name].planes else 4) == 0
    if not BLOCK_TYPES[name].planes:
        np.testing.assert_array_equal(stored[: blocks.data.nbytes], blocks.data)
        assert not stored[blocks.data.nbytes :].any()
        return
    code_bytes = BLOCK_TYPES[name].nbytes - 2
    count = blocks.data.nbytes // BLOCK_TYPES[name].nbytes
    scales_at = -(-count * code_bytes // 16) * 16
    codes = stored[: count * code_bytes].reshape(count, code_bytes)
    scales = stored[scales_at : scales_at + 2 * count].reshape(count, 2)
    at = BLOCK_TYPES[name].halves[0]
    whole = np.concatenate([codes[:, :at], scales, codes[:, at:]], axis=1)
    np.testing.assert_array_equal(whole.reshape(-1), blocks.data)
    assert not stored[count * code_bytes : scales_at].any()
    assert not stored[scales_at + 2 * count :].any()


def test_planes_lie_codes_first_and_scales_after():
    q8_0 = np.frombuffer(b"".join(f16(s) + bytes([c] * 32) for s, c in ((1.0, 7), (2.0, 9), (4.0, 11))), np.uint8)
    stored = to_stored(Blocks("q8_0", (3, 32), q8_0))
    assert stored.tobytes() == bytes([7] * 32 + [9] * 32 + [11] * 32) + f16(1.0) + f16(2.0) + f16(4.0) + bytes(10)
    q4_0 = np.frombuffer(f16(1.0) + bytes(range(16)), np.uint8)
    assert to_stored(Blocks("q4_0", (1, 32), q4_0)).tobytes() == bytes(range(16)) + f16(1.0) + bytes(14)
    tq2_0 = np.frombuffer(bytes([7] * 64) + f16(1.0) + bytes([9] * 64) + f16(2.0), np.uint8)
    stored = to_stored(Blocks("tq2_0", (1, 512), tq2_0))
    assert stored.tobytes() == bytes([7] * 64 + [9] * 64) + f16(1.0) + f16(2.0) + bytes(12)


def test_a_row_of_half_floats_is_padded_to_a_whole_word():
    half = np.frombuffer(f16(1.0) + f16(2.0) + f16(3.0), np.uint8)
    assert to_stored(Blocks("f16", (1, 3), half)).tobytes() == half.tobytes() + bytes(2)
    assert stored_nbytes("f16", (1, 3)) == 8


@pytest.mark.parametrize("name", TYPES)
def test_rows_are_picked_without_being_unpacked(name):
    blocks = Blocks(name, (9, 256), random_bytes(name, (9, 256), seed=6))
    picked = blocks.rows(np.array([8, 0, 8, 3]))
    assert (picked.type, picked.shape) == (name, (4, 256))
    np.testing.assert_array_equal(picked.data.reshape(4, -1), blocks.data.reshape(9, -1)[[8, 0, 8, 3]])


def test_only_weights_in_blocks_are_block_types():
    assert all(map(is_block_type, TYPES))
    assert not any(map(is_block_type, ("float32", "f32", "iq4_xs", "int32", "")))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: Blocks("q4_0", (2, 33), np.zeros(36, np.uint8)),
            "Blocks: K must be a multiple of 32 for q4_0, got the shape [2, 33]",
        ),
        (lambda: nbytes("q8_0", ()), "Blocks: K must be a multiple of 32 for q8_0, got the shape []"),
        (
            lambda: Blocks("q4_0", (2, 32), np.zeros(35, np.uint8)),
            "Blocks: data must hold 36 bytes for q4_0[2, 32], got 35",
        ),
        (lambda: nbytes("q8_1", (2, 256)), f"Blocks: type must be one of {', '.join(WEIGHT_TYPES)}, got 'q8_1'"),
        (lambda: nbytes("q4_k", (2, 288)), "Blocks: K must be a multiple of 256 for q4_k, got the shape [2, 288]"),
    ],
)
def test_weights_that_are_no_whole_blocks_are_refused(make, message):
    with pytest.raises(ShapeError, match=f"^{re.escape(message)}$"):
        make()
