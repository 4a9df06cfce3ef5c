"""Mutants of conv_transpose1d and conv_transpose2d; the parts shared with convolutions have theirs in conv.py."""

from tests.mutation import Mutant
from tests.mutation.conv import PHASES

PART = "kernels/_with/conv_phase.wgsl"
OP = "webxpu/ops/conv_transpose.py"
TEST = "tests/ops/test_conv_transpose.py"
MISFITS = f"{TEST}::test_what_does_not_fit_is_named"
SHARING = "conv_transpose1d-stride-shares-a-factor"


def case(rank: int, name: str) -> str:
    return f"conv_transpose{rank}d-{name}"


MUTANTS = [
    Mutant(
        PART,
        "select(vec3<u32>(), taps, phase % shared_factor == vec3<u32>())",
        "taps",
        SHARING,
        "phases that no element meets",
    ),
    Mutant(
        PART,
        "vec3<u32>(INVERSE0, INVERSE1, INVERSE2) % period",
        "vec3<u32>(1u) % period",
        SHARING,
        "a phase's first element",
    ),
    Mutant(PART, "at + vec3<u32>(PADDING0, PADDING1, PADDING2)", "at", case(1, "crop-dominates"), "cropping"),
    Mutant(
        PART, "skipped + period - 1u) / period", "skipped) / period", case(1, "length-255"), "a phase's last element"
    ),
    Mutant(
        PART,
        "vec3<i32>(full) - vec3<i32>(skipped) * dilation",
        "vec3<i32>(full)",
        case(1, "stride-and-dilation"),
        "where an element lies",
    ),
    Mutant(
        PART, "(frame.out_size + stride - 1u) / stride", "frame.out_size / stride", case(2, "tile"), "the longest phase"
    ),
    Mutant(PART, "count + 63u) / 64u", "count + 127u) / 64u", case(1, "tile-2x71"), "a phase's tiles"),
    Mutant(PART, " && all(at < frame.out_size)", "", case(2, "tile"), "positions past the end of a row"),
    Mutant(
        PART,
        "select(arrayLength(&samples), column / count, phase.x < STRIDE0)",
        "column / count",
        case(1, "tile-2x71"),
        "tiles past the last phase",
        survives="they repeat places of earlier phases with the same values",
    ),
    Mutant(PART, "sample < arrayLength(&samples) && ", "", case(1, "tile-2x71"), "positions past the last sample"),
    Mutant(PART, "Spot(sample * GROUPS + frame.group,", "Spot(frame.group,", case(1, "length-255"), "the sample"),
    Mutant(
        PART, "frame.group * IN_CHANNELS + term.channel", "term.channel", case(1, "tile-groups"), "a group's weights"
    ),
    Mutant(PART, "* OUT_CHANNELS + channel", "* IN_CHANNELS + channel", case(1, "length-12"), "Cin leads"),
    Mutant(
        PART,
        "term.tap * vec3<u32>(PERIOD0, PERIOD1, PERIOD2)",
        "term.tap",
        case(1, "length-255"),
        "every PERIOD-th element",
    ),
    Mutant(
        PART,
        "select(0.0, weight[i], all(at < vec3<u32>(KERNEL0, KERNEL1, KERNEL2)))",
        "weight[i]",
        PHASES,
        "no element of the next channel, not even times zero",
    ),
    Mutant(
        OP,
        ".swapaxes(1, 2)",
        ".reshape(groups, share, c_in // groups, *kernel)",
        f"{TEST}::test_the_weight_leads_with_the_input_channels",
        "Cin leads",
    ),
    Mutant(
        OP,
        "sums[strided(padding, [1] * len(padding), lengths)]",
        "sums[strided([0] * len(padding), [1] * len(padding), lengths)]",
        f"{TEST}::test_padding_crops_both_ends",
        "cropping",
    ),
    Mutant(
        OP,
        "(kernel - 1) + output_padding + 1",
        "(kernel - 1) + 1",
        f"{TEST}::test_output_padding_lengthens_the_tail_and_the_bias_lies_on_it",
        "the tail",
    ),
    Mutant(OP, "[-f for f in falls]", "falls", case(1, "length-12"), "from one element to the next the sample before"),
    Mutant(
        OP,
        "max(s, d) - 1",
        "s - 1",
        MISFITS,
        "either bound suffices",
    ),
    Mutant(OP, "max(s, d) - 1", "max(s, d)", MISFITS, "output_padding is bounded"),
    Mutant(OP, "check(led == c_in,", "check(True,", MISFITS, "a convolution's weight"),
    Mutant(OP, "check(min(lengths) > 0,", "check(min(lengths) >= 0,", MISFITS, "an empty output"),
]
