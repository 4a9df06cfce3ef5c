"""dequant_transpose: its values, errors and plans. The GPU's cases are webxpu/cases/dequant_transpose.py."""

import numpy as np
import pytest

from webxpu import ops
from webxpu.errors import ShapeError
from webxpu.gpu.plan import Spec

SCALE = np.array([0.5, 2], np.float32)


def test_codes_are_read_lowest_byte_first_and_take_the_scale_of_their_row():
    weight = np.array([[0x04FD0201, 0xFFFFFF80], [0x0A090807, 0x0000007F]], np.uint32)
    out = ops.dequant_transpose(weight, SCALE, in_features=5)
    assert out.tolist() == [[0.5, 14], [1, 16], [-1.5, 18], [2, 20], [-64, 254]]
    assert (out.dtype, out.flags.c_contiguous) == (np.float32, True)


@pytest.mark.parametrize(("n", "k"), [(1, 1), (5, 3), (3, 8), (16, 112)])
def test_every_value_is_a_code_times_its_scale_rounded_once(n, k):
    codes = ((37 * np.arange(n * k)) % 200 - 100).reshape(n, k)
    scale = (0.01 + 1e-4 * np.arange(n)).astype(np.float32)
    words = np.pad(codes, ((0, 0), (0, -k % 4)), constant_values=99).astype(np.int8).view(np.uint32)
    want = [[np.float32(int(codes[r, c]) * float(scale[r])) for r in range(n)] for c in range(k)]
    np.testing.assert_array_equal(ops.dequant_transpose(words, scale, in_features=k), want)


@pytest.mark.parametrize(
    ("weight", "scale", "k", "text"),
    [
        (np.ones((2, 3), np.uint32), SCALE, 16, r"weight must be 4 words a row for 16 codes, got uint32\[2, 3\]"),
        (np.ones((2, 3), np.uint32), SCALE, 8, r"weight must be 2 words a row for 8 codes, got uint32\[2, 3\]"),
        (np.ones((2, 3), np.uint32), SCALE[:1], 12, r"scale must be float32 of shape \(2,\), got float32\[1\]"),
        (
            np.ones((2, 3), np.int32),
            SCALE,
            12,
            r"weight must be uint32 of shape \(N, ceil\(K / 4\)\), got int32\[2, 3\]",
        ),
        (np.ones(3, np.uint32), SCALE, 12, r"weight must be uint32 of shape \(N, ceil\(K / 4\)\), got uint32\[3\]"),
        (np.ones((2, 3), np.uint32), SCALE, -1, "in_features must be a whole number, at least 0, got -1"),
    ],
)
def test_what_does_not_fit_is_named(weight, scale, k, text):
    with pytest.raises(ShapeError, match=f"^dequant_transpose: {text}$"):
        ops.dequant_transpose(weight, scale, in_features=k)


def test_the_number_of_rows_is_no_constant(plain_gpu):
    for n, grid in [(7, (1, 1, 1)), (70_000, (137, 1, 1))]:
        _, plan = ops.dequant_transpose.plan_of(plain_gpu, Spec((n, 2), "uint32"), Spec((n,), "float32"), in_features=7)
        (dispatch,) = plan.dispatches
        assert (dispatch.constants, dispatch.grid) == ({"K": 7}, grid)
