"""Mutants of istft: the half of a spectrum that is folded back, the frames that cover a sample, the work in parts."""

from tests.mutation import Mutant

PARTS = "kernels/_with/"
KERNELS = "kernels/istft/"
OP = "webxpu/ops/istft.py"
TEST = "tests/ops/test_istft.py"
EDGES = "playwright_tests/ops/test_edges_audio.py"
BY_PARTS = f"{TEST}::test_parts_cover_every_sample_once_and_hold_the_frames_that_reach_it"


def case(name: str) -> str:
    return f"istft-{name}"


MUTANTS = [
    Mutant(
        PARTS + "istft_spectrum.wgsl", "k == 0u || 2u * k == N", "2u * k == N", case("8-4-5"), "the first bin is real"
    ),
    Mutant(PARTS + "istft_spectrum.wgsl", "k == 0u || 2u * k == N", "k == 0u", case("8-4-5"), "the middle bin is real"),
    Mutant(
        PARTS + "istft_frame.wgsl",
        "vec2<f32>(-odd.y, odd.x)",
        "vec2<f32>(odd.y, -odd.x)",
        case("8-4-5"),
        "even and odd samples are put together",
    ),
    Mutant(
        PARTS + "istft_frame.wgsl",
        "product(value - mirror, turns[k])",
        "product(value - mirror, conjugate(turns[k]))",
        case("8-4-5"),
        "the turn of the odd samples",
    ),
    Mutant(
        PARTS + "istft_frame.wgsl",
        "return bin(frame, N - k);",
        "return conjugate(bin(frame, N - k));",
        case("7-3-14"),
        "the mirrored half of an odd length",
    ),
    Mutant(
        PARTS + "istft_frame.wgsl",
        "if (k <= N / 2u) {",
        "if (k < N / 2u) {",
        case("7-3-14"),
        "the last bin of an odd length",
    ),
    Mutant(
        PARTS + "istft_frame.wgsl",
        "work_put(j, vec2<f32>());",
        "work_put(j, vec2<f32>(1.0));",
        case("37-11-9-chirp"),
        "zeros behind the chirp",
    ),
    Mutant(PARTS + "istft_frame.wgsl", " / f32(POINTS)", " / f32(N)", case("8-4-5"), "the scale"),
    Mutant(
        PARTS + "istft_frame.wgsl",
        "value.y * window[2u * j + 1u]",
        "value.y * window[2u * j]",
        case("8-4-5"),
        "the odd samples' window",
    ),
    Mutant(
        KERNELS + "direct.wgsl",
        "select(2.0, 1.0, k == 0u || 2u * k == N)",
        "select(2.0, 1.0, k == 0u)",
        case("8-4-5-direct"),
        "the middle bin counts once",
    ),
    Mutant(
        KERNELS + "direct.wgsl",
        "select(2.0, 1.0, k == 0u || 2u * k == N)",
        "select(2.0, 1.0, 2u * k == N)",
        case("8-4-5-direct"),
        "the first bin counts once",
    ),
    Mutant(
        KERNELS + "direct.wgsl",
        "angle -= select(0u, N, angle >= N);",
        "",
        case("7-3-14-direct"),
        "k n is taken modulo N",
    ),
    Mutant(
        KERNELS + "direct.wgsl",
        "value.x - value.y",
        "value.x + value.y",
        case("7-3-14-direct"),
        "the sign of the angle",
    ),
    Mutant(KERNELS + "add.wgsl", "at >= N)", "at > N)", case("8-4-5"), "a frame ends before its n_fft-th sample"),
    Mutant(
        KERNELS + "add.wgsl",
        "min(at / HOP + 1u, arrayLength(&signal) / N)",
        "at / HOP + 1u",
        case("8-4-5-longest"),
        "no frame past the last",
    ),
    Mutant(KERNELS + "add.wgsl", "window[n] * window[n]", "window[n]", case("8-4-5"), "the windows' squares"),
    Mutant(KERNELS + "add.wgsl", "i + SHIFT", "i", case("16-4-6-same"), "the crop"),
    Mutant(
        KERNELS + "add.wgsl",
        "envelope < LEAST_ENVELOPE",
        "false",
        f"{EDGES}::test_a_sample_that_no_window_covers_is_nan_and_its_neighbours_are_not",
        "an uncovered sample is NaN",
    ),
    Mutant(KERNELS + "kernel.wgsl", "wid.x + wid.y * num.x", "wid.x", case("16-5-20"), "folded grids"),
    Mutant(
        KERNELS + "large.wgsl", "frame += slabs()", "frame += frames()", case("8-1-1100-many"), "more frames than slabs"
    ),
    Mutant(
        KERNELS + "large.cpu.wgsl",
        "frame += slabs()",
        "frame += frames()",
        case("8-1-1100-many"),
        "more frames than slabs",
    ),
    Mutant(OP, '"same": (n_fft - hop_length) // 2', '"same": n_fft // 2', f"{TEST}::test_lengths", "what 'same' crops"),
    Mutant(
        OP,
        'if padding == "same":\n        return istft',
        'if padding == "none":\n        return istft',
        f"{TEST}::test_lengths",
        "how far 'same' reaches",
    ),
    Mutant(
        OP,
        "np.flatnonzero(envelope < LEAST_ENVELOPE)",
        "np.flatnonzero(envelope < 0)",
        f"{TEST}::test_a_window_that_leaves_a_sample_uncovered_is_named",
        "an uncovered sample raises",
    ),
    Mutant(OP, "(end - 1 + crop) // hop_length + 1", "(end - 1 + crop) // hop_length", BY_PARTS, "a part's last frame"),
    Mutant(OP, "begin // hop_length - lead", "begin // hop_length", BY_PARTS, "the frames before a part"),
    Mutant(OP, "crop + begin - first * hop_length", "crop", BY_PARTS, "where a part's samples begin"),
]
