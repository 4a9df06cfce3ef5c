"""Mutants of logprobs."""

from tests.mutation import Mutant

SUMS = "kernels/logprobs/sums.wgsl"
WRITE = "kernels/logprobs/write.wgsl"
HIGHEST = "kernels/_with/highest.wgsl"
POWER = "kernels/_with/power.wgsl"
EVERYONE = "kernels/_with/everyone.wgsl"
OP = "webxpu/ops/logprobs.py"
TEST = "tests/ops/test_logprobs.py"

MUTANTS = [
    Mutant(
        SUMS,
        "        if (i < vocab) {\n            sum +=",
        "        {\n            sum +=",
        "logprobs-1025-tokens-and-32",
        "the end of the vocabulary",
    ),
    Mutant(SUMS, "power(logits[i] - largest)", "power(logits[i])", "logprobs-near-certain", "powers do not overflow"),
    Mutant(
        WRITE,
        "power(sums[i * 2u] - largest)",
        "1.0",
        "logprobs-5000-tokens-and-5",
        "each share has a largest of its own",
    ),
    Mutant(
        WRITE,
        "state.evicted + state.position",
        "state.position",
        "logprobs-a-ring-that-turned",
        "the place in the ring",
    ),
    Mutant(WRITE, "if (state.done != 0u)", "if (false)", "logprobs-done", "nothing after the end"),
    Mutant(
        WRITE,
        "i < groups; i += 256u) {\n        sum",
        "i < groups; i += 512u) {\n        sum",
        "logprobs-262144-tokens-and-32",
        "all shares",
        survives="no case has more than 256 shares",
    ),
    Mutant(HIGHEST, "a.id < b.id ||", "a.id > b.id ||", "logprobs-ties", "the lowest id first"),
    Mutant(
        HIGHEST, "(a.id == b.id && earlier)", "false", "logprobs-1025-tokens-and-32", "what fills up has places too"
    ),
    Mutant(
        HIGHEST,
        "if (before(own[step], best, false))",
        "if (step == 0u)",
        "logprobs-5000-tokens-and-5",
        "the best of four",
    ),
    Mutant(HIGHEST, "if (i < candidates())", "if (i + 1u < candidates())", "logprobs-1-tokens-and-1", "the last one"),
    Mutant(POWER, "5.0000001201e-1", "4.9e-1", "logprobs-5000-tokens-and-5", "the polynomial"),
    Mutant(POWER, "select(0.0, ", "select(1.0, ", "logprobs-one-token-left", "banned tokens add nothing"),
    Mutant(EVERYONE, "pieces[i * 16u].x);", "pieces[i].x);", "logprobs-one-token-left", "the largest of all threads"),
    Mutant(
        OP,
        "- largest - np.log",
        "- np.log",
        f"{TEST}::test_values_are_those_of_transformers_and_the_highest_come_in_order",
        "the largest comes off",
    ),
    Mutant(
        OP,
        'kind="stable"',
        'kind="quicksort"',
        f"{TEST}::test_the_lowest_id_comes_first_among_equals",
        "ties",
        survives="NumPy sorts a few values by insertion",
    ),
    Mutant(
        OP,
        "    if now.done:\n        return\n",
        "",
        f"{TEST}::test_a_finished_sequence_writes_nothing",
        "nothing after the end",
    ),
]
