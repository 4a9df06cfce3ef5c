"""Mutants of norm_linear and join."""

from tests.mutation import Mutant

KERNEL = "kernels/norm_linear/kernel.wgsl"
SUBGROUPS = "kernels/norm_linear/kernel.subgroups.wgsl"
JOIN = "kernels/norm_linear/join.wgsl"
OP = "webxpu/ops/norm_linear.py"
TEST = "tests/ops/test_norm_linear.py"
ROWS = "norm_linear-q8_0-9-rows"
STAGED, STAGED_NORM = "kernels/_with/staged.wgsl", "kernels/_with/staged_norm.wgsl"
LONG = "norm_linear-f32-3x9x1056"

MUTANTS = [
    Mutant(KERNEL, "load_block(place.x, i)", "load_block(0u, i)", ROWS, "each row its own values"),
    Mutant(KERNEL, "sums[u] * r", "sums[u]", ROWS, "the norm's root"),
    Mutant(KERNEL, "out[place.x * N + columns[u]]", "out[columns[u]]", ROWS, "each row its own place"),
    Mutant(KERNEL, "if (column >= N)", "if (column + 1u >= N)", "norm_linear-f32-65x96", "the last output"),
    Mutant(SUBGROUPS, "load_octet(row, i)", "load_octet(0u, i)", ROWS, "each row its own values"),
    Mutant(SUBGROUPS, "out[row * N + column]", "out[column]", ROWS, "each row its own place"),
    Mutant(SUBGROUPS, "total.x * root(total.y)", "total.x", ROWS, "the norm's root"),
    Mutant(STAGED, "quad % 8u * (blocks() + 1u)", "quad % 8u * blocks()", LONG, "a line is longer than the blocks"),
    Mutant(STAGED, "block += lanes", "block += lanes + 1u", LONG, "every block"),
    Mutant(STAGED_NORM, "x[row * (K / 4u) + quad]", "x[quad]", LONG, "each row its own values"),
    Mutant(STAGED_NORM, "value * gain[quad]", "value", LONG, "the norm's weight"),
    Mutant(STAGED_NORM, "i < subgroups", "i < 1u", LONG, "every subgroup's share of the squares"),
    Mutant("kernels/norm_linear/staged.subgroups.wgsl", "out[place.x * N + first + lane]", "out[first + lane]", LONG,
           "each row its own place"),
    Mutant(JOIN, "if (column < A)", "if (column <= A)", "join-5x200-and-57", "the second begins where the first ends"),
    Mutant(JOIN, "b[row * B + column - A]", "b[column - A]", "join-5x200-and-57", "each row its own values"),
    Mutant(OP, "np.concatenate([a, b], axis=1)", "np.concatenate([b, a], axis=1)",
           f"{TEST}::test_joined_rows_stay_rows", "the first comes first"),
]  # fmt: skip
