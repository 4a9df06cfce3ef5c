"""Mutants of norm_add."""

from tests.mutation import Mutant

LINE = "kernels/_with/norm_add_line.wgsl"
OP = "webxpu/ops/norm_add.py"
TEST = "tests/ops/test_norm_add.py"

MUTANTS = [
    Mutant(LINE, "residual[base + i] + ", "", "norm_add-1x640", "the residual is added"),
    Mutant(LINE, "* gain[i]", "", "norm_add-1x640", "the gain counts"),
    Mutant(LINE, "/ f32(D) + EPS", "/ f32(D)", "norm_add-small", "eps counts"),
    Mutant(LINE, "thread, 0u, squares) / f32(D)", "thread, 0u, squares)", "norm_add-5x65", "the mean, not the sum"),
    Mutant(OP, "residual + rmsnorm(y, gain, eps=eps)", "rmsnorm(residual + y, gain, eps=eps)",
           f"{TEST}::test_the_norm_comes_before_the_residual", "the norm comes first"),
]  # fmt: skip
