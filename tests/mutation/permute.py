"""Mutants of permute."""

from tests.mutation import Mutant

KERNEL = "kernels/permute/kernel.wgsl"
OP = "webxpu/ops/permute.py"
TEST = "tests/ops/test_permute.py"
# WGSL lets a device do as it likes there.
PAST_THE_END = "where a device takes the last words instead, they are each other's"
SPLIT, MERGE, PATCHES = "permute-16x3x112-by-102", "permute-3x16x112-by-102", "permute-2x3x2x4x3x5-by-024351"

MUTANTS = [
    Mutant(KERNEL, "let axis = axes[k - 1u];", "let axis = k - 1u;", SPLIT, "the order"),
    Mutant(KERNEL, "x[rest * words + place]", "x[place]", PATCHES, "the array's words"),
    Mutant(
        KERNEL, "strides[axis - 1u] = words;", "strides[axis - 1u] = words / sizes[axis - 1u];", SPLIT, "strides of x"
    ),
    Mutant(
        KERNEL, "var known = BATCH;", "var known = 1u;", "permute-2x7x2x3-by-0213", "the counted size is of one array"
    ),
    Mutant(KERNEL, "known *= max(sizes[axis], 1u);", "known *= 1u;", MERGE, "the counted size"),
    Mutant(
        OP,
        "live.index(runs[-1][-1]) + 1:",
        "live.index(runs[-1][-1]) - 1:",
        "permute-5x4x3-by-210",
        "only what stays in order is one axis",
    ),
    Mutant(
        OP,
        "[k - 1 for k in order[1:]]",
        "[k for k in order[1:]]",
        f"{TEST}::test_axes_that_stay_neighbours_are_moved_as_one",
        "a batch is no axis",
    ),
    Mutant(
        OP,
        "max((0, order[0]), key",
        "max((0,), key",
        f"{TEST}::test_more_rows_than_heads_compile_nothing_new_in_either_direction",
        "the larger is counted",
    ),
    Mutant(
        OP,
        "np.transpose(x, dims).copy()",
        "np.transpose(x, dims)",
        f"{TEST}::test_even_an_order_that_changes_nothing_gives_an_array_of_its_own",
        "a copy",
    ),
    Mutant(
        OP, "if n != 1]", "if n != 0]", f"{TEST}::test_axes_that_stay_neighbours_are_moved_as_one", "axes of size 1 go"
    ),
]
