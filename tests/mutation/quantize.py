"""Mutants of quantize."""

from tests.mutation import Mutant

PART = "kernels/_with/quantize_line.wgsl"
OP = "webxpu/ops/quantize.py"
ROWS = "webxpu/quant/q8.py"
TEST = "tests/ops/test_quantize.py"
TIES, UP, BAND = "quantize-ties", "quantize-ties-up", "quantize-double-rounding-band"

MUTANTS = [
    Mutant(PART, "select(side < 0, side <= 0, negative)", "false", UP, "ties of negative values go up"),
    Mutant(PART, "select(side < 0, side <= 0, negative)", "negative", BAND, "float64 just below a tie"),
    Mutant(PART, "select(side < 0, side <= 0, negative)", "select(side < 0, side < 0, negative)", UP, "ties go up"),
    Mutant(
        PART,
        "select(side < 0, side <= 0, negative)",
        "select(side < 0, true, negative)",
        TIES,
        "float64 just past a tie",
    ),
    Mutant(PART, "select(half, half / 2u, odd == 1u)", "half", BAND, "the units below a half"),
    Mutant(PART, "select(half, half / 2u, odd == 1u)", "half / 2u", TIES, "the units elsewhere"),
    Mutant(PART, "31u - countLeadingZeros(odd)", "0u", TIES, "the units of larger ties"),
    Mutant(PART, "u32(a > 127u << 17u)", "0u", TIES, "the largest significands"),
    Mutant(PART, "i32(odd * (a - rest) > half)", "0", TIES, "127 / a is rounded up"),
    Mutant(PART, "-i32(odd * rest > select", "i32(odd * rest < select", TIES, "127 / a is rounded down"),
    Mutant(
        PART,
        "(twice + a.significand) / (2u * a.significand)",
        "twice / (2u * a.significand)",
        "quantize-2x300",
        "to the nearest",
    ),
    Mutant(PART, " && twice << shift == whole", "", "quantize-near-ties", "what the shift cuts off is no tie"),
    Mutant(
        PART,
        "if (largest == 0u || shift > 31u)",
        "if (largest == 0u)",
        "quantize-small-beside-large",
        "a shift has 5 bits",
    ),
    Mutant(PART, "if (bits < 0x800000u)", "if (false)", "quantize-small-and-large", "subnormals"),
    Mutant(PART, "1 - i32(shift)", "-i32(shift)", "quantize-small-beside-large", "the exponent of subnormals"),
    Mutant(PART, "bits & MAGNITUDE);", "bits);", "quantize-2x300", "a sign is no magnitude"),
    Mutant(PART, "1.0, largest == 0u)", "0.0, largest == 0u)", "quantize-zero-rows", "the scale of a row of zeros"),
    Mutant(
        PART, "x[base + i] & MAGNITUDE", "x[base + i]", "quantize-2x300", "the largest magnitude, not the largest bits"
    ),
    Mutant(PART, "largest = team_highest(thread, largest);", "", "quantize-2x300", "the row's largest"),
    Mutant(ROWS, "below + (values - below >= 0.5)", "np.round(values)", f"{TEST}::test_ties_go_up", "ties go up"),
    Mutant(
        ROWS,
        "below + (values - below >= 0.5)",
        "np.floor(values + 0.5)",
        f"{TEST}::test_what_float64_finds_just_below_a_half_is_not_rounded_a_second_time",
        "no second rounding",
    ),
    Mutant(
        ROWS,
        "np.where(live, magnitude / largest, 1)",
        "(magnitude / largest)",
        f"{TEST}::test_a_row_of_zeros_has_codes_of_zero_and_a_scale_of_one",
        "a row of zeros",
    ),
]
