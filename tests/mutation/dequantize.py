"""Mutants of dequantize."""

from tests.mutation import Mutant

KERNEL = "kernels/dequantize/kernel.wgsl"
OP = "webxpu/ops/dequantize.py"
TEST = "tests/ops/test_dequantize.py"
# WGSL lets a device do as it likes there.
PAST_THE_END = "where a device takes the last words instead, they are each other's"

MUTANTS = [
    Mutant(KERNEL, "f32(x[i]) * SCALE", "f32(u32(x[i])) * SCALE", "dequantize-300", "codes have signs"),
    Mutant(
        KERNEL,
        "f32(x[i]) * SCALE",
        "f32((x[i] << 24u) >> 24u) * SCALE",
        "dequantize-sums-of-products",
        "more than 8 bits",
    ),
    Mutant(
        OP,
        '{"SCALE": float(weight_scale) * float(input_scale)}',
        '{"SCALE": float(weight_scale)}',
        "dequantize-300",
        "both scales",
    ),
    Mutant(
        OP,
        "(x * float(weight_scale)",
        "(x.astype(np.float32) * float(weight_scale)",
        f"{TEST}::test_large_integers_are_not_rounded_before_the_product",
        "computed in float64",
    ),
    Mutant(
        OP,
        "check(abs(scale) <=",
        "check(True or abs(scale) <=",
        f"{TEST}::test_what_does_not_fit_is_named",
        "scales that no float32 holds",
    ),
]
