"""Mutants of router, moe_dispatch and moe_gather."""

from tests.mutation import Mutant

ROUTER = "kernels/moe/router.wgsl"
NORMALIZE = "kernels/moe/normalize.wgsl"
COUNT = "kernels/moe/count.wgsl"
SCAN = "kernels/moe/scan.wgsl"
SEAT = "kernels/moe/seat.wgsl"
FILL = "kernels/moe/fill.wgsl"
GATHER = "kernels/moe/gather.wgsl"
PAIRS = "kernels/_with/moe_pairs.wgsl"
OP = "webxpu/ops/moe.py"
TEST = "tests/ops/test_moe.py"
CROWDED = "moe_dispatch-257-top-2-to-5x120x3"
MANY = "moe_dispatch-700-top-8-to-260x30x3"

MUTANTS = [
    Mutant(ROUTER, "other < e)", "other > e)", "router-ties", "of equals the lowest index"),
    Mutant(ROUTER, "select(logit, 0.0, logit == 0.0)", "logit", "router-ties", "-0 equals 0"),
    Mutant(ROUTER, "exp(logits[token * E + other] - largest)", "exp(logits[token * E + other])",
           "router-large-logits", "the maximum is subtracted"),
    Mutant(ROUTER, "sum += exp(", "sum = exp(", "router-512x8-top-2", "all experts share"),
    Mutant(ROUTER, "if (rank >= K)", "if (rank > K)", "router-256x8-top-2", "only K ranks"),
    Mutant(ROUTER, "let width = max(E, K);", "let width = E;", "router-two-experts-top-4", "ranks past the experts"),
    Mutant(ROUTER, "= -1;", "= 0;", "router-two-experts-top-4-plain", "nobody is -1"),
    Mutant(ROUTER, "if (token < arrayLength(&gate) / K)", "if (token + 1u < arrayLength(&gate) / K)",
           "router-3x4-top-1", "the last token"),
    Mutant(NORMALIZE, "rank < K", "rank < K - 1u", "router-256x8-top-2", "all ranks share"),
    Mutant(NORMALIZE, "i / K * K + rank", "rank", "router-257x16-top-4", "a token's own gates"),
    Mutant(PAIRS, "pair % (arrayLength(&expert) / K)", "pair / K", CROWDED, "first choices go first"),
    Mutant(COUNT, "min((block + 1u) * BLOCK, arrayLength(&expert))", "(block + 1u) * BLOCK - 1u", CROWDED,
           "the whole block counts"),
    Mutant(COUNT, "let block = i / E;", "let block = 0u;", CROWDED, "each block its own pairs"),
    Mutant(COUNT, "min((block + 1u) * BLOCK, arrayLength(&expert))", "(block + 1u) * BLOCK",
           MANY, "no pair past the last"),
    Mutant(SCAN, "before[e] = 0u;", "before[e] = 1u;", "moe_dispatch-3-top-2-to-4x3x8",
           "the first block has none before"),
    Mutant(SCAN, "sum += counts[i];", "sum = counts[i];", MANY, "counts add up"),
    Mutant(SCAN, "wid.x + wid.y * num.x", "wid.x", MANY, "folded grids"),
    Mutant(SEAT, "if (e >= E)", "if (e > E)", "moe_dispatch-outside", "an expert that is not there"),
    Mutant(SEAT, "pos[place] = -1;", "pos[place] = 0;", "moe_dispatch-10-for-3-seats", "who is dropped has no seat"),
    Mutant(SEAT, "if (seat < capacity)", "if (seat <= capacity)", "moe_dispatch-10-for-3-seats",
           "no seat past the last"),
    Mutant(SEAT, "before[pair / BLOCK * E + e]", "0u", CROWDED, "the pairs of the blocks before"),
    Mutant(SEAT, "other < pair;", "other <= pair;", "moe_dispatch-3-top-2-to-4x3x8", "only pairs before"),
    Mutant(SEAT, "pair / BLOCK * BLOCK; other", "0u; other", CROWDED, "blocks before count once"),
    Mutant(SEAT, "&& blocks != 0u", "", "moe_dispatch-no-tokens", "an empty array has no pair",
           survives="what lies in the bytes that are bound for an empty array is no input; here it names no expert"),
    Mutant(SEAT, "tokens[i] = -1;", "tokens[i] = 0;", "moe_dispatch-3-top-2-to-4x3x8", "an empty seat is nobody's"),
    Mutant(SEAT, "i % capacity >= before", "i % capacity > before", "moe_dispatch-3-top-2-to-4x3x8",
           "every empty seat"),
    Mutant(SEAT, "i32(token_of(pair))", "i32(pair)", CROWDED, "who sits there"),
    Mutant(FILL, "buffer[i] = value;", "if (token >= 0) { buffer[i] = value; }", "moe_dispatch-3-top-2-to-4x3x8",
           "an empty seat is zeros"),
    Mutant(FILL, "if (i < arrayLength(&buffer))", "if (i + 1u < arrayLength(&buffer))", MANY, "the last element"),
    Mutant(GATHER, "- FIRST;", ";", "moe_gather-experts-from-2", "the first expert of y"),
    Mutant(GATHER, "e < E && seat < capacity", "seat < capacity", "moe_gather-experts-from-2",
           "experts that are elsewhere"),
    Mutant(GATHER, "e < E && seat < capacity", "e < E", "moe_gather-outside", "seats that are not there"),
    Mutant(GATHER, "sum += gate[place] *", "sum += gate[place] * gate[place] *", "moe_gather-100-top-4-of-8x30x7",
           "the gate counts once"),
    Mutant(GATHER, "rank < K", "rank < K - 1u", "moe_gather-700-top-8-of-260x30x3", "every rank"),
    Mutant(GATHER, "(e * capacity + seat)", "(e * E + seat)", "moe_gather-100-top-4-of-8x30x7", "seats an expert"),
    Mutant(OP, "np.argsort(-logits, axis=1, kind=\"stable\")", "np.argsort(logits, axis=1)[:, ::-1]",
           f"{TEST}::test_of_equal_logits_the_lowest_index_goes_first", "ties"),
    Mutant(OP, "rank, token = np.nonzero(by_rank == e)", "token, rank = np.nonzero(expert == e)",
           f"{TEST}::test_all_first_choices_are_seated_before_any_second", "first choices go first"),
    Mutant(OP, "    if normalize:\n        gate =", "    if True:\n        gate =",
           f"{TEST}::test_gates_are_normalized_only_where_asked", "only where asked"),
    Mutant(OP, "(row >= 0) & (row < y.shape[0])", "(row < y.shape[0])",
           f"{TEST}::test_what_is_not_there_adds_nothing_whatever_its_gate", "an expert of -1"),
    Mutant(OP, "check(capacity >= 1", "check(True", f"{TEST}::test_what_does_not_fit_is_named", "no seats"),
]  # fmt: skip
