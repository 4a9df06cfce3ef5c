"""Mutants of reduce."""

from tests.mutation import Mutant

LINE = "kernels/_with/reduce_line.wgsl"
ORDER = "kernels/_with/order.wgsl"
SHARES = "kernels/_with/shares.wgsl"
EMPTY = "kernels/reduce/empty.wgsl"
OP = "webxpu/ops/reduce.py"
TEST = "tests/ops/test_reduce.py"
EDGES = "playwright_tests/ops/test_edges_reduce.py"
NANS = f"{EDGES}::test_a_nan_wins_wherever_it_is_and_stays_in_its_line"
REFUSED = f"{TEST}::test_a_shape_alone_is_refused_too"
LONG = "reduce-3x16385-axis1-"

MUTANTS = [
    Mutant(LINE, "NAN_RANK, (bitcast<u32>(value)", "0u, (bitcast<u32>(value)", NANS, "a NaN wins"),
    Mutant(LINE, "NAN_BITS, rank == NAN_RANK", "0u, rank == NAN_RANK", NANS, "a NaN is written"),
    Mutant(
        LINE,
        "let number = select(order, ~order, KIND == 2u)",
        "let number = order",
        "reduce-3x300-axis-1-min",
        "the smallest",
    ),
    Mutant(LINE, "select(rank, ~rank, KIND == 2u)", "rank", "reduce-3x300-axis-1-min", "the smallest, as a value"),
    Mutant(LINE, "var highest = 0u", "var highest = 0x80000000u", "reduce-all-negative-max", "zero is no value's"),
    Mutant(
        ORDER,
        "select(0x80000000u, 0xffffffffu, bits >> 31u == 1u)",
        "0x80000000u",
        "reduce-all-negative-max",
        "negative values are ordered",
    ),
    Mutant(LINE, "sum / f32(length), KIND == 3u", "sum, KIND == 3u", "reduce-mean-of-four-ones", "a mean is divided"),
    Mutant(
        LINE,
        "let base = job / INNER / PARTS * length",
        "let base = job / PARTS * length",
        "reduce-2x300x3-axis1-sum",
        "the output's block",
    ),
    Mutant(LINE, "+ job % INNER;", ";", "reduce-3x5x7-axis1-max", "the output's column"),
    Mutant(
        LINE, "let step = team_step() * INNER", "let step = team_step()", "reduce-259x6-axis0-max", "values lie apart"
    ),
    Mutant(
        LINE, "let part = job / INNER % PARTS", "let part = job % PARTS", "reduce-259x6-axis0-sum", "the output's share"
    ),
    Mutant(LINE, "(jobs / PARTS)", "jobs", LONG + "mean", "the axis' length"),
    Mutant(
        SHARES, "min(part, length % PARTS)", "0u", "reduce-3x16385-last-max", "shares cover what PARTS does not divide"
    ),
    Mutant(EMPTY, "out[i] = BITS", "out[i] = 0x3f800000u", "reduce-empty-sum", "nothing adds up to zero"),
    Mutant(OP, '"sum" if kind == "mean" else kind', "kind", LONG + "mean", "shares of a mean are divided once"),
    Mutant(
        OP,
        "np.float64(x.shape[axis])",
        "max(x.shape)",
        f"{TEST}::test_a_mean_is_divided_by_the_axis_length",
        "a mean is over the axis",
    ),
    Mutant(OP, "    axis %= n\n", "", f"{TEST}::test_a_negative_axis_counts_from_the_end", "a negative axis"),
    Mutant(OP, "check(-n <= axis < n", "check(axis < n", REFUSED, "an axis before the first"),
    Mutant(
        OP,
        "check(x.shape[axis], ",
        "check(True, ",
        REFUSED,
        "nothing has no largest",
    ),
    Mutant(OP, "wide = x.astype(np.float64)", "wide = x", f"{TEST}::test_sums_are_in_float64", "sums in float64"),
]
