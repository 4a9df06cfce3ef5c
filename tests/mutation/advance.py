"""Mutants of advance."""

from tests.mutation import Mutant

APPEND, ROLLING = "kernels/_with/append.wgsl", "kernels/_with/rolling.wgsl"
OP, TEST = "webxpu/ops/advance.py", "tests/ops/test_advance.py"
ROLLS = "advance-rolls"

MUTANTS = [
    Mutant(
        APPEND,
        "(state.evicted + position) % arrayLength(&history)",
        "position",
        "advance-ring",
        "the history is a ring",
    ),
    Mutant(APPEND, "state.runs += 1u;", "", "advance-one-candidate", "steps are counted"),
    Mutant(
        ROLLING,
        "position < state.capacity ||",
        "position + 1u < state.capacity ||",
        "advance-does-not-roll-before-it-is-full",
        "a place that is left",
    ),
    Mutant(ROLLING, "state.sinks == 0u ||", "", "advance-does-not-roll-without-sinks", "no sinks"),
    Mutant(
        ROLLING,
        "state.sinks + PAGE > state.capacity",
        "false",
        "advance-does-not-roll-where-sinks-leave-no-page",
        "sinks that leave no page",
    ),
    Mutant(
        ROLLING,
        "state.sinks + PAGE > state.capacity",
        "state.sinks + PAGE >= state.capacity",
        "advance-rolls-where-sinks-leave-one-page",
        "sinks that leave one page",
    ),
    Mutant(
        ROLLING,
        "(state.capacity + PAGE - 1u) / PAGE",
        "state.capacity / PAGE",
        "advance-rolls-a-capacity-of-no-whole-pages",
        "a page that is not whole",
    ),
    Mutant(
        ROLLING,
        "min((state.capacity + PAGE - 1u) / PAGE, arrayLength(&pages))",
        "arrayLength(&pages)",
        "advance-rolls-only-the-pages-in-use",
        "pages past the capacity",
    ),
    Mutant(ROLLING, "state.sinks / PAGE", "0u", ROLLS, "sinks stay"),
    Mutant(ROLLING, "pages[last] = dropped;", "", ROLLS, "the page that is dropped"),
    Mutant(ROLLING, "state.evicted += PAGE;", "", ROLLS, "what was dropped"),
    Mutant(
        OP,
        "0 < state.sinks <= state.capacity - PAGE_TOKENS",
        "0 < state.sinks <= state.capacity",
        f"{TEST}::test_nothing_rolls_before_it_must_or_where_sinks_leave_no_page",
        "sinks that leave no page",
    ),
    Mutant(
        OP,
        "min(-(-state.capacity // PAGE_TOKENS), len(pages))",
        "len(pages)",
        f"{TEST}::test_pages_that_the_capacity_does_not_need_stay_where_they_are",
        "pages past the capacity",
    ),
]
