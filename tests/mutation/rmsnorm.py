"""Mutants of rmsnorm, and of the parts that norms share: teams, sums."""

from tests.mutation import Mutant

LINE = "kernels/_with/rmsnorm_line.wgsl"
TREE = "kernels/_with/team_tree.wgsl"
SUBGROUPS = "kernels/_with/team_subgroups.wgsl"
ALONE = "kernels/_with/team_alone.wgsl"
TOTALS = "kernels/_with/totals.wgsl"
OP = "webxpu/ops/rmsnorm.py"
TEST = "tests/ops/test_rmsnorm.py"
INSIDE = f"{TEST}::test_eps_lies_inside_the_root"
CHUNKS = f"{TEST}::test_more_rows_than_one_binding_holds_are_chunks_that_begin_with_the_first_group"

MUTANTS = [
    Mutant(LINE, "f32(D) + EPS", "f32(D)", "rmsnorm-large-eps", "eps"),
    Mutant(LINE, "/ f32(D) + EPS)", "/ f32(D)) + EPS", "rmsnorm-large-eps", "eps inside the root"),
    Mutant(LINE, "row % GROUPS * D", "0u", "rmsnorm-12x8-groups-4", "the weight's group"),
    Mutant(LINE, "row % GROUPS * D", "row / GROUPS * D", "rmsnorm-6x8-groups-4", "groups alternate"),
    Mutant(LINE, "/ f32(D)", "/ f32(THREADS)", "rmsnorm-3x300", "mean over D"),
    Mutant(LINE, "base + D, team_step()", "base + D + 1u, team_step()", "rmsnorm-3x300", "the row's end"),
    Mutant(
        LINE,
        "for (var i = team_first(thread); i < D;",
        "for (var i = team_first(thread); i <= D;",
        "rmsnorm-3x300",
        "no value of the next row is written",
    ),
    Mutant(TREE, "+= partial_sums[thread.index + stride]", "+= 0.0", "rmsnorm-2x576", "the tree meets all lanes"),
    Mutant(TREE, "lines - 1u", "lines - 2u", "rmsnorm-3x300", "the last line"),
    Mutant(SUBGROUPS, "lines - 1u", "lines - 2u", "rmsnorm-3x300", "the last line"),
    Mutant(ALONE, "lines - 1u", "lines - 2u", "rmsnorm-3x300", "the last line"),
    Mutant(SUBGROUPS, "thread.wid.x + thread.wid.y * thread.num.x", "thread.wid.x", "layernorm-14x65", "folded grids"),
    Mutant(
        SUBGROUPS,
        "i++) {\n        total +=",
        "i += 2u) {\n        total +=",
        "rmsnorm-2x576",
        "every subgroup's part counts",
    ),
    Mutant(
        ALONE,
        "thread.num.x) * THREADS + thread.index",
        "thread.num.x) * THREADS",
        "rmsnorm-14x65",
        "each thread its row",
    ),
    Mutant(ALONE, "thread.wid.x + thread.wid.y * thread.num.x", "thread.wid.x", "rmsnorm-14x65", "folded grids"),
    Mutant(
        TOTALS,
        "sum += blocks",
        "sum = blocks",
        "reduce-3x16385-axis1-sum",
        "blocks of blocks add up",
    ),
    Mutant(TOTALS, "blocks += block;", "blocks = block;", "rmsnorm-2x2560", "blocks add up"),
    Mutant(TOTALS, "j < BLOCK && at < end", "j < BLOCK", "rmsnorm-3x300", "the row's end within a block"),
    Mutant(OP, "keepdims=True) + eps)", "keepdims=True)) + eps", INSIDE, "eps inside the root"),
    Mutant(
        OP,
        "np.arange(len(wide)) % len(groups)",
        "np.arange(len(wide)) // -(-len(wide) // len(groups))",
        f"{TEST}::test_groups_repeat_where_the_rows_are_no_multiple_of_them",
        "groups alternate",
    ),
    Mutant(OP, "check(eps >= 0", "check(True", f"{TEST}::test_what_does_not_fit_is_named", "a negative eps"),
    Mutant(OP, "out(0)], groups)", "out(0)])", CHUNKS, "a chunk begins with the first group"),
    Mutant(OP, "weight.dtype == x.dtype and", "True and", f"{TEST}::test_what_does_not_fit_is_named", "one dtype"),
]
