"""Mutants of accept."""

from tests.mutation import Mutant

KERNEL = "kernels/accept/kernel.wgsl"
OP = "webxpu/ops/accept.py"
TEST = "tests/ops/test_accept.py::"

MUTANTS = [
    Mutant(KERNEL, "history[next] == token", "true", "accept-the-second-fails", "a draft must be what is chosen"),
    Mutant(
        KERNEL,
        "clamp(state.rows, 1u, ROWS - FIRST)",
        "ROWS",
        "accept-drafts-of-an-earlier-step-do-not-count",
        "padding rows",
    ),
    Mutant(
        KERNEL, "state.done != 0u);\n        state", "false);\n        state", "accept-done", "a sequence that is done"
    ),
    Mutant(KERNEL, "(FIRST + row) * count", "row * count", "accept-a-later-row", "the row to begin with"),
    Mutant(KERNEL, "state.runs = runs;", "", "accept-all-hold", "it is one run"),
    Mutant(KERNEL, "local + 256u", "local + 512u", "accept-768-candidates", "every candidate is looked at"),
    Mutant(
        KERNEL,
        "select(1u, state.rows, ",
        "select(state.rows, state.rows, ",
        "accept-all-hold",
        "rows are appended one by one",
    ),
    Mutant(
        OP, "state[words.ROWS] = 1", "pass", f"{TEST}test_the_end_of_the_capacity_is_that_of_single_steps", "one by one"
    ),
    Mutant(OP, "state[words.RUNS] = before.runs + 1", "pass", f"{TEST}test_no_row_counts_behind_a_stop_id", "one run"),
]
