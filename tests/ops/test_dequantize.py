"""dequantize: its values, errors and plans. The GPU's cases are webxpu/cases/dequantize.py."""

import numpy as np
import pytest

from webxpu import ops
from webxpu.errors import ShapeError
from webxpu.gpu.plan import Spec

SCALES = {"weight_scale": 0.0125, "input_scale": 0.031}


def test_every_8_bit_code_takes_both_scales():
    x = np.arange(-128, 128, dtype=np.int32).reshape(2, 128)
    out = ops.dequantize(x, **SCALES)
    assert (out.dtype, out.shape) == (np.float32, (2, 128))
    np.testing.assert_array_equal(out, (np.arange(-128, 128) * 0.0125 * 0.031).astype(np.float32).reshape(2, 128))


def test_large_integers_are_not_rounded_before_the_product():
    x = np.array([2**24 + 1], np.int32)
    assert ops.dequantize(x, weight_scale=2.0**-24, input_scale=3.0) == np.float32(3 + 3 * 2.0**-24)


@pytest.mark.parametrize(
    ("x", "scales", "text"),
    [
        (np.ones(3, np.float32), SCALES, r"x must be int32, got float32\[3\]"),
        (
            np.ones(3, np.int32),
            {**SCALES, "weight_scale": np.inf},
            r"weight_scale \* input_scale must be a float32, got inf",
        ),
        (
            np.ones(3, np.int32),
            {**SCALES, "input_scale": np.nan},
            r"weight_scale \* input_scale must be a float32, got nan",
        ),
    ],
)
def test_what_does_not_fit_is_named(x, scales, text):
    with pytest.raises(ShapeError, match=f"^dequantize: {text}$"):
        ops.dequantize(x, **scales)


def test_the_product_of_the_scales_is_the_one_constant(plain_gpu):
    _, plan = ops.dequantize.plan_of(plain_gpu, Spec((50, 100), "int32"), **SCALES)
    (dispatch,) = plan.dispatches
    assert (dispatch.constants, dispatch.grid) == ({"SCALE": 0.0125 * 0.031}, (5, 1, 1))
