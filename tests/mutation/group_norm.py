"""Mutants of group_norm."""

from tests.mutation import Mutant

LINE = "kernels/_with/group_norm_line.wgsl"
SHARE = "kernels/_with/group_norm_share.wgsl"
APPLY = "kernels/_with/group_norm_apply.wgsl"
SHARES = "kernels/_with/shares.wgsl"
GROUPED = "kernels/_with/grouped.wgsl"
COMBINE = "kernels/group_norm/combine.wgsl"
OP = "webxpu/ops/group_norm.py"
TEST = "tests/ops/test_group_norm.py"
TORCH = f"{TEST}::test_it_is_torchs_group_norm"
LONG = "group_norm-long-2x4x16385-by-2"

MUTANTS = [
    Mutant(LINE, "group * PER % C + i / length", "i / length", "group_norm-2x6x4-by-3", "the group's first channel"),
    Mutant(
        LINE, "group * PER % C + i / length", "group * PER % C", "group_norm-2x6x4-by-3", "each channel has its weight"
    ),
    Mutant(LINE, "group * PER % C", "group * PER", "group_norm-2x6x4-by-3", "the second sample has the same weights"),
    Mutant(
        LINE,
        "N * C / PER",
        "C / PER",
        "group_norm-2x8x300-by-2",
        "every sample's groups",
    ),
    Mutant(GROUPED, "/ (N * C)", "/ C", "group_norm-2x6x4-by-3", "the length of a channel"),
    Mutant(SHARE, "let base = job / PARTS * count;", "let base = job % PARTS * count;", LONG, "the share's group"),
    Mutant(SHARE, "let origin = f32(x[base]);", "let origin = f32(x[start]);", LONG, "one origin for a group"),
    Mutant(
        SHARE,
        "let origin = f32(x[base]);",
        "let origin = 0.0;",
        "group_norm-long-large-mean",
        "a large mean costs no digits",
    ),
    Mutant(SHARE, "/ f32(end - start)", "/ f32(count)", LONG, "a share's mean is over the share"),
    Mutant(
        SHARES,
        "min(part, length % PARTS)",
        "0u",
        "group_norm-long-2x4x16385-by-2",
        "shares cover what PARTS does not divide",
    ),
    Mutant(
        COMBINE, "found[i].x * deviation * deviation", "0.0", "group_norm-long-drifting", "shares differ in their means"
    ),
    Mutant(
        COMBINE,
        "i < group * PARTS + PARTS; i++) {\n        count",
        "i < group * PARTS + PARTS - 1u; i++) {\n        count",
        LONG,
        "every share counts",
    ),
    Mutant(
        COMBINE,
        "if (group >= arrayLength(&known)) {\n        return;\n    }\n",
        "",
        LONG,
        "no thread without a group",
    ),
    Mutant(APPLY, "known[i / (PER * length)]", "known[i / (C * length)]", LONG, "the value's group"),
    Mutant(APPLY, "i / length % C", "i / length % PER", LONG, "each channel has its weight"),
    Mutant(
        OP, ".reshape(n, groups, -1)", ".reshape(n, -1, groups).swapaxes(1, 2)", TORCH, "groups are contiguous channels"
    ),
    Mutant(
        OP, "bias.astype(np.float64)[:, None]", "bias.astype(np.float64).mean()", TORCH, "each channel has its bias"
    ),
    Mutant(
        OP, "groups >= 1 and c % groups == 0", "True", f"{TEST}::test_what_does_not_fit_is_named", "channels divide"
    ),
    Mutant(
        OP,
        "if dtype and n * c == 1 else 0",
        "if False else 0",
        f"{TEST}::test_a_float16_binding_with_one_value_too_many_is_known_where_the_length_depends_on_it",
        "the other half of the last word",
    ),
    Mutant(
        OP,
        "offset=first * sample_bytes",
        "offset=0",
        f"{TEST}::test_as_many_samples_as_one_binding_holds_are_taken_together",
        "each part its place",
    ),
    Mutant(
        OP,
        "// step * step  #",
        "#",
        f"{TEST}::test_many_small_samples_take_few_dispatches_and_begin_at_256_bytes",
        "parts begin where bindings may",
    ),
]
