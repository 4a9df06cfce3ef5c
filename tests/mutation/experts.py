"""Mutants of expert_gate_up and expert_down."""

from tests.mutation import Mutant

UP = "kernels/experts/gate_up.wgsl"
UP_SUBGROUPS = "kernels/experts/gate_up.subgroups.wgsl"
DOWN = "kernels/experts/down.wgsl"
DOWN_SUBGROUPS = "kernels/experts/down.subgroups.wgsl"
PART = "kernels/_with/expert_down.wgsl"
OP = "webxpu/ops/experts.py"
TEST = "tests/ops/test_experts.py"
UP_MANY = "expert_gate_up-f32-9-top-2-of-4x257x64"
DOWN_MANY = "expert_down-f32-9-top-2-of-4x257x64"

MUTANTS = [
    Mutant(UP, "let there = chosen < N / 2u / F;", "let there = true;", "expert_gate_up-outside",
           "an expert that is not there"),
    Mutant(UP, "load_block(pair / RANKS, i)", "load_block(pair, i)", UP_MANY, "the row of the token"),
    Mutant(UP, "select(0u, chosen, there) * F + gate", "gate", UP_MANY, "the rows of the expert"),
    Mutant(UP, "dot32(rows.x + N / 2u", "dot32(rows.x + F", UP_MANY, "ups come after all gates"),
    Mutant(UP, "if (first >= F ||", "if (first + 1u >= F ||", "expert_gate_up-f32-1-top-1-of-1x1x4", "the last row"),
    Mutant(UP, "out[pair * F + gate[u]]", "out[gate[u]]", UP_MANY, "each pair its own place"),
    Mutant(UP_SUBGROUPS, "select(0u, chosen, there) * F + at % F", "at % F", UP_MANY, "the rows of the expert"),
    Mutant(UP_SUBGROUPS, "let line = pair / RANKS;", "let line = pair;", UP_MANY, "the row of the token"),
    Mutant(UP_SUBGROUPS, "out[at] = select(0.0, activate(KIND, total.x * r, 1.0) * (total.y * r), there);",
           "out[at] = activate(KIND, total.x * r, 1.0) * (total.y * r);", "expert_gate_up-outside",
           "an expert that is not there"),
    Mutant(PART, "chosen < N / OUT", "true", "expert_down-outside", "an expert that is not there"),
    Mutant(PART, "chosen * OUT", "0u * chosen", DOWN_MANY, "the rows of the expert"),
    Mutant(PART, "quad < K / 4u", "true", "expert_down-f16-2-top-2-of-3x5x40", "nothing past a row of hidden values",
           survives="weights past K are 0 in every part there is; the parts promise only that they are finite"),
    Mutant(DOWN, "totals += gate[pair] * sums;", "totals += sums;", DOWN_MANY, "gates count"),
    Mutant(DOWN, "rank < RANKS", "rank < 1u", DOWN_MANY, "every rank"),
    Mutant(DOWN, "if (row >= OUT ||", "if (row + 1u >= OUT ||", "expert_down-f32-1-top-1-of-1x1x4", "the last row"),
    Mutant(DOWN_SUBGROUPS, "rank < RANKS", "rank < 1u", DOWN_MANY, "every rank"),
    Mutant(DOWN_SUBGROUPS, "select(gate[pair] * sum, 0.0, first == N)", "gate[pair] * sum", "expert_down-outside",
           "the gate of no expert may be anything"),
    Mutant(OP, "np.add.at(result, token,", "np.add.at(result, rank,",
           f"{TEST}::test_they_are_the_experts_of_transformers_qwen3_moe", "each token its own sum"),
    Mutant(OP, "np.arange(f) + (experts + e) * f", "np.arange(f) + (experts + e - 1) * f",
           f"{TEST}::test_they_are_the_experts_of_transformers_qwen3_moe", "ups come after all gates"),
]  # fmt: skip
