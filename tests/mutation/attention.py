"""Mutants of attention, and of what it shares with grouped_attention and flash_attention."""

from tests.mutation import Mutant

KEYS = "kernels/_with/attention_keys.wgsl"
SCORE = "kernels/_with/attention_score.wgsl"
QK = "kernels/_with/attention_qk.wgsl"
SCORES = "kernels/_with/attention_scores.wgsl"
SCORES_THREAD = "kernels/_with/attention_scores_thread.wgsl"
SOFTMAX = "kernels/_with/attention_softmax.wgsl"
VALUES = "kernels/_with/attention_values.wgsl"
CONTEXT = "kernels/_with/attention_context.wgsl"
CONTEXT_THREAD = "kernels/_with/attention_context_thread.wgsl"
OP = "webxpu/ops/_attention.py"
TEST = "tests/ops/test_attention.py"
EDGES = "playwright_tests/ops/test_edges_attention.py"
INFINITY = f"{EDGES}::test_an_infinity_in_the_last_place_stays_one"
NAN = f"{EDGES}::test_a_nan_in_a_query_stays_in_its_row_and_stays_one"
OFFSETS = f"{EDGES}::test_an_offset_below_zero_counts_as_zero"
GROUPS = f"{EDGES}::test_groups_of_heads_make_the_same"
ADDS_INFINITIES = "a device that keeps infinities adds -inf to -inf, whose exponential is 0; others need the bits"

