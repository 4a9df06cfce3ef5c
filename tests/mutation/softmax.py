"""Mutants of softmax."""

from tests.mutation import Mutant

LINE = "kernels/_with/softmax_line.wgsl"
TREE = "kernels/_with/team_tree.wgsl"
SUBGROUPS = "kernels/_with/team_subgroups.wgsl"
OP = "webxpu/ops/softmax.py"
TEST = "tests/ops/test_softmax.py"

MUTANTS = [
    Mutant(
        LINE,
        "block += exp(f32(x[base + at]) - highest)",
        "block += exp(f32(x[base + at]))",
        "softmax-overflowing-exponentials",
        "exponentials do not overflow",
    ),
    Mutant(LINE, "var highest = -0x1.fffffep127f", "var highest = 0.0", "softmax-large-negative", "a row below zero"),
    Mutant(LINE, "i < 64u && at < D", "i < 64u", "softmax-3x500", "the row's end within a block"),
    Mutant(LINE, "        sum += block;", "        sum = block;", "softmax-2x1500", "blocks add up"),
    Mutant(
        LINE,
        "        highest = max(highest, f32(x[base + i]));",
        "        highest = f32(x[base + i]);",
        "softmax-overflowing-first",
        "the largest of the row",
    ),
    Mutant(
        TREE,
        "max(partial_highest[thread.index], partial_highest[thread.index + stride])",
        "partial_highest[thread.index]",
        "softmax-overflowing-exponentials",
        "the tree keeps the higher",
    ),
    Mutant(
        SUBGROUPS,
        "var highest = subgroupMax(value)",
        "var highest = value",
        "softmax-overflowing-exponentials",
        "the highest of a subgroup",
    ),
    Mutant(OP, "initial=-np.inf", "initial=0", f"{TEST}::test_a_row_far_below_zero_is_no_zero", "a row below zero"),
    Mutant(
        OP, "powers.sum(axis=-1, keepdims=True)", "powers.sum()", f"{TEST}::test_it_is_torchs_softmax", "the last axis"
    ),
]
