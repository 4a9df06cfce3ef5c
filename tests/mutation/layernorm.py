"""Mutants of layernorm."""

from tests.mutation import Mutant

LINE = "kernels/_with/layernorm_line.wgsl"
MOMENTS = "kernels/_with/moments.wgsl"
NORMED = "kernels/_with/normed.wgsl"
TREE = "kernels/_with/team_tree.wgsl"
SUBGROUPS = "kernels/_with/team_subgroups.wgsl"
TOTALS = "kernels/_with/totals.wgsl"
OP = "webxpu/ops/layernorm.py"
TEST = "tests/ops/test_layernorm.py"
ROOT = f"{TEST}::test_eps_lies_inside_the_root_and_the_variance_is_biased"

MUTANTS = [
    Mutant(NORMED, "squares / count + EPS", "squares / count", "layernorm-large-eps", "eps"),
    Mutant(NORMED, "sqrt(squares / count + EPS)", "(sqrt(squares / count) + EPS)", "layernorm-large-eps", "eps inside"),
    Mutant(NORMED, "squares / count", "squares / (count - 1.0)", "layernorm-2x8", "the variance is biased"),
    Mutant(NORMED, " - moments.middle", "", "layernorm-3x300", "the mean"),
    Mutant(NORMED, "+ f32(bias)", "", "layernorm-constant-row", "the bias"),
    Mutant(NORMED, "* f32(weight)", "", "layernorm-3x300", "the weight"),
    Mutant(
        MOMENTS,
        "let origin = f32(x[base]);",
        "let origin = 0.0;",
        "layernorm-large-mean",
        "a large mean costs no digits",
    ),
    Mutant(MOMENTS, "let end = base + count;", "let end = base + count + 1u;", "layernorm-3x300", "the row's end"),
    Mutant(
        TOTALS,
        "(f32(x[at]) - origin) - middle",
        "f32(x[at]) - origin",
        "layernorm-3x300",
        "deviations are from the mean",
    ),
    Mutant(
        TREE,
        "    if (round > 0u) {\n        workgroupBarrier();\n    }\n",
        "",
        "layernorm-2x2560",
        "a round waits until the one before is read",
    ),
    Mutant(
        SUBGROUPS, "partial_sums[round * 64u + i]", "partial_sums[i]", "layernorm-2x2560", "rounds have their places"
    ),
    Mutant(LINE, "weight[i], bias[i]", "bias[i], weight[i]", "layernorm-3x300", "weight and bias are not mixed up"),
    Mutant(LINE, "i < D; i", "i <= D; i", "layernorm-3x300", "no value of the next row is written"),
    Mutant(OP, "keepdims=True) + eps)", "keepdims=True)) + eps", ROOT, "eps inside the root"),
    Mutant(
        OP,
        "np.mean(deviation * deviation, axis=-1, keepdims=True)",
        "np.var(wide, axis=-1, keepdims=True, ddof=1)",
        ROOT,
        "the variance is biased",
    ),
    Mutant(OP, "check(eps >= 0", "check(True", f"{TEST}::test_what_does_not_fit_is_named", "a negative eps"),
]
