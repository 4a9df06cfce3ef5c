"""Mutants of transpose."""

from tests.mutation import Mutant

KERNEL = "kernels/transpose/kernel.wgsl"
CPU = "kernels/transpose/kernel.cpu.wgsl"
PART = "kernels/_with/matrices.wgsl"
OP = "webxpu/ops/transpose.py"
TEST = "tests/ops/test_transpose.py"
# WGSL lets a device do as it likes there.
PAST_THE_END = "where a device takes the last words instead, they are each other's"
RAGGED, BATCH = "transpose-37x129", "transpose-batch-4-33x3"

MUTANTS = [
    Mutant(KERNEL, "column + y < columns() && ", "", BATCH, "columns past the last"),
    Mutant(KERNEL, " && row + lane < rows()", "", RAGGED, "rows past the last"),
    Mutant(KERNEL, "tile[lane][y];", "tile[y][lane];", RAGGED, "the tile is turned"),
    Mutant(KERNEL, "job % tiles / across * TILE", "job % tiles / (across + 1u) * TILE", RAGGED, "the tile's row"),
    Mutant(KERNEL, "job / tiles * matrix_words()", "0u", BATCH, "the tile's matrix"),
    Mutant(
        KERNEL,
        "if (job >= BATCH * tiles)",
        "if (false)",
        RAGGED,
        "tiles past the last",
        survives=PAST_THE_END,
    ),
    Mutant(CPU, "within % rows() * columns() + within / rows()", "within", RAGGED, "the place in x"),
    Mutant(CPU, "x[i - within + ", "x[", BATCH, "the word's matrix"),
    Mutant(PART, "arrayLength(&x) / BATCH", "arrayLength(&x)", BATCH, "words of one matrix"),
    Mutant(PART, "matrix_words() / max(C, 1u), R == 0u", "matrix_words(), R == 0u", BATCH, "rows counted"),
    Mutant(PART, "matrix_words() / max(R, 1u), C == 0u", "matrix_words(), C == 0u", RAGGED, "columns counted"),
    Mutant(
        OP,
        '"C": 0 if r < c else c',
        '"C": c',
        f"{TEST}::test_a_number_of_rows_or_columns_above_the_other_is_no_constant",
        "columns are counted",
    ),
    Mutant(OP, '"BATCH": count', '"BATCH": 1', BATCH, "the batch of a whole array"),
    Mutant(
        OP,
        '"BATCH": count',
        '"BATCH": batch',
        f"{TEST}::test_matrices_are_moved_in_parts_where_they_cannot_be_bound_at_once",
        "the batch of a part",
    ),
    Mutant(
        OP,
        "np.swapaxes(x, -1, -2).copy()",
        "np.swapaxes(x, -1, -2)",
        f"{TEST}::test_the_result_is_an_array_of_its_own",
        "a copy",
    ),
    Mutant(OP, "np.swapaxes(x, -1, -2)", "np.swapaxes(x, 0, -1)", f"{TEST}::test_it_is_torchs_mt", "the last two axes"),
]
