"""Mutants of rmsnorm."""

from tests.mutation import Mutant

KERNEL = "kernels/rmsnorm/kernel.wgsl"
SUBGROUPS = "kernels/rmsnorm/kernel.subgroups.wgsl"
OP = "webxpu/ops/rmsnorm.py"
TEST = "tests/ops/test_rmsnorm.py"
IS_TORCHS = f"{TEST}::test_it_is_torchs_rms_norm_times_the_weight"

MUTANTS = [
    Mutant(KERNEL, "partial[0] / f32(D) + EPS", "partial[0] / f32(D)", "rmsnorm-large-eps", "eps"),
    Mutant(
        KERNEL,
        "sqrt(partial[0] / f32(D) + EPS)",
        "(sqrt(partial[0] / f32(D)) + EPS)",
        "rmsnorm-large-eps",
        "eps inside",
    ),
    Mutant(KERNEL, "row % GROUPS * D", "0u", "rmsnorm-12x8-groups-4", "the weight's group"),
    Mutant(KERNEL, "stride = THREADS / 2u", "stride = THREADS / 4u", "rmsnorm-2x576", "the tree meets all lanes"),
    Mutant(KERNEL, "partial[0] / f32(D)", "partial[0] / f32(THREADS)", "rmsnorm-3x300", "mean over D"),
    Mutant(SUBGROUPS, "total / f32(D) + EPS", "total / f32(D)", "rmsnorm-large-eps", "eps"),
    Mutant(SUBGROUPS, "row % GROUPS * D", "row / GROUPS * D", "rmsnorm-6x8-groups-4", "groups alternate"),
    Mutant(SUBGROUPS, "i < subgroups", "i < 1u", "rmsnorm-2x576", "every subgroup's part counts"),
    Mutant(OP, "keepdims=True) + eps)", "keepdims=True))", IS_TORCHS, "eps inside the root"),
    Mutant(
        OP,
        "np.arange(len(wide)) % len(groups)",
        "np.arange(len(wide)) // -(-len(wide) // len(groups))",
        f"{TEST}::test_groups_repeat_where_the_rows_are_no_multiple_of_them",
        "groups alternate",
    ),
    Mutant(OP, "check(eps >= 0", "check(True", f"{TEST}::test_what_does_not_fit_is_named", "a negative eps"),
]
