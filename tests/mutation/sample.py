"""Mutants of sample: top-n-sigma, and how the filters meet."""

from tests.mutation import Mutant

RADIX = "kernels/_with/radix.wgsl"
WEIGH = "kernels/sample/weigh.wgsl"
OP = "webxpu/ops/sample.py"
TEST = "tests/ops/test_sample.py"

MUTANTS = [
    Mutant(RADIX, "&& logits[i] > BANNED", "", "sample-sigma-without-the-banned", "banned tokens do not spread"),
    Mutant(RADIX, "- mean * mean", "", "sample-sigma-1", "the spread is about the mean"),
    Mutant(
        RADIX,
        "at += BINS * 3u",
        "at += BINS * 3000u",
        "sample-sigma-262144-tokens",
        "all workgroups",
        survives="no case has more than 256 workgroups",
    ),
    Mutant(
        RADIX,
        "state.temperature > 0.0 && state.top_n_sigma > 0.0",
        "state.top_n_sigma > 0.0",
        "sample-greedy",
        "greedy looks at no filter",
        survives="the draw does not look at what was kept",
    ),
    Mutant(
        WEIGH,
        "max(kept, lowest_in_sigma(thread))",
        "lowest_in_sigma(thread)",
        "sample-sigma-below-top-k",
        "the narrower filter counts",
    ),
    Mutant(WEIGH, "max(kept, lowest_in_sigma(thread))", "kept", "sample-sigma", "the cut"),
    Mutant(
        OP,
        "logits[logits > BANNED].astype",
        "logits.astype",
        f"{TEST}::test_sigma_is_numpys_standard_deviation_of_what_is_not_banned",
        "banned tokens do not spread",
    ),
    Mutant(
        OP,
        " - below.mean() ** 2",
        "",
        f"{TEST}::test_sigma_is_numpys_standard_deviation_of_what_is_not_banned",
        "the spread is about the mean",
    ),
    Mutant(
        OP,
        "int(weights.sum()) * int",
        "2**31 * int",
        f"{TEST}::test_min_p_and_top_p_both_look_at_what_top_k_and_sigma_left",
        "top_p is a part of what is left",
    ),
]
