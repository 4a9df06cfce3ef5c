"""Mutants of ctc_decode: the order of its rules, ties, winners in every lane, and what stands behind the tokens."""

from tests.mutation import Mutant

KERNELS = "kernels/ctc_decode/"
OP = "webxpu/ops/ctc_decode.py"
TEST = "tests/ops/test_ctc_decode.py"
EDGES = "playwright_tests/ops/test_edges_audio.py"


def case(name: str) -> str:
    return f"ctc_decode-{name}"


MUTANTS = [
    Mutant(
        KERNELS + "path.wgsl",
        "i = local + 256u; i < C",
        "i = local + 256u; i < C - 1u",
        case("far-winners"),
        "the last class",
    ),
    Mutant(KERNELS + "path.wgsl", "> score)", ">= score)", case("far-ties"), "ties within a lane"),
    Mutant(KERNELS + "path.wgsl", "i32(token))", "i32(local))", case("far-winners"), "the class, not the lane"),
    Mutant(
        KERNELS + "path.wgsl",
        "wid.x + wid.y * num.x",
        "wid.x",
        f"{EDGES}::test_a_device_without_subgroups_decodes_more_frames_than_a_grid_is_wide",
        "folded grids",
    ),
    Mutant(
        KERNELS + "path.subgroups.wgsl",
        "i = lane + size; i < C",
        "i = lane + size; i < C - 1u",
        case("far-winners"),
        "the last class",
    ),
    Mutant(KERNELS + "path.subgroups.wgsl", "> score)", ">= score)", case("far-ties"), "ties within a lane"),
    Mutant(
        KERNELS + "path.subgroups.wgsl",
        "subgroupMin(select(C - 1u, token, score == best))",
        "subgroupMax(select(0u, token, score == best))",
        case("tie"),
        "ties across lanes",
    ),
    Mutant(
        KERNELS + "path.subgroups.wgsl",
        "(wid.x + wid.y * num.x) * subgroups",
        "wid.x * subgroups",
        case("50x2x6"),
        "folded grids",
    ),
    Mutant(KERNELS + "path.cpu.wgsl", "> scores[", ">= scores[", case("tie"), "ties"),
    Mutant(KERNELS + "path.cpu.wgsl", "i < C; i++", "i < C - 1u; i++", case("repeats"), "the last class"),
    Mutant(
        KERNELS + "collapse.wgsl",
        "token != path[start + max(t, 1u) - 1u]",
        "true",
        case("repeats"),
        "repeats become one",
    ),
    Mutant(KERNELS + "collapse.wgsl", "t == 0u || ", "", case("blank-outside"), "the first frame has none before it"),
    Mutant(KERNELS + "collapse.wgsl", "token != BLANK && ", "", case("long"), "blanks are dropped"),
    Mutant(
        KERNELS + "collapse.wgsl",
        "select(0u, counts[i], i < local)",
        "select(0u, counts[i], i <= local)",
        case("long"),
        "where a share's tokens begin",
    ),
    Mutant(
        KERNELS + "collapse.wgsl",
        "(length + 255u) / 256u",
        "length / 256u + 1u - u32(length > 512u)",
        case("2x700x6"),
        "shares cover every frame",
    ),
    Mutant(
        KERNELS + "collapse.wgsl",
        "t = total + local; t < length",
        "t = total + local; t < length - 1u",
        case("repeats"),
        "-1 to the end",
    ),
    Mutant(KERNELS + "collapse.wgsl", "EMPTY == 1u", "false", case("no-frames"), "no frames have no tokens"),
    Mutant(
        KERNELS + "collapse.wgsl",
        "min(wid.x + wid.y * num.x, batch - 1u)",
        "min(wid.x, batch - 1u)",
        case("7x3x37"),
        "folded grids",
    ),
    Mutant(
        OP,
        "row[1:] != row[:-1]",
        "row[1:] != blank",
        f"{TEST}::test_repeats_become_one_and_then_blanks_are_dropped",
        "the reference's repeats",
    ),
    Mutant(
        OP,
        "kept[kept != blank]",
        "kept[kept != 0]",
        f"{TEST}::test_another_class_may_be_the_blank",
        "the reference's blank",
    ),
]
