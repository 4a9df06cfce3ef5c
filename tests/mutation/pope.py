"""Mutants of pope and legendre."""

from tests.mutation import Mutant

KERNEL = "kernels/pope/kernel.wgsl"
OP = "webxpu/ops/pope.py"
TEST = "tests/ops/test_pope.py"

MUTANTS = [
    Mutant(KERNEL, "column >= D", "column >= D + 1u", "pope-5x9-from-1", "the last column"),
    Mutant(KERNEL, "wid.x + wid.y * num.x", "wid.x", "pope-3x512-from-2", "folded grids"),
    Mutant(KERNEL, "k >= OFFSET", "k > OFFSET", "pope-24x48-from-7", "the first row"),
    Mutant(KERNEL, "(k - OFFSET) * D", "(k - OFFSET) * (D - 1u)", "pope-8x32-from-0", "rows"),
    Mutant(KERNEL, "2u * k + 1u", "2u * k", "pope-4x4-from-0", "the recurrence"),
    Mutant(KERNEL, "f32(k) * before", "f32(k) * last", "pope-4x4-from-0", "the order before"),
    Mutant(
        KERNEL,
        "f32(2 * i32(column) - i32(D)) / f32(D)",
        "f32(2 * i32(column) - i32(D)) / f32(D - 1u)",
        "pope-5x17-from-0",
        "the last argument is no 1",
    ),
    Mutant(KERNEL, "last = 1.0", "last = 0.5", "pope-4x4-from-0", "order 0 is 1"),
    Mutant(
        OP,
        "-1 + 2 * np.arange(width) / width",
        "-1 + 2 * np.arange(width) / max(width - 1, 1)",
        f"{TEST}::test_the_order_is_the_position_and_the_argument_stops_a_step_short_of_one",
        "the last argument is no 1",
    ),
    Mutant(
        OP, ", pos_offset, pos_offset + length)", ", 0, length)", f"{TEST}::test_the_offset_shifts_rows", "the offset"
    ),
    Mutant(
        OP, "- k * before", "- before", f"{TEST}::test_the_first_polynomials_have_their_closed_forms", "the recurrence"
    ),
]
