"""Cases of dequantize: every 8-bit code, larger integers, negative scales."""

from functools import partial

import numpy as np
from numpy.typing import NDArray

from webxpu.cases.case import Case, Tolerance, code_wave

TOLERANCE = Tolerance(2.4e-7, 0.0, "worst 1.2e-7 relative, on SwiftShader: the scales' product is rounded, then theirs")
_SCALES = {"weight_scale": 0.0125, "input_scale": 0.031}


def _codes(n: int) -> tuple[NDArray[np.int32]]:
    return (((37 * np.arange(n)) % 255 - 127).astype(np.int32),)


CASES = [
    Case("dequantize", "300", partial(_codes, 300), _SCALES, quick=True),
    Case("dequantize", "4097", partial(_codes, 4097), _SCALES),
    Case("dequantize", "negative-scale", partial(_codes, 300), {"weight_scale": -0.3, "input_scale": 0.7}),
    Case(
        "dequantize",
        "sums-of-products",
        lambda: (code_wave(600, 0.37).reshape(3, 200) * 160_001,),
        {"weight_scale": 0.0125, "input_scale": 0.031},
    ),
    Case("dequantize", "empty", partial(_codes, 0), _SCALES),
]
