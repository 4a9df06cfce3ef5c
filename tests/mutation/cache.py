"""Mutants of cache."""

from tests.mutation import Mutant

KERNEL, Q8 = "kernels/cache/kernel.wgsl", "kernels/_with/kv_write/q8.wgsl"
KV, TEST = "webxpu/quant/kv.py", "tests/quant/test_kv.py"

MUTANTS = [
    Mutant(KERNEL, "|| !is_live(row)", "", "cache_write-padding", "padding"),
    Mutant(KERNEL, "first / D % G", "0u", "cache_write-crosses-a-page", "the head"),
    Mutant(
        KERNEL,
        "place + VALUE_ROWS * G, first",
        "place, first",
        "cache_write-one-row",
        "values have a place of their own",
    ),
    Mutant(Q8, "var scale = 1e-30;", "var scale = 1e-36;", "cache_write-q8-zeros", "the least scale"),
    Mutant(Q8, "abs(values[n])", "values[n]", "cache_write-q8", "the largest magnitude, not the largest value"),
    Mutant(Q8, "floor(0.5 + 127.0", "floor(127.0", "cache_write-q8", "codes are rounded, not cut"),
    Mutant(Q8, "127.0 * clamp", "128.0 * clamp", "cache_write-q8", "127 steps"),
    Mutant(Q8, "block + 1u + n / 4u", "block + n / 4u", "cache_write-q8", "codes stand behind the scale"),
    Mutant(Q8, "/ 32u * 9u", "/ 32u * 8u", "cache_write-q8", "nine words a block"),
    Mutant(
        KV, "np.floor(np.float32(0.5) + ", "np.rint(", f"{TEST}::test_a_tie_between_two_codes_goes_up", "ties go up"
    ),
    Mutant(
        KV,
        "np.maximum(codes / _LARGEST, np.float32(-1))",
        "codes / _LARGEST",
        f"{TEST}::test_a_code_of_minus_128_reads_as_minus_one",
        "a code of -128",
    ),
    Mutant(
        KV,
        "_LEAST_SCALE = np.float32(1e-30)",
        "_LEAST_SCALE = np.float32(1e-20)",
        f"{TEST}::test_zeros_have_a_scale_that_can_divide_and_come_back_as_zeros",
        "the least scale",
    ),
]
