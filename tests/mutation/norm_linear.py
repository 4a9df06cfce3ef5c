"""Mutants of norm_linear and join."""

from tests.mutation import Mutant

KERNEL = "kernels/norm_linear/kernel.wgsl"
SUBGROUPS = "kernels/norm_linear/kernel.subgroups.wgsl"
JOIN = "kernels/norm_linear/join.wgsl"
OP = "webxpu/ops/norm_linear.py"
TEST = "tests/ops/test_norm_linear.py"
ROWS = "norm_linear-q8_0-9-rows"

MUTANTS = [
    Mutant(KERNEL, "load_block(line, i)", "load_block(0u, i)", ROWS, "each row its own values"),
    Mutant(KERNEL, "sums[u] * r", "sums[u]", ROWS, "the norm's root"),
    Mutant(KERNEL, "out[line * N + rows[u]]", "out[rows[u]]", ROWS, "each row its own place"),
    Mutant(KERNEL, "if (row >= N ||", "if (row + 1u >= N ||", "norm_linear-f32-65x96", "the last output"),
    Mutant(SUBGROUPS, "load_octet(line, i)", "load_octet(0u, i)", ROWS, "each row its own values"),
    Mutant(SUBGROUPS, "let row = at % N;", "let row = min(at, N - 1u);", ROWS, "each row every output"),
    Mutant(SUBGROUPS, "total.x * root(total.y)", "total.x", ROWS, "the norm's root"),
    Mutant(JOIN, "if (column < A)", "if (column <= A)", "join-5x200-and-57", "the second begins where the first ends"),
    Mutant(JOIN, "b[row * B + column - A]", "b[column - A]", "join-5x200-and-57", "each row its own values"),
    Mutant(OP, "np.concatenate([a, b], axis=1)", "np.concatenate([b, a], axis=1)",
           f"{TEST}::test_joined_rows_stay_rows", "the first comes first"),
]  # fmt: skip
