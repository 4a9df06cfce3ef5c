"""8-bit rows: which way ties go, which bits a code lands in, and what is refused."""

from __future__ import annotations

import re

import numpy as np
import pytest

from webxpu.errors import ShapeError
from webxpu.quant.q8 import dequantize_q8, pack_q8, quantize_rows, unpack_q8


def codes_of(*row: float) -> list[int]:
    return quantize_rows(np.array([row], np.float32))[0][0].tolist()


@pytest.mark.parametrize(
    ("row", "codes"),
    [
        ((127, 62.5, -62.5, 0, -0.5, 0.5, 1.5, -1.5), [127, 63, -62, 0, 0, 1, 2, -1]),
        ((3, -1, 2.5, -2.5, 0.25, -0.75), [127, -42, 106, -106, 11, -32]),
        ((0, 0, 0), [0, 0, 0]),
        ((-5, 5, 2, -2, 1), [-127, 127, 51, -51, 25]),
        # 127 / 1.3530999422073364 times the second is 0.49999999999999994: adding 0.5 would round it up to 1.
        ((1.3530999422073364, 0.005327165126800537, -0.005327165126800537), [127, 0, 0]),
    ],
)
def test_ties_go_up_as_javascripts_math_round_takes_them(row, codes):
    assert codes_of(*row) == codes


def test_the_largest_magnitude_of_a_row_is_127_of_its_scale():
    x = np.array([[1, -2, 4], [0, 0, 0], [-254, 3, 1]], np.float32)
    codes, scales = quantize_rows(x)
    assert (codes.dtype, scales.dtype) == (np.int32, np.float32)
    assert scales.tolist() == [np.float32(4 / 127), 1, 2]
    assert codes.tolist() == [[32, -63, 127], [0, 0, 0], [-127, 2, 1]]


def test_codes_come_from_the_magnitude_and_not_from_the_rounded_scale():
    # 61.4999976 steps of 1.0409735441207886 / 127, and 61.5000005 of that step as a float32.
    assert codes_of(1.0409735441207886, 0.5040934681892395) == [127, 61]


def test_no_columns_are_rows_of_zeros():
    codes, scales = quantize_rows(np.zeros((3, 0), np.float32))
    assert (codes.shape, scales.tolist()) == ((3, 0), [1, 1, 1])


@pytest.mark.parametrize(
    ("codes", "words"),
    [
        ([[1, 2, 3, 4]], [[0x04030201]]),  # the lowest byte is the first column
        ([[-1, -127, 127, 0, 5, 6]], [[0x007F81FF, 0x00000605]]),  # two's complement; a short word is filled with zeros
        ([[1, -1, 127, -127, 5]], [[0x817FFF01, 0x00000005]]),
        ([[2] * 5, [2] * 5], [[0x02020202, 0x02], [0x02020202, 0x02]]),  # each row starts on a word of its own
        ([[-128, 127]], [[0x7F80]]),
    ],
)
def test_four_codes_are_packed_lowest_byte_first(codes, words):
    packed = pack_q8(np.array(codes))
    assert packed.dtype == np.uint32
    assert packed.tolist() == words
    assert unpack_q8(packed, len(codes[0])).tolist() == codes


def test_whole_words_are_the_bytes_of_the_codes():
    codes = np.arange(-64, 64).reshape(4, 32)
    assert pack_q8(codes).tobytes() == codes.astype(np.int8).tobytes()


def test_what_a_last_word_has_to_spare_is_not_unpacked():
    assert unpack_q8(np.array([[0x63636301]], np.uint32), 1).tolist() == [[1]]


def test_a_weight_is_its_code_times_the_scale_of_its_row():
    weight = dequantize_q8(pack_q8(np.array([[1, -2, 3], [4, 5, -6]])), np.array([0.5, 2], np.float32), 3)
    assert weight.tolist() == [[0.5, -1, 1.5], [8, 10, -12]]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: pack_q8(np.array([[128]])), "pack_q8: codes must be from -128 to 127, got 128 to 128"),
        (lambda: pack_q8(np.array([[0, -129]])), "pack_q8: codes must be from -128 to 127, got -129 to 0"),
        (lambda: pack_q8(np.ones((1, 2))), "pack_q8: codes must be integers of shape (N, K), got float64[1, 2]"),
        (lambda: pack_q8(np.arange(3)), "pack_q8: codes must be integers of shape (N, K), got int64[3]"),
        (
            lambda: unpack_q8(np.zeros((2, 2), np.uint32), 9),
            "unpack_q8: words must be uint32 of shape (N, 3) for K = 9, got uint32[2, 2]",
        ),
        (
            lambda: unpack_q8(np.zeros((2, 2), np.int32), 8),
            "unpack_q8: words must be uint32 of shape (N, 2) for K = 8, got int32[2, 2]",
        ),
    ],
)
def test_what_is_no_code_and_no_word_is_refused(call, message):
    with pytest.raises(ShapeError, match=f"^{re.escape(message)}$"):
        call()
