"""Mutants of draft."""

from tests.mutation import Mutant

KERNEL = "kernels/draft/kernel.wgsl"
OP = "webxpu/ops/draft.py"
SEARCH = "tests/ops/test_draft.py::test_it_is_the_plain_search_of_every_run_at_every_place"

MUTANTS = [
    Mutant(KERNEL, "count >= length", "count > length", "draft-a-long-history", "the latest place wins"),
    Mutant(KERNEL, "count > 1u && ", "", "draft-one-id-is-no-run", "a single id is no run"),
    Mutant(KERNEL, "min(most, end)", "min(most, 2u)", "draft-a-longer-run-wins-over-a-later", "runs of any length"),
    Mutant(KERNEL, "min(most, end)", "min(9u, end)", "draft-no-ngram", "runs are at most ngram long"),
    Mutant(
        KERNEL, "end <= position", "end < position", "draft-the-end-overlaps-itself", "one id that follows is enough"
    ),
    Mutant(KERNEL, "local + 2u", "local + 3u", "draft-from-the-first-position", "a run may begin the history"),
    Mutant(KERNEL, "end += 256u", "end += 512u", "draft-a-long-history", "every place is looked at"),
    Mutant(
        KERNEL, "atomicMax(&longest, length)", "atomicMax(&longest, 3u)", "draft-ngram-2-and-2-drafts", "the longest"
    ),
    Mutant(
        KERNEL, "if (length == atomicLoad(&longest))", "if (true)", "draft-a-longer-run-wins-over-a-later", "longest"
    ),
    Mutant(KERNEL, "&& state.sinks == 0u", "", "draft-a-window-that-rolls", "a window that rolls"),
    Mutant(KERNEL, "if (local == 0u && state.done == 0u)", "if (local == 0u)", "draft-done", "a sequence that is done"),
    Mutant(KERNEL, "position + 1u - first)", "8u)", "draft-ngram-3", "only known ids are drafted"),
    Mutant(KERNEL, ", size - 1u - position", ", 99u", "draft-room-for-3", "nothing past the history"),
    Mutant(
        KERNEL,
        "min(state.capacity, arrayLength",
        "min(999u, arrayLength",
        "draft-capacity-below-the-history",
        "or the capacity",
    ),
    Mutant(KERNEL, "&& position < size", "", "draft-past-the-capacity", "a position past the capacity"),
    Mutant(OP, "ids[:-1], n", "ids, n", SEARCH, "the run that ends the ids is no earlier one"),
    Mutant(OP, "places[-1]", "places[0]", SEARCH, "the latest place"),
    Mutant(OP, ", 1, -1)", ", 0, -1)", SEARCH, "a single id is no run"),
]
