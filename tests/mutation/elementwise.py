"""Mutants of elementwise and elementwise_rows."""

from tests.mutation import Mutant

KERNEL = "kernels/elementwise/kernel.wgsl"
ROWS = "kernels/elementwise/rows.wgsl"
OP = "webxpu/ops/elementwise.py"
TEST = "tests/ops/test_elementwise.py"
# WGSL lets a device do as it likes there.
PAST_THE_END = "where a device takes the last words instead, they are each other's"

MUTANTS = [
    Mutant(KERNEL, "KIND == 1u", "KIND == 0u", "elementwise-add-300", "the kinds' numbers"),
    Mutant(KERNEL, "a[i] + b[i]", "a[i] - b[i]", "elementwise-add-300", "a sum"),
    Mutant(KERNEL, "a[i] * b[i]", "a[i] * a[i]", "elementwise-multiply-300", "a product of both"),
    Mutant(ROWS, "a[i] + b[i % D]", "a[i] + b[i / D % D]", "elementwise_rows-add-3x3", "the last axis, not the first"),
    Mutant(
        ROWS, "a[i] * b[i % D]", "a[i] * b[i / D % D]", "elementwise_rows-multiply-3x3", "the last axis, not the first"
    ),
    Mutant(ROWS, "a[i] + b[i % D]", "a[i] + b[i]", "elementwise_rows-add-2x300", "every row meets the same b"),
    Mutant(OP, 'if kind == "add"', 'if kind != "add"', f"{TEST}::test_both_are_torchs", "the kinds"),
]
