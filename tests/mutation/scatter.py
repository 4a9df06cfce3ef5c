"""Mutants of scatter."""

from tests.mutation import Mutant

KERNEL = "kernels/scatter/kernel.wgsl"
CLEAR = "kernels/scatter/clear.wgsl"
OP = "webxpu/ops/scatter.py"
TEST = "tests/ops/test_scatter.py"
MANY = "scatter-2x300-into-4"

MUTANTS = [
    Mutant(KERNEL, "if (column < D)", "if (true)", "scatter-outside", "indices outside"),
    Mutant(KERNEL, "if (column < D)", "if (column < D || index[i] < 0)", "scatter-outside", "negative indices"),
    Mutant(KERNEL, "if (column < D)", "if (column <= D)", "scatter-outside", "the first index past a row"),
    Mutant(KERNEL, "bitcast<f32>(old) + value", "value", MANY, "values are added up"),
    Mutant(KERNEL, "i / S * D + column", "column", MANY, "the row"),
    Mutant(KERNEL, "i / S * D", "i / S * S", "scatter-2x256-into-64", "the sums' rows are D wide"),
    Mutant(KERNEL, "if (i < arrayLength(&src))", "if (i <= arrayLength(&src))", MANY, "values past the last"),
    Mutant(CLEAR, "out[i] = 0u;", "out[i] = out[i];", "scatter-untouched", "sums are cleared"),
    Mutant(
        OP,
        "(index >= 0) & (index < width)",
        "(index < width)",
        f"{TEST}::test_an_index_outside_is_left_out_and_reaches_no_other_row",
        "negative indices",
    ),
    Mutant(
        OP,
        "np.add.at(sums, (n, index[n, s]), src[n, s])",
        "sums[n, index[n, s]] = src[n, s]",
        f"{TEST}::test_values_of_one_index_are_added_up_and_a_sum_of_none_is_zero",
        "sums, not last writes",
    ),
    Mutant(
        OP,
        "np.zeros((len(src), width), np.float32)",
        "np.zeros((len(src), width))",
        f"{TEST}::test_sums_are_made_in_float32_in_the_order_of_the_values",
        "sums in float32",
    ),
    Mutant(
        KERNEL, "old = seen.old_value;", "break;", "scatter-1x8-into-1", "a sum that somebody changed is made again"
    ),
    Mutant(
        CLEAR,
        "if (i < arrayLength(&out))",
        "if (true)",
        "scatter-untouched",
        "sums past the last",
        survives="where a device takes the last sum instead, it is to be cleared too",
    ),
    Mutant(
        OP,
        "    if s:",
        "    if True:",
        f"{TEST}::test_rows_without_values_are_only_cleared",
        "an empty src is bound by a few bytes",
    ),
]
