"""Mutants of flash_attention; those of the parts that it shares are in attention.py."""

from tests.mutation import Mutant

TILES = "kernels/_with/flash_attention.wgsl"
THREAD = "kernels/_with/flash_attention_thread.wgsl"
BINDINGS = "kernels/_with/flash_bindings.wgsl"
SCORE = "kernels/_with/attention_score.wgsl"
OP = "webxpu/ops/flash_attention.py"
SHARED = "webxpu/ops/_attention.py"
TEST = "tests/ops/test_flash_attention.py"
EDGES = "playwright_tests/ops/test_edges_attention.py"

MUTANTS = [
    Mutant(TILES, "sum *= shrinks[ty * 4u + i];", "", "flash_attention-rescale", "sums shrink"),
    Mutant(TILES, "weight *= shrink;", "", "flash_attention-rescale", "the weight shrinks"),
    Mutant(TILES, "var most = largest;", "var most = LOWEST;", "flash_attention-hidden-by-minus-infinity",
           "the largest so far counts"),
    Mutant(TILES, "most = max(most, met[p_row * 4u + i]);", "", "flash_attention-4x300", "four threads agree"),
    Mutant(TILES, "if (key < seen) {", "if (true) {", "flash_attention-5x7-causal", "keys that are not seen"),
    Mutant(TILES, "value, key < end)", "value, true)",
           f"{EDGES}::test_an_infinity_in_the_last_place_stays_one", "values past the last"),
    Mutant(TILES, "if (first_row + row < rows)", "if (true)", "flash_attention-5x7", "rows past the last"),
    # No mutant: the guard of workgroups past the last. What they would write lands in the last words, where SwiftShader
    # puts all that is past the end, before or after the right values.
    Mutant(TILES, "if (part == 0u) {", "if (true) {", "flash_attention-rescale", "sums shrink once"),
    Mutant(TILES, "first_column + chunk * 64u + i % 16u", "first_column + i % 16u", "flash_attention-wide", "chunks"),
    Mutant(TILES, "met[at + 2u] + met[at + 3u]", "met[at + 2u]", "flash_attention-4x300", "all quarters are summed"),
    Mutant(TILES, "if (p[at] != HIDDEN) {", "if (true) {", "flash_attention-hidden-by-minus-infinity",
           "-inf by its bits",
           survives="a device that keeps infinities takes exp(-inf) = 0"),
    Mutant(SCORE, "const LOWEST = -0x1.fffffep127f;", "const LOWEST = -3.402823e38f;",
           "flash_attention-hidden-by-the-lowest", "the lowest float to the bit"),
    Mutant(BINDINGS, "vec4<f32>(), weight == 0.0)", "vec4<f32>(), false)", "flash_attention-hidden-by-minus-infinity",
           "a row that sees nothing"),
    Mutant(THREAD, "sums[i] *= shrink;", "", "flash_attention-rescale", "sums shrink"),
    Mutant(THREAD, "weight *= shrink;", "", "flash_attention-rescale", "the weight shrinks"),
    Mutant(THREAD, "if (job >= HEADS * rows * across)", "if (false)", "flash_attention-5x7", "threads past the last"),
    Mutant(THREAD, "key < seen", "key < keys", "flash_attention-unseen", "values that are not seen"),
    Mutant(THREAD, "job % across * 64u", "0u", "flash_attention-wide", "columns past 64"),
    Mutant(OP, "weight * shrink +", "weight +", f"{TEST}::test_the_result_does_not_depend_on_the_tile", "the weight"),
    Mutant(OP, "sums * shrink +", "sums +", f"{TEST}::test_the_result_does_not_depend_on_the_tile", "the sums"),
    Mutant(OP, "np.isneginf(most)", "(most < -3e38)", f"{TEST}::test_masks_are_torchs", "no key so far"),
    Mutant(SHARED, "-(-pieces // _MOST_CHUNKS)", "1",
           f"{TEST}::test_columns_are_shared_out_among_workgroups_that_hold_up_to_256", "what the registers hold"),
]  # fmt: skip
