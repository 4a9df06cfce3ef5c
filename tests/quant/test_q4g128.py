"""4-bit groups: which way ties go, where a group ends, which bits a code lands in, and how far the weights move."""

from __future__ import annotations

import re

import numpy as np
import pytest

from webxpu.errors import ShapeError
from webxpu.quant.q4g128 import LARGEST, dequantize_q4g128, pack_q4, quantize_q4g128, unpack_q4
from webxpu.quant.q8 import dequantize_q8, pack_q8, quantize_rows, scaled_codes


def test_codes_run_from_minus_seven_to_seven_and_ties_go_up():
    codes, scales = quantize_q4g128(np.array([[7, -7, 2.5, -2.5, 0.5, -0.5, 0, 6.4]], np.float32))
    assert codes.tolist() == [[7, -7, 3, -2, 1, 0, 0, 6]]
    assert scales.tolist() == [[1]]
    assert (codes.dtype, scales.dtype) == (np.int32, np.float32)


def test_a_group_is_128_columns_of_one_row_and_the_last_may_be_short():
    weight = np.zeros((2, 300), np.float32)
    weight[0, [0, 127, 128, 255, 256, 299]] = [7, -3.5, 70, 35, -14, 2]
    weight[1, 299] = 0.7
    codes, scales = quantize_q4g128(weight)
    assert (codes.shape, scales.shape) == ((2, 300), (2, 3))
    assert scales.tolist() == [[1, 10, 2], [1, 1, np.float32(np.float64(np.float32(0.7)) / 7)]]
    assert codes[0, [0, 127, 128, 255, 256, 299]].tolist() == [7, -3, 7, 4, -7, 1]
    assert np.count_nonzero(codes[0]) == 6
    assert (codes[1, 299], np.count_nonzero(codes[1])) == (7, 1)


def test_no_columns_have_no_groups():
    codes, scales = quantize_q4g128(np.zeros((2, 0), np.float32))
    assert (codes.shape, scales.shape) == ((2, 0), (2, 0))


@pytest.mark.parametrize(
    ("codes", "words"),
    [
        ([[1, -1, 7, -7, 0, 2, -3, 4, 5, -6]], [[0x4D2097F1, 0x000000A5]]),  # lowest nibble first; zeros fill the word
        ([[1, -1, 7, -7, 0, 2, -2, 3]], [[0x3E2097F1]]),
        ([[3] * 9, [-1] * 9], [[0x33333333, 3], [0xFFFFFFFF, 15]]),  # each row starts on a word of its own
        ([[-8]], [[8]]),
    ],
)
def test_eight_codes_are_packed_lowest_nibble_first(codes, words):
    packed = pack_q4(np.array(codes))
    assert packed.dtype == np.uint32
    assert packed.tolist() == words
    assert unpack_q4(packed, len(codes[0])).tolist() == codes


def test_a_weight_is_its_code_times_the_scale_of_its_group():
    codes = np.zeros((2, 130), np.int32)
    codes[:, [0, 127, 128, 129]] = [[1, 2, 3, -4], [-5, 6, 7, 1]]
    weight = dequantize_q4g128(pack_q4(codes), np.array([[0.5, 10], [2, 0.25]], np.float32), 130)
    assert weight[:, [0, 127, 128, 129]].tolist() == [[0.5, 1, 30, -40], [-10, 12, 1.75, 0.25]]


def test_a_weight_takes_four_and_a_quarter_bits():
    codes, scales = quantize_q4g128(np.ones((20, 2560), np.float32))
    assert (pack_q4(codes).nbytes + scales.nbytes) * 8 / codes.size == 4.25


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: pack_q4(np.array([[8]])), "pack_q4: codes must be from -8 to 7, got 8 to 8"),
        (lambda: pack_q4(np.array([[7, -9]])), "pack_q4: codes must be from -8 to 7, got -9 to 7"),
        (
            lambda: unpack_q4(np.zeros((2, 1), np.uint32), 9),
            "unpack_q4: words must be uint32 of shape (N, 2) for K = 9, got uint32[2, 1]",
        ),
    ],
)
def test_what_is_no_code_and_no_word_is_refused(call, message):
    with pytest.raises(ShapeError, match=f"^{re.escape(message)}$"):
        call()


def errors(weight: np.ndarray, columns: slice = slice(None)) -> tuple[float, float, float]:
    """How far weights move, root mean square relative: 8 bits a row, 4 bits a row, 4 bits a group."""
    k = weight.shape[1]
    codes, scales = quantize_rows(weight)
    rows8 = dequantize_q8(pack_q8(codes), scales, k)
    codes, scales = scaled_codes(weight, LARGEST)
    rows4 = codes * scales.astype(np.float64)[:, None]
    codes, scales = quantize_q4g128(weight)
    groups = dequantize_q4g128(pack_q4(codes), scales, k)
    kept, norm = weight[:, columns].astype(np.float64), np.linalg.norm(weight[:, columns])
    return tuple(float(np.linalg.norm(w[:, columns] - kept) / norm) for w in (rows8, rows4, groups))


def test_a_group_keeps_small_columns_that_a_rows_scale_annihilates():
    """Figures of the format's source for 256 x 2560 normal weights; another generator comes within a tenth of them."""
    weight = np.random.default_rng(11).standard_normal((256, 2560))
    outliers = weight * np.where(np.arange(2560) % 64 == 0, 20, 1)
    bands = weight * np.array([1, 10, 100])[np.arange(2560) // 128 % 3]
    small = np.arange(2560) // 128 % 3 == 0
    close = {"rel": 0.1}
    assert errors(weight.astype(np.float32)) == pytest.approx((7.97e-3, 1.45e-1, 1.14e-1), **close)
    assert errors(outliers.astype(np.float32)) == pytest.approx((4.05e-2, 3.83e-1, 2.90e-1), **close)
    assert errors(bands.astype(np.float32)) == pytest.approx((1.32e-2, 1.68e-1, 1.14e-1), **close)
    assert errors(bands.astype(np.float32), small) == pytest.approx((7.13e-1, 1.00, 1.15e-1), **close)
