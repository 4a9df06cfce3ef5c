"""Mutants of matvec, its quantised forms and their formats."""

from tests.mutation import Mutant

THREAD = "kernels/_with/thread_rows.wgsl"
LANES = "kernels/_with/lanes.wgsl"
LANE_ROWS = "kernels/_with/lane_rows.wgsl"
GATE_UP = "kernels/_with/gate_up_rows.wgsl"
FFN = "kernels/matvec/q8_ffn.wgsl"
FFN_LANES = "kernels/matvec/q8_ffn.subgroups.wgsl"
RESIDUAL = "kernels/matvec/q8_residual.wgsl"
RESIDUAL_LANES = "kernels/matvec/q8_residual.subgroups.wgsl"
OP = "webxpu/ops/matvec.py"
Q8 = "webxpu/quant/q8.py"
Q4 = "webxpu/quant/q4g128.py"
TEST = "tests/ops/test_matvec.py"
Q8_TEST = "tests/quant/test_q8.py"
Q4_TEST = "tests/quant/test_q4g128.py"
TIES = f"{Q8_TEST}::test_ties_go_up_as_javascripts_math_round_takes_them"
CHUNKS = f"{TEST}::test_quantised_rows_past_a_bindings_limit_run_in_chunks"


def part(name: str) -> str:
    return f"kernels/_with/weights/apart/{name}.wgsl"


