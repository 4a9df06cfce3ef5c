"""Mutants of penalize."""

from tests.mutation import Mutant

COUNT = "kernels/penalize/count.wgsl"
APPLY = "kernels/penalize/apply.wgsl"
BEFORE = "kernels/_with/came_before.wgsl"
BANNED = "kernels/_with/banned.wgsl"
OP = "webxpu/ops/penalize.py"
TEST = "tests/ops/test_penalize.py"

MUTANTS = [
    Mutant("kernels/penalize/begin.wgsl", "counts[i] = 0u", "counts[i] = 1u", "penalize-all", "counts begin at zero"),
    Mutant(
        "kernels/penalize/begin.wgsl",
        "max(logits[i], BANNED)",
        "logits[i]",
        "penalize-banned-already",
        "one value for what is banned",
    ),
    Mutant(
        COUNT,
        "min(state.biases, arrayLength(&bias_ids))",
        "arrayLength(&bias_ids)",
        "penalize-biases",
        "entries past the count",
    ),
    Mutant(
        COUNT,
        "        if (id < vocab) {\n            out[id] = moved",
        "        if (id <= vocab) {\n            out[min(id, vocab - 1u)] = moved",
        "penalize-all-biases",
        "a bias of an id that the vocabulary lacks",
    ),
    Mutant(
        COUNT,
        "n - 1u < kept_ids() - i",
        "n - 1u <= kept_ids() - i",
        "penalize-1-ids-and-2-grams",
        "an n-gram that begins before the history",
    ),
    Mutant(COUNT, "back < n; back++", "back < n - 1u; back++", "penalize-5-grams", "the whole n-gram"),
    Mutant(
        COUNT,
        "i >= kept_ids() || id_back(i) >= vocab",
        "i >= kept_ids()",
        "penalize-3-grams",
        "an id that the vocabulary lacks",
        survives="a device clamps or drops what lies outside of a buffer, and apply.wgsl looks again",
    ),
    Mutant(
        APPLY,
        "value * state.repetition, value < 0.0",
        "value * state.repetition, value > 0.0",
        "penalize-repetition",
        "which way",
    ),
    Mutant(APPLY, "f32(count & ~BAN)", "1.0", "penalize-frequency", "each time counts"),
    Mutant(
        APPLY,
        "f32(count & ~BAN)",
        "f32(count)",
        "penalize-banned-already",
        "the mark is no count",
        survives="a marked id is banned whatever it loses",
    ),
    Mutant(APPLY, "value > BANNED && ", "", "penalize-banned-already", "what is banned stays so"),
    Mutant(APPLY, "if (count == 0u)", "if (false)", "penalize-few-kinds", "once for each id"),
    Mutant(
        BEFORE,
        "min(total_ids(), arrayLength(&history))",
        "total_ids()",
        "penalize-a-ring-that-turned",
        "what the ring lost",
    ),
    Mutant(
        BEFORE,
        "state.evicted + state.position + state.rows",
        "state.position + state.rows",
        "penalize-a-ring-that-turned",
        "ids that a window dropped",
    ),
    Mutant(
        BANNED,
        "max(logit + by, BANNED), logit > BANNED",
        "logit + by, logit > BANNED",
        "penalize-dry",
        "nothing falls below a ban",
    ),
    Mutant("kernels/penalize/dry.wgsl", "-dry_values[i]", "dry_values[i]", "penalize-dry", "a penalty is subtracted"),
    Mutant(
        "kernels/penalize/dry.wgsl",
        "if (id < arrayLength(&out)) {",
        "if (id <= arrayLength(&out)) {",
        "penalize-dry",
        "an id that the vocabulary lacks",
    ),
    Mutant(
        OP,
        "max(0, total - len(history))",
        "0",
        f"{TEST}::test_what_came_before_is_what_the_ring_still_has",
        "what the ring lost",
    ),
    Mutant(
        OP,
        "state.evicted + state.position + state.rows",
        "state.position + state.rows",
        f"{TEST}::test_what_came_before_is_what_the_ring_still_has",
        "ids that a window dropped",
    ),
    Mutant(
        OP,
        "np.where(values > BANNED, np.maximum(changed, BANNED), BANNED)",
        "np.maximum(changed, BANNED)",
        f"{TEST}::test_a_token_that_was_banned_stays_so",
        "what is banned stays so",
    ),
    Mutant(
        OP,
        "np.where(values < 0, values * repetition, values / repetition)",
        "values / repetition",
        f"{TEST}::test_options_apply_in_their_order",
        "a negative logit is multiplied",
    ),
    Mutant(
        OP,
        "range(1, n if places.size else 1)",
        "range(2, n if places.size else 1)",
        f"{TEST}::test_what_would_repeat_an_n_gram_is_what_followed_it",
        "the last id counts",
    ),
]
