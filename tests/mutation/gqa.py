"""Mutants of grouped_attention; those of the parts that it shares are in attention.py."""

from tests.mutation import Mutant

KEYS = "kernels/_with/attention_keys.wgsl"
SCORE = "kernels/_with/attention_score.wgsl"
SCORES = "kernels/_with/attention_scores.wgsl"
CONTEXT = "kernels/_with/attention_context.wgsl"
CONTEXT_THREAD = "kernels/_with/attention_context_thread.wgsl"
OP = "webxpu/ops/gqa.py"
SHARED = "webxpu/ops/_attention.py"
TEST = "tests/ops/test_gqa.py"
REFUSED = f"{TEST}::test_a_length_that_does_not_hold_what_is_seen_is_refused"

MUTANTS = [
    Mutant(KEYS, "row % length, keys)", "row, keys)", "grouped_attention-4.1-5x9-causal",
           "positions start in each head"),
    Mutant(KEYS, "first / length == last / length", "true", "grouped_attention-4.1-5x9-causal",
           "rows of several heads"),
    Mutant(SCORE, "* GROUP + row / length", "* GROUP", "grouped_attention-mask-by-query-head",
           "query heads of the mask"),
    Mutant(SCORES, "head * keys + min(", "min(", "grouped_attention-groups", "the kv head's keys"),
    Mutant(SCORES, "let length = rows / GROUP;", "let length = rows;", "grouped_attention-mask-by-query-head",
           "rows a head"),
    Mutant(CONTEXT, "v_quad(head * keys + ", "v_quad(", "grouped_attention-groups", "the kv head's values"),
    Mutant(CONTEXT, "rows / GROUP, keys);", "rows, keys);", "grouped_attention-prefill-of-a-cache", "rows a head"),
    Mutant(CONTEXT_THREAD, "row / rows * keys + key", "key", "grouped_attention-groups", "the kv head's values"),
    Mutant(SHARED, "h // g * length, seen)",
           "h // g * length, seen)[:, ::-1]", f"{TEST}::test_neighbouring_heads_share_a_kv_head",
           "the order of kv heads"),
    Mutant(SHARED, "h % g == 0 if grouped", "True if grouped", f"{TEST}::test_kv_heads_divide_the_heads", "H % Hkv"),
    Mutant(OP, "return head // (heads // kv_heads)", "return head % kv_heads",
           f"{TEST}::test_neighbouring_heads_share_a_kv_head", "contiguous, not strided"),
    Mutant(OP, "s_eff in range(1, s + 1)", "s_eff in range(0, s + 1)", REFUSED, "at least one position"),
    Mutant(OP, "causal or s_eff == s", "True", REFUSED, "fewer need causal"),
    Mutant(OP, "s_eff >= needed", "True", REFUSED, "what the queries see"),
    Mutant(OP, "* (d + dv) *", "* 2 * d *", f"{TEST}::test_a_cache_shrinks_with_its_kv_heads", "two widths"),
]  # fmt: skip