MUTANTS = [
    # Rows and columns that end.
    Mutant("kernels/_with/x_values.wgsl", "column < K)", "true)", "matvec_q8-padding-lane-poisoned", "x is 0 past K"),
    Mutant(
        "kernels/_with/x_values.wgsl", "column < K)", "true)", "matvec_q4g128-padding-nibbles-poisoned", "x is 0 past K"
    ),
    Mutant("kernels/_with/x_quads.wgsl", "quad < K / 4u", "true", "matvec_q8-65x16", "x is 0 past K in half a block"),
    Mutant(
        THREAD, "if (row >= N)", "if (row > N)", "matvec_q8-67x5", "a write past the array may land on its last row"
    ),
    Mutant("kernels/_with/block.wgsl", "(K + 31u) / 32u", "K / 32u", "matvec_q8-1x3", "the last block is short"),
    Mutant(LANE_ROWS, "(K + CHUNK - 1u) / CHUNK", "K / CHUNK", "matvec_q8-3x1030", "the last chunk is short"),
    Mutant(LANE_ROWS, "chunk += lanes", "chunk += 2u * lanes", "matvec_q8-5x1024", "every chunk has a lane"),
    Mutant(LANES, "mask = lanes / 2u", "mask = lanes / 4u", "matvec_q8-5x1024", "all lanes meet"),
    Mutant(LANES, "size / lanes) + lane / lanes", "size / lanes) + lane", "matvec_q8-130x48", "which row a lane is on"),
    Mutant(LANE_ROWS, "* ROWS;", ";", "matvec_q8-130x48", "rows of a group of lanes do not overlap"),
    Mutant(LANE_ROWS, "if (CHUNK > 8u)", "if (CHUNK > 16u)", "matvec_q8-5x1024", "x of a chunk of 16"),
    # Planes of rows: where scales lie, and what fills up a row.
    *(
        Mutant(f"kernels/_with/{file}.wgsl", *change, case, what)
        for file, case, what, *change in [
            ("weights/q8", "matvec-q8-66x1040", "four scales a load", "[row % 4u]", "[row % 2u]"),
            ("byte_rows", "matvec-q8-7x52", "a row is filled up to 16 codes", "(K + 15u) / 16u", "K / 16u"),
            ("weights/q4g128", "matvec-q4g128-67x512", "128 columns have one scale", "block / 4u;", "block / 8u;"),
            ("weights/q4g128", "matvec-q4g128-5x268", "the last group is short", "(K + 127u) / 128u", "K / 128u"),
            ("nibble_rows", "matvec-q4g128-5x268", "a row is filled up to 32 codes", "(K + 31u) / 32u", "K / 32u"),
            (
                "weights/q1g128",
                "matvec-q1g128-67x384",
                "four scales a load",
                "i / 4u % 4u]), 0.0",
                "i / 8u % 4u]), 0.0",
            ),
            ("weights/q1g128", "matvec-q1g128-67x384", "signs of the second half", "(16u * half)", "(0u * half)"),
        ]
    ),
    # Blocks of 32, 128 and 256 weights: where codes and scales lie.
    *(
        Mutant(f"kernels/_with/weights/{kind}.wgsl", *change, f"matvec-{kind}-67x512", what)
        for kind, what, *change in [
            ("q5_0", "fifth bits of the second half", "(16u * half)", "(0u * half)"),
            ("q5_0", "nibbles of the second half", "(4u * half)", "(0u * half)"),
            ("q5_1", "fifth bits of the second half", "(16u * half)", "(0u * half)"),
            ("q5_1", "the offset is added", "1.0, -1.0", "1.0, 1.0"),
            ("q2_k", "the second half of 128 weights", "i % 8u / 4u * 8u", "0u"),
            ("q2_k", "minima are high nibbles", "byte >> 4u", "byte & 15u"),
            ("q2_k", "sixteen weights have one scale", "2u * (i % 8u) + half", "2u * (i % 8u)"),
            ("q3_k", "the third bit of a code", "vec4<u32>(i % 8u)", "vec4<u32>(i % 4u)"),
            ("q3_k", "scales past the eighth are high nibbles", "4u * (group / 8u)", "0u"),
            ("q3_k", "high bits of scales", "2u * (group / 4u)", "2u * (group / 8u)"),
            ("q4_k", "every second 32 codes are high nibbles", "4u * (i % 2u)", "0u"),
            ("q5_k", "the fifth bit of a code", "vec4<u32>(i % 8u)", "vec4<u32>(i % 4u)"),
            ("q6_k", "the second half of 128 weights", "4u * upper", "0u"),
            ("q6_k", "high bits of the second half", "2u * upper]", "0u]"),
            ("q6_k", "scales have a sign", "extractBits(bitcast<i32>(word), ", "extractBits(word, "),
            ("q1_0", "which bits are a half's", "16u * half", "0u * half"),
            ("tq1_0", "the fifth digit", "digit == 4u", "digit == 5u"),
            ("tq1_0", "the four last bytes", "sixteen == 15u", "sixteen == 16u"),
            ("tq1_0", "a product stays in its byte", "* powers) & vec4<u32>(0x00ff00ffu)", "* powers)"),
            ("tq2_0", "the second half of 128 weights", "i % 8u / 4u * 2u", "0u"),
        ]
    ),
    Mutant("kernels/_with/k_scales.wgsl", "group >= 4u", "group > 4u", "matvec-q4_k-67x512", "which scales are split"),
    Mutant(
        "kernels/_with/k_scales.wgsl", "(bytes.xy >> vec2<u32>(6u))", "vec2<u32>()", "matvec-q5_k-67x512", "high bits"
    ),
    Mutant("kernels/_with/packed_rows.wgsl", "+ BIAS", "+ 0.0", "matvec-q6_k-67x512", "codes are biased"),
    Mutant("kernels/_with/packed_rows.wgsl", "* second.x", "* first.x", "matvec-q6_k-67x512", "halves have scales"),
    Mutant("kernels/_with/packed_rows.wgsl", "* second.y", "* first.y", "matvec-q2_k-67x512", "halves have minima"),
    Mutant("kernels/_with/packed_rows.wgsl", "octet / 2u % 2u", "0u", "norm_head-q6_k-1x131x256-row-1", "halves"),
    Mutant("kernels/_with/packed_rows.wgsl", "octet % 2u == 1u", "false", "norm_head-q6_k-1x131x256-row-1", "quads"),
    Mutant("kernels/_with/packed_rows.wgsl", "(a + b) * scales.y", "a * scales.y", "norm_qkv-q4_k-one-row", "minima"),
    Mutant("kernels/_with/packed_rows.wgsl", "scaled - scales.y", "scaled", "gather-q4_k-6x512", "minima of rows"),
    # Codes and scales.
    Mutant("kernels/_with/bytes.wgsl", "word ^ 0x80808080u", "word", "matvec_q8-1x8", "codes have a sign"),
    Mutant("kernels/_with/nibbles.wgsl", "half ^ 0x8888u", "half", "matvec_q4g128-3x8", "codes have a sign"),
    Mutant(
        "kernels/_with/nibbles.wgsl",
        "biased >> 4u, biased >> 8u",
        "biased >> 8u, biased >> 4u",
        "matvec_q4g128-3x8",
        "nibbles in order",
    ),
    Mutant(part("q8"), "scales[row]", "scales[0]", "matvec_q8-5x1024", "each row has its scale"),
    Mutant(part("q8_ragged"), "scales[row]", "scales[0]", "matvec_q8-3x1030", "each row has its scale"),
    Mutant(part("q8_ragged"), "(K + 3u) / 4u", "K / 4u", "matvec_q8-3x1030", "a row starts on a word of its own"),
    Mutant(part("q4g128"), "block / 4u", "0u", "matvec_q4g128-group-boundary", "each group has its scale"),
    Mutant(part("q4g128"), "(K + 127u) / 128u", "K / 128u", "matvec_q4g128-130x96", "a short group has a scale"),
    Mutant(part("q4g128_ragged"), "quad / 32u", "0u", "matvec_q4g128-scale-index", "each group has its scale"),
    Mutant(part("q4g128_ragged"), "(K + 127u) / 128u", "K / 128u", "matvec_q4g128-3x129", "a short group has a scale"),
    Mutant(
        part("q4g128_ragged"), "(K + 7u) / 8u", "K / 8u", "matvec_q4g128-3x127", "a row starts on a word of its own"
    ),
    Mutant(part("q4g128_ragged"), "16u * (quad % 2u)", "0u", "matvec_q4g128-3x8", "the word's other half"),
    # The fused layers.
    Mutant(GATE_UP, "dot16(up[at]", "dot16(gate[at]", "matvec_q8_ffn-5x1024", "up is a weight of its own"),
    Mutant(
        GATE_UP,
        "sums.x * gate_scales[row], 1.0) * (sums.y * up",
        "sums.y * gate_scales[row], 1.0) * (sums.x * up",
        "matvec_q8_ffn-5x1024",
        "gate and up are not swapped",
    ),
    Mutant(GATE_UP, "up_scales[row]", "gate_scales[row]", "matvec_q8_ffn-130x48", "up has its own scales"),
    Mutant(FFN, "chunk < K / 16u", "chunk < K / 32u", "matvec_q8_ffn-up-past-first-pass", "every chunk is added"),
    Mutant(
        FFN_LANES, "chunk += lanes", "chunk += 2u * lanes", "matvec_q8_ffn-gate-past-first-pass", "every chunk is added"
    ),
    Mutant(
        FFN_LANES,
        "&& row < N",
        "",
        "matvec_q8_ffn-130x48",
        "lanes past the last row",
        survives="they computed the last row, and a write past the array is dropped or lands there",
    ),
    Mutant(RESIDUAL, "residual[row]", "residual[0]", "matvec_q8_residual-codes-of-zero", "each row has its residual"),
    Mutant(
        RESIDUAL_LANES, "residual[row]", "residual[0]", "matvec_q8_residual-codes-of-zero", "each row has its residual"
    ),
    # References, checks and plans.
    Mutant(Q8, "values - below >= 0.5", "values - below > 0.5", TIES, "ties go up"),
    Mutant(Q8, "below + (values - below >= 0.5)", "np.floor(values + 0.5)", TIES, "0.49999999999999994 is 0"),
    Mutant(
        Q8,
        "np.divide(largest, magnitude,",
        "np.divide(1, (magnitude / largest).astype(np.float32).astype(np.float64),",
        f"{Q8_TEST}::test_codes_come_from_the_magnitude_and_not_from_the_rounded_scale",
        "the reciprocal is not of the rounded scale",
    ),
    Mutant(
        Q8,
        "np.where(live, magnitude / largest, 1)",
        "np.where(live, magnitude / largest, 0)",
        f"{Q8_TEST}::test_the_largest_magnitude_of_a_row_is_127_of_its_scale",
        "zeros have the scale 1",
    ),
    Mutant(
        Q8,
        "[:, :k].astype(np.int32)",
        ".astype(np.int32)",
        f"{Q8_TEST}::test_what_a_last_word_has_to_spare_is_not_unpacked",
        "spare codes",
    ),
    Mutant(
        Q4,
        "LARGEST = 7",
        "LARGEST = 8",
        f"{Q4_TEST}::test_codes_run_from_minus_seven_to_seven_and_ties_go_up",
        "the range",
    ),
    Mutant(
        Q4,
        "GROUP = 128",
        "GROUP = 64",
        f"{Q4_TEST}::test_a_group_is_128_columns_of_one_row_and_the_last_may_be_short",
        "the group",
    ),
    Mutant(
        Q4,
        "nibbles[:, ::2] | nibbles[:, 1::2] << 4",
        "nibbles[:, ::2] << 4 | nibbles[:, 1::2]",
        f"{Q4_TEST}::test_eight_codes_are_packed_lowest_nibble_first",
        "nibble order",
    ),
    Mutant(
        OP,
        'activation(gate, kind="silu"), up',
        'activation(up, kind="silu"), gate',
        f"{TEST}::test_q8_ffn_is_silu_of_the_gate_times_up",
        "gate and up are not swapped",
    ),
    Mutant(
        OP,
        "return narrow(as_float64(weight) @ x.astype(np.float64), x)",
        "return narrow((as_float64(weight) @ x.astype(np.float64)).astype(np.float32), x)",
        f"{TEST}::test_float16_is_rounded_once_from_a_wide_sum",
        "one rounding",
    ),
    Mutant(OP, '"N": count', '"N": first + count', CHUNKS, "a chunk knows its rows"),
    Mutant(
        OP,
        "check(residual == wanted",
        "check(True",
        f"{TEST}::test_a_quantised_weight_that_does_not_fit_is_named",
        "a residual of another size",
    ),
]
