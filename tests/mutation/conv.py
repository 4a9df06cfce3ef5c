"""Mutants of conv1d, conv2d and conv3d, and of the parts that they share with their transposes."""

from tests.mutation import Mutant

SHARED = "kernels/_with/conv.wgsl"
WINDOW = "kernels/_with/conv_window.wgsl"
DIRECT = "kernels/_with/conv_direct.wgsl"
TILE = "kernels/_with/conv_tile.wgsl"
OP = "webxpu/ops/conv.py"
TEST = "tests/ops/test_conv.py"
MISFITS = f"{TEST}::test_what_does_not_fit_is_named"
EDGES = "playwright_tests/ops/test_edges_conv.py"
WINDOWS = f"{EDGES}::test_a_convolution_keeps_infinities_and_nans_to_their_windows[adapter]"
PHASES = f"{EDGES}::test_a_transposed_convolution_keeps_them_too[adapter]"

MUTANTS = [
    Mutant(SHARED, "all(at < frame.size)", "all(at.yz < frame.size.yz)", "conv1d-padding-dominates", "ends of axis 0"),
    Mutant(SHARED, "all(at < frame.size)", "all(at.xz < frame.size.xz)", "conv3d-groups", "ends of axis 1"),
    Mutant(SHARED, "all(at < frame.size)", "all(at.xy < frame.size.xy)", "conv3d-groups", "ends of axis 2"),
    Mutant(SHARED, "channel >= OUT_CHANNELS || ", "", "conv1d-length-300", "the last channel"),
    Mutant(SHARED, " || spot.place >= frame.positions", "", "conv1d-tile-2x131", "the last position of a tile"),
    Mutant(SHARED, "bias[frame.group * OUT_CHANNELS + channel]", "bias[channel]", "conv1d-all-knobs", "a group's bias"),
    Mutant(SHARED, "BIAS == 1u", "BIAS <= 1u", "conv1d-no-bias", "no bias is read where none is"),
    Mutant(SHARED, "i / size2 % size1", "i / size1 % size1", "conv3d-all-knobs", "axis 1 of a position"),
    Mutant(SHARED, "+ at.x) * SIZE1", "+ at.x) * SIZE2", "conv3d-all-knobs", "x's rows"),
    Mutant(
        SHARED,
        "(arrayLength(&samples) * GROUPS * IN_CHANNELS)",
        "(GROUPS * IN_CHANNELS)",
        "conv1d-length-8",
        "x's length",
    ),
    Mutant(
        SHARED,
        "(arrayLength(&samples) * GROUPS * OUT_CHANNELS)",
        "(GROUPS * OUT_CHANNELS)",
        "conv1d-length-8",
        "out's length",
    ),
    Mutant(WINDOW, "Spot(sample * GROUPS + frame.group,", "Spot(frame.group,", "conv1d-length-8", "the sample"),
    Mutant(WINDOW, "Spot(sample * GROUPS + frame.group,", "Spot(sample * GROUPS,", "conv1d-depthwise", "the group"),
    Mutant(
        WINDOW,
        "place, sample < arrayLength(&samples)",
        "place, true",
        "conv1d-tile-2x131",
        "positions past the last sample",
    ),
    Mutant(
        DIRECT,
        "if (sample >= arrayLength(&samples))",
        "if (false)",
        "conv1d-length-300",
        "threads past the last sample",
        survives="spot_at stores nothing past the last sample; they only stop early",
    ),
    Mutant(DIRECT, "line / quads % GROUPS", "0u * line", "conv1d-all-knobs", "a thread's group"),
    Mutant(
        OP,
        "nbytes=4 * count",
        "nbytes=0",
        f"{TEST}::test_samples_too_large_to_bind_together_run_in_parts",
        "a part's samples are counted",
    ),
    Mutant(OP, "nbytes=4 * count", "nbytes=0", "conv1d-samples-of-whole-pages", "a part's samples are counted"),
    Mutant(
        OP,
        "arg(1 if bias is None else 2)",
        "arg(0 if bias is None else 2)",
        f"{TEST}::test_samples_too_large_to_bind_together_run_in_parts",
        "what stands for an absent bias is bound whole",
    ),
    Mutant(WINDOW, " - vec3<i32>(vec3<u32>(PADDING0, PADDING1, PADDING2))", "", "conv2d-all-knobs", "padding"),
    Mutant(
        WINDOW,
        "vec3<u32>(STRIDE0, STRIDE1, STRIDE2)",
        "vec3<u32>(STRIDE1, STRIDE0, STRIDE2)",
        "conv2d-all-knobs",
        "a stride an axis",
    ),
    Mutant(WINDOW, "frame.group * OUT_CHANNELS + channel", "channel", "conv1d-all-knobs", "a group's weights"),
    Mutant(WINDOW, "block * 64u", "block * 65u", "conv1d-tile-2x131", "tiles touch"),
    Mutant(DIRECT, "line % quads * 4u", "0u", "conv1d-length-8", "a thread's channels"),
    Mutant(DIRECT, "t1 < spot.taps.y", "t1 < 1u", "conv2d-all-knobs", "taps of axis 1"),
    Mutant(DIRECT, "t2 < spot.taps.z", "t2 < 1u", "conv3d-all-knobs", "taps of axis 2"),
    Mutant(DIRECT, "c * TAPS0 + t0", "t0", "conv1d-length-8", "an input channel's weights"),
    Mutant(
        DIRECT,
        ", vec4<u32>(OUT_CHANNELS - 1u)",
        ", vec4<u32>(OUT_CHANNELS)",
        "conv1d-length-8",
        "channels past the end",
        survives="they are not stored, and WebGPU keeps reads within the buffer",
    ),
    Mutant(
        TILE,
        "(OUT_CHANNELS + ROWS - 1u) / ROWS",
        "max(OUT_CHANNELS / ROWS, 1u)",
        "conv1d-tile-groups",
        "the last tile of channels",
    ),
    Mutant(TILE, "line / heights % GROUPS", "0u * line", "conv1d-tile-groups", "a tile's group"),
    Mutant(TILE, "base += 32u", "base += 64u", "conv1d-tile-2x131", "every term is met"),
    Mutant(
        TILE, "quad < 8u; quad += 4u", "quad < 4u; quad += 4u", "conv1d-tile-2x131", "all quads of weights are loaded"
    ),
    Mutant(
        TILE, "i < 512u; i += 4u * ROWS", "i < 256u; i += 4u * ROWS", "conv1d-tile-2x131", "all terms of x are loaded"
    ),
    Mutant(
        TILE,
        "spot_in_block(frame, block, tx * 4u + 3u)",
        "spot_in_block(frame, block, tx * 4u + 2u)",
        "conv1d-tile-2x131",
        "four positions a thread",
    ),
    Mutant(
        TILE,
        "select(0.0, value, k < terms)",
        "value",
        WINDOWS,
        "weights past the last term are zero, also infinite ones",
    ),
    Mutant(TILE, "k < terms && all", "all", WINDOWS, "x past the last term is zero, also a NaN"),
    Mutant(TILE, " && all(term.tap < spot0.taps)", "", PHASES, "elements that a phase has not meet no infinity"),
    Mutant(
        TILE,
        "min(first_channel + local / 4u, OUT_CHANNELS - 1u)",
        "first_channel + local / 4u",
        "conv1d-tile-2x131",
        "channels past the end",
        survives="they are not stored, and WebGPU keeps reads within the buffer",
    ),
    Mutant(
        OP,
        "matrices[(..., *tap)] @ wide[seen]",
        "matrices[(..., *(k - 1 - t for k, t in zip(kernel, tap)))] @ wide[seen]",
        f"{TEST}::test_the_kernel_is_not_flipped",
        "no flip",
    ),
    Mutant(
        OP,
        "[(0, 0), (0, 0), *((p, p) for p in padding)]",
        "[(0, 0), (0, 0), *((0, 2 * p) for p in padding)]",
        f"{TEST}::test_zeros_are_padded_at_both_ends",
        "both ends",
    ),
    Mutant(
        OP,
        "(length + 2 * padding -",
        "(length + padding -",
        f"{TEST}::test_the_output_length_is_torchs",
        "both ends count",
    ),
    Mutant(OP, "check(min(lengths) > 0, ", "check(True, ", MISFITS, "a kernel wider than the padded input"),
    Mutant(OP, "check(share == c_in // groups,", "check(share <= c_in // groups,", MISFITS, "the weight's channels"),
    Mutant(OP, '"dilation", dilation, rank, 1)', '"dilation", dilation, rank, 0)', MISFITS, "a dilation of 0"),
    Mutant(TILE, "wid.x + wid.y * num.x", "wid.x", "conv1d-tile-2x131", "folded grids"),
    Mutant(DIRECT, "wid.x + wid.y * num.x", "wid.x", "conv1d-length-300", "folded grids"),
    Mutant(
        OP,
        "all(c % groups == 0 for c in channels.values())",
        "channels['Cin'] % groups == 0",
        MISFITS,
        "groups divide Cout too",
    ),
    Mutant(OP, "bias.shape == (c_out,)", "len(bias.shape) == 1", MISFITS, "a bias a channel"),
    Mutant(
        OP,
        "_DIRECT_CHANNELS = 8",
        "_DIRECT_CHANNELS = 9",
        f"{TEST}::test_few_channels_and_cpu_adapters_take_no_tile",
        "when a tile pays",
    ),
]
