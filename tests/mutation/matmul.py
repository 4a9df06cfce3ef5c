"""Mutants of matmul, linear and the quantised products."""

from tests.mutation import Mutant

TILE = "kernels/_with/matmul_tile.wgsl"
LARGE = "kernels/_with/matmul_large.wgsl"
LINEAR = "kernels/_with/linear_tile.wgsl"
SUM = "kernels/matmul/sum.wgsl"
SHARED = "linear-q4_1-20x70x416-shared"
LINEAR_LARGE = "kernels/_with/linear_large.wgsl"
CPU = "kernels/matmul/linear.cpu.wgsl"
OP = "webxpu/ops/matmul.py"
TEST = "tests/ops/test_matmul.py"
CHUNKS = f"{TEST}::test_rows_past_a_bindings_limit_run_in_chunks"


def part(name: str) -> str:
    return f"kernels/_with/weights/apart/{name}.wgsl"


MUTANTS = [
    Mutant(
        TILE,
        "f32(a[row * K + min(k, K - 1u)]), k < K)",
        "f32(a[row * K + min(k, K - 1u)]), true)",
        "matmul-33x47x65",
        "a is 0 past K",
        survives="b is 0 there too, which an infinity of a needs",
    ),
    Mutant(
        TILE,
        "row < rows && column < N",
        "row < rows",
        "matmul-no-write-past-last-column",
        "a column past the last is the next row's first",
    ),
    Mutant(
        TILE,
        "row < rows && column < N",
        "column < N",
        "matmul-17x16x16",
        "rows past the last",
        survives="they repeat the last row, and a write past the array is dropped or lands on its last element",
    ),
    Mutant(TILE, "base += 32u", "base += 64u", "matmul-33x47x65", "every tile of K"),
    Mutant(LARGE, "quad + 16u < N / 4u", "true", "matmul-130x264x36", "a column past the last is the next row's first"),
    Mutant(LARGE, "base += 16u", "base += 32u", "matmul-130x264x36", "every tile of K"),
    Mutant(
        LINEAR,
        "f32(x[row * K + min(column, K - 1u)]), column < K)",
        "f32(x[row * K + min(column, K - 1u)]), true)",
        "matmul_q8-33x47x65",
        "x is 0 past K, where a word's spare codes are any",
    ),
    Mutant(
        LINEAR,
        "row < rows && feature < N",
        "row < rows",
        "matmul_q8-no-write-past-last-column",
        "a feature past the last is the next row's first",
    ),
    Mutant(LINEAR, "blocks = (K + 31u) / 32u", "blocks = K / 32u", "matmul_q8-33x47x65", "the last block is short"),
    Mutant(
        LINEAR, "(share + 1u) * blocks / shares", "(share + 1u) * (blocks / shares)", SHARED, "shares of unequal size"
    ),
    Mutant(LINEAR, "(share * rows + row) * N", "row * N", SHARED, "a place for each share"),
    Mutant(LINEAR, "min(block + 1u, end_block - 1u)", "min(block, end_block - 1u)", SHARED, "the block that follows"),
    Mutant(SUM, "at = i;", "at = i + arrayLength(&out);", SHARED, "every share is added"),
    Mutant(
        LINEAR_LARGE,
        "min(k, K - 4u) / 4u]), k < K)",
        "min(k, K - 4u) / 4u]), true)",
        "matmul_q8-65x68x36",
        "x is 0 past K, where a word's spare codes are any",
    ),
    Mutant(
        LINEAR_LARGE,
        "feature + 64u + 16u * j < N",
        "true",
        "matmul_q8-65x68x36",
        "a feature past the last is the next row's first",
    ),
    Mutant(
        CPU,
        "row * K + min(column, K - 1u)], column < K)",
        "row * K + min(column, K - 1u)], true)",
        "matmul_q8-33x47x65",
        "x is 0 past K, where a word's spare codes are any",
    ),
    Mutant(part("q8_ragged"), "scales[row]", "scales[0]", "matmul_q8-scale-per-feature", "each feature has its scale"),
    Mutant(part("q4g128"), "block / 4u", "0u", "matmul_q4g128-group-boundary", "each group has its scale"),
    Mutant(part("q4g128_ragged"), "quad / 32u", "0u", "matmul_q4g128-5x9x300", "each group has its scale"),
    Mutant(
        "kernels/_with/byte_rows.wgsl",
        "d * codes4(b.w)",
        "d * codes4(b.z)",
        "matmul_q8-17x70x96",
        "all of a block is unpacked",
    ),
    Mutant(
        "kernels/_with/nibble_rows.wgsl",
        "d * nibbles4(words.w >> 16u),",
        "d * nibbles4(words.w),",
        "matmul_q4g128-17x70x96",
        "all of a block is unpacked",
    ),
    Mutant(
        OP,
        "weight.astype(np.float32).astype(np.float64).T",
        "weight.T",
        f"{TEST}::test_q8_is_linear_with_the_weights_that_the_codes_stand_for",
        "weights are rounded to float32",
    ),
    Mutant(
        OP,
        "narrow(a.astype(np.float64) @ b.astype(np.float64), a)",
        "narrow((a.astype(np.float64) @ b.astype(np.float64)).astype(np.float32), a)",
        f"{TEST}::test_float16_is_rounded_once_from_a_wide_sum",
        "one rounding",
    ),
    Mutant(OP, "b.dtype == a.dtype and", "", f"{TEST}::test_one_call_is_of_one_dtype", "two dtypes"),
    Mutant(OP, "widths.get(b, 0) * size", "widths.get(b, 0) * 4", CHUNKS, "a row of float16 is half as wide"),
]
