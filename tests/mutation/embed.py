"""Mutants of embed."""

from tests.mutation import Mutant

KERNEL, OP, TEST = "kernels/embed/kernel.wgsl", "webxpu/ops/embed.py", "tests/ops/test_embed.py"

MUTANTS = [
    Mutant(KERNEL, " * SCALE", "", "embed-scaled", "the scale"),
    Mutant(
        KERNEL,
        "(state.evicted + position) % arrayLength(&history)",
        "position",
        "embed-ring-f32",
        "the history is a ring",
    ),
    Mutant(
        KERNEL,
        "if (position < arrayLength(&history))",
        "if (true)",
        "embed-past-the-history",
        "positions past the history",
    ),
    Mutant(KERNEL, "id >= 0 && id < i32(N)", "id >= 0", "embed-f32-ids-outside", "ids past the table"),
    Mutant(
        OP,
        "(now.evicted + positions) % len(history)",
        "positions % len(history)",
        f"{TEST}::test_the_history_is_a_ring_behind_what_a_window_dropped",
        "the history is a ring",
    ),
]