MUTANTS = [
    Mutant(KEYS, "return min(keys, position + 1u);", "return min(keys, position);", "attention-5x7-causal",
           "its own key"),
    Mutant(KEYS, "+ u32(max(offset[0], 0))", "", "attention-3x7-causal-at-4", "the offset"),
    Mutant(KEYS, "u32(max(offset[0], 0))", "u32(offset[0])", OFFSETS, "an offset below zero"),
    Mutant(KEYS, "row % length, keys)", "row, keys)", "attention-5x7-causal", "rows of later heads",
           survives="a kv head of its own has L rows; tests/mutation/gqa.py has the same for groups"),
    Mutant(SCORE, "product * SCALE + bit", "product + bit", "attention-mask-2.1.1.7", "the scale with a mask"),
    Mutant(SCORE, "bitcast<u32>(product * SCALE);", "bitcast<u32>(product);", "attention-scale", "the scale"),
    Mutant(SCORE, "(MASK & 2u)", "(MASK & 4u)", "attention-mask-2.1.1.7", "samples of the mask"),
    Mutant(SCORE, "(MASK & 4u)", "(MASK & 2u)", "attention-mask-1.3.4.7", "heads of the mask"),
    Mutant(SCORE, "(MASK & 8u)", "(MASK & 2u)", "attention-mask-1.3.4.7", "rows of the mask"),
    Mutant(SCORE, "line * H + query_head % H", "line + query_head % H", "attention-mask-2.3.4.70",
           "strides of samples"),
    Mutant(SCORE, "line * length + row % length", "line + row % length", "attention-mask-2.3.4.70", "strides of heads"),
    Mutant(SCORE, "(FIRST + head)", "(head)", GROUPS, "the first head of a part"),
    Mutant(SCORE, "if (bias == HIDDEN) {", "if (bias == 1u) {", "attention-hidden-by-minus-infinity",
           "-inf by its bits",
           survives=ADDS_INFINITIES),
    Mutant(QK, "f32(q[row * D + min(column, D - 1u)]), column < D)", "f32(q[row * D + min(column, D - 1u)]), true)",
           INFINITY, "columns of q past D",
           survives="k is 0 there too; each guard alone keeps finite values apart, and together they keep infinities"),
    Mutant(QK, "f32(k[row * D + min(column, D - 1u)]), column < D)", "f32(k[row * D + min(column, D - 1u)]), true)",
           INFINITY, "columns of k past D"),
    Mutant(SCORES, "row < rows && key < keys", "key < keys", "attention-5x7", "rows past the last"),
    Mutant(SCORES, "row < rows && key < keys", "row < rows", "attention-5x7", "keys past the last"),
    Mutant(SCORES, "if (tile >= HEADS * down * across)", "if (false)", "attention-wide", "workgroups past the last"),
    Mutant(SCORES, "if (first_key >=", "if (first_key + 64u >=", "attention-3x300-causal", "tiles that are seen",),
    Mutant(SCORES, "column < D; column += 16u", "column < min(D, 16u); column += 16u", "attention-wide", "all columns"),
    Mutant(SCORES_THREAD, "if (job >= arrayLength(&scores))", "if (false)", "attention-5x7", "threads past the last"),
    Mutant(SCORES_THREAD, "head * keys + key)", "key)", "attention-5x7", "keys of the head"),
    Mutant(SOFTMAX, "largest = max(largest, bitcast<f32>(bits));", "", "attention-overflow",
           "the largest is subtracted"),
    Mutant(SOFTMAX, "-0x1.fffffep127f", "-3.402823e38", "attention-hidden-by-the-lowest",
           "the lowest float to the bit"),
    Mutant(SOFTMAX, "&& whole != 0.0", "", "attention-hidden-by-minus-infinity", "a row that sees nothing"),
    Mutant(SOFTMAX, "if (key < seen &&", "if (", "attention-5x7-causal", "keys that are not seen are 0"),
    Mutant(SOFTMAX, "at < seen; i++", "at < keys; i++", "attention-5x7-causal",
           "keys that are not seen are not summed"),
    Mutant(SOFTMAX, "key < seen; key += team_step()", "key < keys; key += team_step()", "attention-direction",
           "keys that are not seen are not the largest"),
    Mutant(SOFTMAX, "if (team_line(thread, lines + 1u) == lines)", "if (false)", "attention-5x7", "the last line once"),
    Mutant(SOFTMAX, "    if (bits == HIDDEN) {", "    if (bits == 1u) {", "attention-dead-sample", "-inf by its bits",
           survives=ADDS_INFINITIES),
    Mutant(VALUES, "i < 4u && column + i < DV", "i < 4u", "attention-5x7", "columns past the last"),
    Mutant(CONTEXT, "row * keys + min(key, keys - 1u)", "row * keys + key", NAN, "keys past the last"),
    Mutant(CONTEXT, "value, from_key < end)", "value, true)", "attention-5x7", "values past the last"),
    Mutant(CONTEXT, "if (row < rows) {", "if (true) {", "attention-5x7", "rows past the last"),
    Mutant(CONTEXT, "if (tile >= HEADS * down * across)", "if (false)", "grouped_attention-8.4-9x4-causal",
           "workgroups past the last"),
    Mutant(CONTEXT_THREAD, "if (job >= HEADS * rows * quads)", "if (false)", "attention-5x7", "threads past the last"),
    Mutant(CONTEXT_THREAD, "key < seen", "key < keys", "attention-unseen", "values that are not seen"),
    Mutant(OP, "[:, None] + offset] = -np.inf", "[:, None]] = -np.inf",
           f"{TEST}::test_causal_is_upper_left_without_an_offset_and_lower_right_with_s_minus_l", "the offset"),
    Mutant(OP, "min(s, length + offset) if causal", "s if causal", f"{TEST}::test_keys_that_no_query_sees_are_not_read",
           "a cache's rest"),
    Mutant(OP, "np.where(np.isneginf(largest), 0, largest)", "np.where(largest < -3e38, 0, largest)",
           f"{TEST}::test_a_row_of_the_lowest_float_is_uniform", "the lowest is no -inf"),
    Mutant(OP, "check(offset >= 0,", "check(offset >= -1,", f"{TEST}::test_an_offset_below_zero_is_refused", "sign"),
    Mutant(OP, "check(not causal, op", "check(True, op",
           f"{TEST}::test_what_does_not_fit_is_named_by_each_of_the_three_ops", "a mask and causal"),
    Mutant(OP, "if n > 1", "if n > 0", f"{TEST}::test_a_mask_that_is_shared_says_so", "which axes the mask has"),
    Mutant(OP, "{\"FIRST\": first} if numbered else {}", "{}",
           f"{TEST}::test_what_is_too_large_to_bind_is_computed_in_groups_of_heads", "the first head of a part"),
    Mutant("webxpu/ops/attention.py", "np.float32(0), np.float32(-np.inf))", "np.float32(-np.inf), np.float32(0))",
           f"{TEST}::test_a_key_that_is_kept_is_torchs_true", "the polarity"),
]  # fmt: skip
