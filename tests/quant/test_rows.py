"""Weights in planes of rows: the layout by hand, and the values of the two formats that they are made of."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from webxpu.cases.case import block_weight, uniform
from webxpu.errors import ShapeError
from webxpu.quant.ggml import Blocks, dequantize, is_block_type, nbytes, row_nbytes, stored_nbytes, to_stored
from webxpu.quant.q4g128 import dequantize_q4g128, pack_q4, quantize_q4g128
from webxpu.quant.q8 import dequantize_q8, pack_q8, quantize_rows
from webxpu.quant.rows import ROW_TYPES, joined, planes, quantize_to, stacked


def test_a_q8_row_is_codes_filled_up_to_16_bytes_and_a_scale_behind_all_rows() -> None:
    # Two rows of four codes: 1 -2 127 -127, scale 0.5; -1 0 0 3, scale -2.
    data = bytes([1, 254, 127, 129, *bytes(12), 255, 0, 0, 3, *bytes(12)]) + struct.pack("<2f", 0.5, -2.0)
    blocks = Blocks("q8", (2, 4), np.frombuffer(data, np.uint8))
    assert dequantize(blocks).tolist() == [[0.5, -1.0, 63.5, -63.5], [2.0, 0.0, 0.0, -6.0]]
    assert dequantize(blocks.rows(np.array([1, 1, 0]))).tolist() == [
        [2.0, 0.0, 0.0, -6.0], [2.0, 0.0, 0.0, -6.0], [0.5, -1.0, 63.5, -63.5],
    ]  # fmt: skip


def test_a_q4g128_row_is_nibbles_lowest_first_and_a_scale_every_128_columns() -> None:
    # 132 columns: -8 .. 7 in the first 16, the rest 0 but for the last one, 5, which the second scale is for.
    codes = np.zeros(80, np.uint8)
    codes[:8] = [(8 + 2 * i & 15) | (9 + 2 * i & 15) << 4 for i in range(8)]
    codes[65] = 5 << 4
    data = np.frombuffer(codes.tobytes() + struct.pack("<2f", 0.25, 3.0), np.uint8)
    row = dequantize(Blocks("q4g128", (1, 132), data))[0]
    assert row[:16].tolist() == [0.25 * i for i in range(-8, 8)]
    assert np.flatnonzero(row[16:]).tolist() == [131 - 16]
    assert row[131] == 15.0


def test_a_q1g128_bit_is_the_sign_lowest_first() -> None:
    data = np.frombuffer(bytes([0b101, *bytes(15), *bytes(16)]) + struct.pack("<2f", 2.0, -0.5), np.uint8)
    row = dequantize(Blocks("q1g128", (1, 256), data))[0]
    assert row[:4].tolist() == [2.0, -2.0, 2.0, -2.0]
    assert (row[4:128] == -2).all()
    assert (row[128:] == 0.5).all()


@pytest.mark.parametrize("k", [4, 16, 20, 48, 128, 132, 300])
def test_the_values_are_those_of_the_formats_that_come_in_two_arrays(k: int) -> None:
    weight = uniform((5, k), seed=k, amp=3)
    for name, theirs in {
        "q8": lambda: dequantize_q8(pack_q8((c := quantize_rows(weight))[0]), c[1], k),
        "q4g128": lambda: dequantize_q4g128(pack_q4((c := quantize_q4g128(weight))[0]), c[1], k),
    }.items():
        ours = dequantize(Blocks(name, (5, k), joined(*quantize_to(name, weight))))
        np.testing.assert_array_equal(ours, theirs().astype(np.float32))


@pytest.mark.parametrize("name", ROW_TYPES)
def test_sizes_stacking_and_rows_agree(name: str) -> None:
    kind, k = ROW_TYPES[name], 384
    blocks = block_weight(name, (7, k), seed=2)
    assert is_block_type(name)
    assert nbytes(name, (7, k)) == blocks.data.size == 7 * (kind.code_bytes(k) + kind.scale_bytes(k))
    assert row_nbytes(name, k) is None
    stored = to_stored(blocks)
    assert len(stored) == stored_nbytes(name, (7, k)) == -(-blocks.data.size // 16) * 16
    assert stored[: blocks.data.size].tobytes() == blocks.data.tobytes()
    parts = [blocks.rows(np.arange(a, b)).data for a, b in ((0, 2), (2, 3), (3, 7))]
    np.testing.assert_array_equal(stacked(name, k, parts), blocks.data)
    codes, scales = planes(name, (7, k), blocks.data)
    np.testing.assert_array_equal(joined(codes, scales), blocks.data)
    experts = Blocks(name, (7, 1, k), blocks.data)
    np.testing.assert_array_equal(dequantize(experts.rows(np.array([4]))), dequantize(blocks)[4][None, None])


@pytest.mark.parametrize(("name", "k"), [("q8", 6), ("q4g128", 2), ("q1g128", 64)])
def test_a_row_that_kernels_could_not_read_is_refused(name: str, k: int) -> None:
    with pytest.raises(
        ShapeError, match=rf"^Blocks: K must be a multiple of \d+ for {name}, got the shape \[2, {k}\]$"
    ):
        nbytes(name, (2, k))
