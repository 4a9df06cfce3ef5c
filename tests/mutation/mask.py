"""Mutants of mask."""

from tests.mutation import Mutant

KERNEL = "kernels/mask/kernel.wgsl"
OP = "webxpu/ops/mask.py"
TEST = "tests/ops/test_mask.py"

MUTANTS = [
    Mutant(KERNEL, "(i % 32u)", "(31u - i % 32u)", "mask-one-token", "the lowest bit is the first id"),
    Mutant(KERNEL, "select(FORBIDDEN, ", "select(BANNED, ", "mask-1000-tokens", "what is forbidden lies below a ban"),
    Mutant(
        OP, "allowed[ids // WORD_BITS]", "allowed[0]", f"{TEST}::test_a_bit_a_token_lowest_first", "each word its ids"
    ),
    Mutant(
        OP,
        "np.finfo(np.float32).min",
        "np.float32(-(2.0**127))",
        f"{TEST}::test_a_banned_token_that_is_allowed_beats_every_forbidden_one",
        "what is forbidden lies below a ban",
    ),
]
