"""Mutants of rope, rope_axes and their tables."""

from tests.mutation import Mutant

TABLE = "kernels/rope/kernel.wgsl"
AXES = "kernels/rope/axes.wgsl"
PAIR = "kernels/_with/rope_pair.wgsl"
WIDE = "kernels/_with/wide.wgsl"
SINE = "kernels/_with/sincos.wgsl"
OP = "webxpu/ops/rope.py"
SPEEDS = "webxpu/ops/_rope_frequencies.py"
TEST = "tests/ops/test_rope.py"
NAMED = f"{TEST}::test_options_that_do_not_fit_are_named"
STRETCHED = f"{TEST}::test_stretched_frequencies_are_transformers"
CUT = f"{TEST}::test_a_ramp_beyond_the_pairs_slows_none_of_them_or_all"
Z_IMAGE = f"{TEST}::test_axes_turn_as_z_images_complex_numbers"

MUTANTS = [
    Mutant(PAIR, "select(2u * pair, pair, HALF == 1u)", "2u * pair", "rope-half-3x4x16", "halves"),
    Mutant(PAIR, "select(1u, width / 2u, HALF == 1u)", "width / 2u", "rope-adjacent-3x4x16", "adjacent channels"),
    Mutant(PAIR, "head % H - HEAD_OFFSET", "head % H", "rope-heads-2-and-3", "the first head that turns"),
    Mutant(PAIR, "head % H - HEAD_OFFSET", "head - HEAD_OFFSET", "rope-heads-from-3", "heads of every row"),
    Mutant(PAIR, "< HEAD_COUNT", "<= HEAD_COUNT", "rope-heads-2-and-3", "the last head that turns"),
    Mutant(PAIR, "select(a, a * turn.x - b * turn.y, turns)", "select(0.0, a * turn.x - b * turn.y, turns)",
           "rope-heads-none", "other heads are copied"),
    Mutant(PAIR, "a * turn.x - b * turn.y", "a * turn.x + b * turn.y", "rope-adjacent-3x4x16", "the direction"),
    Mutant(TABLE, "clamp(positions[head / H], 0, last)", "clamp(positions[head / H], 0, last - 1)", "rope-adjacent-far",
           "the table's last row"),
    Mutant(TABLE, "position * (D / 2u) + pair", "position % 4096u * (D / 2u) + pair", "rope-adjacent-far",
           "a position does not wrap"),
    Mutant(TABLE, "positions[head / H]", "positions[head % H]", "rope-adjacent-3x4x16", "a position a row"),
    Mutant(AXES, "if (row < arrayLength(&out) / (H * D))", "if (row < arrayLength(&out) / (H * D) - 1u)",
           "rope-from-0", "the last row"),
    Mutant(AXES, "wid.x + wid.y * num.x", "wid.x", "rope-30x9x64", "folded grids"),
    Mutant(AXES, "min((block + 1u) * HEADS, H)", "(block + 1u) * HEADS - 1u", "rope-9-heads", "the heads of a block"),
    Mutant(AXES, "(H + HEADS - 1u) / HEADS", "H / HEADS", "rope-9-heads", "the heads past the last whole block"),
    Mutant(AXES, "positions[row * AXES + AXIS]", "positions[row * AXES]", "rope_axes-three", "the axis"),
    Mutant(AXES, "positions[row * AXES + AXIS]", "positions[row + AXIS]", "rope_axes-three", "the row's positions"),
    Mutant(AXES, "head, START, WIDTH", "head, 0u, WIDTH", "rope_axes-three", "the block's channels"),
    Mutant(AXES, "GAIN * near.yx", "near.yx", "rope-yarn", "the attention factor"),
    Mutant(AXES, "GAIN * near.yx", "GAIN * near", "rope-from-0", "cosine before sine"),
    Mutant(AXES, "select(angle, 0u - angle, negative)", "angle", "rope-negative", "negative positions turn back"),
    Mutant(AXES, "multiply_high(rest, turns.y)", "0u", "rope-fractional", "fractions of a position"),
    Mutant(AXES, "whole * turns.y + multiply_high(whole, turns.x)", "whole * turns.y", "rope-computed-farthest",
           "the low word, which far positions reach"),
    Mutant(AXES, "if (WHOLE == 0u)", "if (false)", "rope-fractional", "float32 positions"),
    Mutant(AXES, "(angle + 0x20000000u) >> 30u", "angle >> 30u", "rope-30x9x64", "the nearest quarter turn"),
    Mutant(AXES, "clamp(i32(pair) - RAMP_START, 0, RAMP_LENGTH)", "clamp(i32(pair), 0, RAMP_LENGTH)",
           "rope-yarn-far", "where the ramp begins"),
    Mutant(AXES, "clamp(i32(pair) - RAMP_START, 0, RAMP_LENGTH)", "max(i32(pair) - RAMP_START, 0)", "rope-yarn",
           "where the ramp ends"),
    Mutant(AXES, "steps * STEP_HIGH + multiply_high(steps, STEP_LOW)", "STEP_HIGH", "rope-yarn", "the ramp's slope"),
    Mutant(AXES, "bits >>= 1u", "bits >>= 2u", "rope-from-7", "powers of the ratio"),
    Mutant(AXES, "0x9391054au, 0x28be60dbu", "0x9391054au, 0x28be60dcu", "rope-computed-farthest", "the radian"),
    Mutant(WIDE, "+ (mid >> 16u) + (other >> 16u)", "+ (mid >> 16u)", "rope-computed-farthest", "both carries"),
    Mutant(WIDE, "a.y + b.y + select(0u, 1u, sum < a.x)", "a.y + b.y", "rope-computed-farthest", "the carry of a sum"),
    Mutant(SINE, "case 1u: { return vec2<f32>(c, -s); }", "case 1u: { return vec2<f32>(c, s); }", "rope-from-0",
           "signs of the quarters"),
    Mutant(SPEEDS, "(d / (d - 2))", "(d / d)", f"{TEST}::test_ntk_raises_the_base_by_the_power_d_over_d_minus_2",
           "NTK's exponent"),
    Mutant(SPEEDS, "max(math.floor(low), 0)", "max(round(low), 0)", STRETCHED, "the ramp's floor"),
    Mutant(SPEEDS, "min(math.ceil(high), d - 1)", "min(round(high), d - 1)", STRETCHED, "the ramp's ceiling"),
    Mutant(SPEEDS, "max(math.floor(low), 0)", "math.floor(low)", STRETCHED, "no ramp before the first pair"),
    Mutant(SPEEDS, "ramp_high + 0.001 if", "ramp_high + 1000 if", STRETCHED, "a ramp of no length"),
    Mutant(SPEEDS, "0.1 * math.log(scaling.factor) + 1", "1", STRETCHED, "the temperature"),
    Mutant(SPEEDS, "np.clip((turns - low_freq_factor)", "np.clip((turns - high_freq_factor)",
           f"{TEST}::test_llama_3s_factors_are_transformers_and_go_into_the_table", "Llama 3's smooth part"),
    Mutant(SPEEDS, "check(1 <= scaling.factor < math.inf", "check(True", NAMED, "a factor below 1"),
    Mutant(OP, "frequencies(w, RopeFrequencies(base)) for", "frequencies(128, RopeFrequencies(base))[: w // 2] for",
           Z_IMAGE, "the exponent is the axis's own width's"),
    Mutant(OP, "if params.ramp_low <= 0 else (-1, 1)", "if params.ramp_low < 0 else (-1, 1)",
           CUT, "a ramp that ends before the first pair slows nothing"),
    Mutant(OP, "if params.ramp_low <= 0 else (-1, 1)", "if True else (-1, 1)", CUT,
           "a ramp that begins after the last pair slows everything"),
    Mutant(OP, "0 <= head_offset <= last <= h", "0 <= head_offset <= last", NAMED, "heads past the last"),
    Mutant(OP, "halves.swapaxes(1, 2)", "halves",
           f"{TEST}::test_permuted_rows_turn_in_adjacent_pairs_as_they_did_in_halves", "halves become pairs"),
    Mutant(OP, "row = (4 * h * d, 4 * axes, 4 * h * d)", "row = (4 * h * d, 0, 4 * h * d)",
           f"{TEST}::test_rows_that_one_binding_cannot_hold_go_in_chunks", "positions of a chunk"),
]  # fmt: skip
