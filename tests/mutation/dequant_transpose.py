"""Mutants of dequant_transpose."""

from tests.mutation import Mutant

KERNEL = "kernels/dequant_transpose/kernel.wgsl"
OP = "webxpu/ops/dequant_transpose.py"
TEST = "tests/ops/test_dequant_transpose.py"
SHORT = "dequant_transpose-5x3"

MUTANTS = [
    Mutant(KERNEL, "if (column < K)", "if (true)", SHORT, "codes past the row"),
    Mutant(KERNEL, "(K + 3u) / 4u", "K / 4u", SHORT, "a row begins on a word of its own"),
    Mutant(
        KERNEL,
        "extractBits(i32(codes), byte",
        "extractBits(codes, byte",
        "dequant_transpose-16x112",
        "codes have signs",
    ),
    Mutant(KERNEL, "byte * 8u, 8u", "24u - byte * 8u, 8u", "dequant_transpose-16x112", "the lowest byte is first"),
    Mutant(KERNEL, "scale[row]", "scale[word % n]", "dequant_transpose-16x112", "a scale a row"),
    Mutant(KERNEL, "out[column * n + row]", "out[row * K + column]", "dequant_transpose-16x112", "transposed"),
    Mutant(
        OP,
        "in_features).T,",
        "in_features),",
        f"{TEST}::test_codes_are_read_lowest_byte_first_and_take_the_scale_of_their_row",
        "transposed",
    ),
    Mutant(OP, "words == -(-k // 4)", "True", f"{TEST}::test_what_does_not_fit_is_named", "words a row"),
    Mutant(OP, 'scale == Spec((n,), "float32")', "True", f"{TEST}::test_what_does_not_fit_is_named", "a scale a row"),
]
