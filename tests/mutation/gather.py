"""Mutants of gather."""

from tests.mutation import Mutant

KERNEL = "kernels/gather/kernel.wgsl"
BLOCKS = "kernels/gather/blocks.wgsl"
OP = "webxpu/ops/gather.py"
TEST = "tests/ops/test_gather.py"
OUTSIDE, ROWS = "gather-outside", "gather-5-of-300x7"

MUTANTS = [
    Mutant(KERNEL, "if (row < R)", "if (true)", OUTSIDE, "indices outside"),
    Mutant(KERNEL, "if (row < R)", "if (row <= R)", OUTSIDE, "the first index past the table"),
    Mutant(KERNEL, "out[i] = 0.0;", "", OUTSIDE, "zeros are written"),
    Mutant(KERNEL, "row * D + i % D", "row * D + i % R", "gather-300-of-128x7", "the column"),
    Mutant(KERNEL, "indices[i / D]", "indices[i % D]", "gather-300-of-128x7", "the row of the result"),
    Mutant(KERNEL, "if (i < arrayLength(&out))", "if (i <= arrayLength(&out))", "gather-5-of-7x300", "past the last"),
    Mutant(BLOCKS, "if (row < N)", "if (true)", "gather-q8_0-6x96", "indices outside"),
    Mutant(BLOCKS, "if (column + i < K)", "if (true)", "gather-f16-6x33", "columns past the last"),
    Mutant(BLOCKS, "if (slot >= arrayLength(&out) / K)", "if (false)", "gather-f16-6x40", "rows past the last"),
    Mutant(BLOCKS, "indices[slot]", "indices[0]", "gather-q8_0-6x96", "the row of the result"),
    Mutant(
        OP,
        "(indices >= 0) & (indices < table.shape[0])",
        "(indices >= -1) & (indices < table.shape[0])",
        f"{TEST}::test_an_index_outside_the_table_gives_zeros",
        "negative indices",
    ),
]
