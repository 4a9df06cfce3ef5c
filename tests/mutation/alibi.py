"""Mutants of alibi and alibi_slopes."""

from tests.mutation import Mutant

KERNEL = "kernels/alibi/kernel.wgsl"
SLOPES = "kernels/alibi/slopes.wgsl"
OP = "webxpu/ops/alibi.py"
TEST = "tests/ops/test_alibi.py"
APPENDED = f"{TEST}::test_other_counts_append_every_other_slope_of_the_power_above"

MUTANTS = [
    Mutant(KERNEL, "+ first)", ")", "alibi-8.1.37-at-36", "the offset"),
    Mutant(KERNEL, "i32(i % keys) - (", "i32(i % keys) + (", "alibi-1.4.4-at-0", "key less query"),
    Mutant(KERNEL, "(i32(i / keys % M) + first)", "(i32(i / keys) + first)", "alibi-3.5.7-at-0", "rows of the head"),
    Mutant(KERNEL, "slopes[FIRST + i / keys / M]", "slopes[FIRST]", "alibi-own-slopes", "the head's own slope"),
    Mutant(KERNEL, "slopes[FIRST + i", "slopes[i",
           "playwright_tests/ops/test_edges_attention.py::test_groups_of_heads_keep_their_alibi_slopes",
           "a part's heads"),
    Mutant(KERNEL, "if (i < arrayLength(&out))", "if (true)", "alibi-5.7.11-at-0", "elements past the last"),
    Mutant(SLOPES, "if (head >= heads)", "if (false)", "alibi_slopes-300", "heads past the last"),
    Mutant(SLOPES, "head >= below)", "false)", "alibi_slopes-12", "the tail"),
    Mutant(SLOPES, "1u << firstLeadingBit(heads)", "heads", "alibi_slopes-12", "no interpolation"),
    Mutant(SLOPES, "4u * (2u * (", "4u * (1u * (", "alibi_slopes-12", "every other slope"),
    Mutant(OP, "(2 * np.arange(heads - below) + 1)", "(np.arange(heads - below) + 1)", APPENDED, "every other slope"),
    Mutant(OP, "np.arange(n) - (", "np.arange(n) + (",
           f"{TEST}::test_the_bias_is_zero_on_the_diagonal_and_goes_on_past_it", "key less query"),
    Mutant(OP, "np.arange(m)[:, None] + offset", "np.arange(m)[:, None]",
           f"{TEST}::test_the_offset_is_the_first_querys_position", "the offset"),
    Mutant(OP, "type(heads) is int", "isinstance(heads, int)", f"{TEST}::test_a_count_of_heads_is_a_whole_number",
           "a whole number"),
]  # fmt: skip
