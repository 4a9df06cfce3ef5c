"""Mutants of stft: how frames are cut, every kind of transform, its tables, and the plan's choices."""

from tests.mutation import Mutant

PARTS = "kernels/_with/"
KERNELS = "kernels/stft/"
OP = "webxpu/ops/stft.py"
TEST = "tests/ops/test_stft.py"
EDGES = "playwright_tests/ops/test_edges_audio.py"


def case(name: str) -> str:
    return f"stft-{name}"


MUTANTS = [
    Mutant(
        PARTS + "stft_signal.wgsl", "last - abs(last - at)", "min(at, last)", case("8-4-16"), "the end is reflected"
    ),
    Mutant(
        PARTS + "stft_signal.wgsl",
        "abs(i32((FIRST + frame) * HOP + i) - i32(PAD))",
        "max(i32((FIRST + frame) * HOP + i) - i32(PAD), 0)",
        case("8-4-16"),
        "the begin is reflected",
    ),
    Mutant(PARTS + "stft_signal.wgsl", " * window[i]", "", case("8-4-16"), "the window"),
    Mutant(
        PARTS + "stft_signal.wgsl",
        "(FIRST + frame)",
        "frame",
        f"{EDGES}::test_an_stft_in_parts_is_the_same",
        "a part's first frame",
    ),
    Mutant(PARTS + "turn.wgsl", "(8u * m + n)", "(8u * m)", case("400-160-1000"), "the nearest quarter turn"),
    Mutant(PARTS + "turn.wgsl", "i32(4u * m)", "i32(4u * m + 1u)", case("8-4-16"), "what the quarters leave"),
    Mutant(
        PARTS + "fft.wgsl",
        "vec2<f32>(b.y - d.y, d.x - b.x)",
        "vec2<f32>(d.y - b.y, b.x - d.x)",
        case("8-4-16"),
        "the transform's direction",
    ),
    Mutant(
        PARTS + "fft.wgsl",
        "there + (i - k) * 4u + k",
        "there + i * 4u",
        case("512-128-1024"),
        "where a radix-4 stage puts its values",
    ),
    Mutant(
        PARTS + "fft.wgsl",
        "root_of_unity(2u * k * unit)",
        "root_of_unity(k * unit)",
        case("512-128-1024"),
        "a radix-4 stage's second root",
    ),
    Mutant(
        PARTS + "fft.wgsl",
        "angle -= select(0u, SIZE, angle >= SIZE);",
        "",
        case("7-3-40"),
        "angles stay within the table",
    ),
    Mutant(PARTS + "fft.wgsl", "j < radix", "j < min(radix, 30u)", case("62-9-70"), "every value of the largest radix"),
    Mutant(
        PARTS + "fft.wgsl",
        "here + i / (done * radix) * done + k % done",
        "here + k % done",
        case("400-160-1000"),
        "what a stage reads",
    ),
    Mutant(
        PARTS + "fft.wgsl",
        "m * (N / POINTS), N + m,",
        "m, N + m,",
        case("16-5-100"),
        "the table of an even length is twice as fine",
    ),
    Mutant(
        PARTS + "fft.wgsl",
        "work_put(here + i, conjugate(filtered))",
        "work_put(here + i, filtered)",
        case("37-11-90-chirp"),
        "the way back is by conjugates",
    ),
    Mutant(PARTS + "fft.wgsl", " / f32(SIZE)", "", case("74-80-300-chirp"), "the way back is scaled"),
    Mutant(
        PARTS + "fft.wgsl",
        "return product(value, chirp(j));",
        "return value;",
        case("37-11-90-chirp"),
        "the chirp on the way in",
    ),
    Mutant(PARTS + "spectrum.wgsl", "min(i, SIZE - i)", "i", case("37-11-90-chirp"), "the chirp is even"),
    Mutant(
        PARTS + "spectrum.wgsl",
        "work_put(i, work_get(here + i));",
        "",
        case("129-70-150-chirp-of-512"),
        "a result in the other half is copied",
    ),
    Mutant(
        PARTS + "stft_frame.wgsl",
        "var value = vec2<f32>();",
        "var value = vec2<f32>(1.0);",
        case("37-11-90-chirp"),
        "zeros behind the chirp",
    ),
    Mutant(
        PARTS + "stft_frame.wgsl",
        "transformed(here, k % POINTS)",
        "transformed(here, min(k, POINTS - 1u))",
        case("8-4-16"),
        "the middle bin is the first",
    ),
    Mutant(
        PARTS + "stft_frame.wgsl",
        "(POINTS - k) % POINTS",
        "POINTS - k",
        case("8-4-16"),
        "the first bin is its own mirror",
    ),
    Mutant(
        PARTS + "stft_frame.wgsl",
        "vec2<f32>(odd.y, -odd.x)",
        "vec2<f32>(-odd.y, odd.x)",
        case("8-4-16"),
        "even and odd samples are taken apart",
    ),
    Mutant(PARTS + "stft_frame.wgsl", "k <= N / 2u; k", "k < N / 2u; k", case("8-4-16"), "the last bin"),
    Mutant(
        KERNELS + "turns.wgsl",
        "i - N - SIZE, 2u * POINTS), 2u",
        "i - N - SIZE, POINTS), 2u",
        case("37-11-90-chirp"),
        "the chirp's period",
    ),
    Mutant(
        KERNELS + "turns.wgsl", "vec2<f32>(angle.x, -angle.y)", "angle", case("37-11-90-chirp"), "the chirp's direction"
    ),
    Mutant(
        KERNELS + "turns.wgsl",
        "var summand = j % n;\n    for (var bits = j; bits > 0u; bits >>= 1u) {",
        "var summand = j * j % n;\n    for (var bits = 1u; bits > 0u; bits >>= 1u) {",
        f"{EDGES}::test_a_chirps_squares_pass_32_bits",
        "squares past 32 bits",
    ),
    Mutant(
        KERNELS + "direct.wgsl",
        "angle -= select(0u, N, angle >= N);",
        "",
        case("8-4-16-direct"),
        "k n is taken modulo N",
    ),
    Mutant(
        KERNELS + "direct.wgsl", "imag[i] = -sum.y", "imag[i] = sum.y", case("8-4-16-direct"), "the sign of the angle"
    ),
    Mutant(
        KERNELS + "direct.wgsl",
        "if (i < arrayLength(&real))",
        "if (i < arrayLength(&real) - 1u)",
        case("8-4-16-direct"),
        "the last element",
    ),
    Mutant(KERNELS + "kernel.wgsl", "wid.x + wid.y * num.x", "wid.x", case("16-5-100"), "folded grids"),
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
    Mutant(KERNELS + "large.cpu.wgsl", "slab = gid.x;", "slab = 0u;", case("8-4-16"), "a slab of its own"),
    Mutant(
        OP,
        'mode="reflect"',
        'mode="edge"',
        f"{TEST}::test_padding_reflects_without_repeating_the_edge",
        "the reference's padding",
    ),
    Mutant(
        OP,
        "n_fft // 2 * 2 if center",
        "n_fft if center",
        f"{TEST}::test_frames_are_counted_as_torch_does",
        "frames of an odd length",
    ),
    Mutant(
        OP,
        "n if periodic else max(n - 1, 1)",
        "max(n - 1, 1)",
        f"{TEST}::test_a_hann_window_is_periodic_unless_asked",
        "periodic windows",
    ),
    Mutant(
        OP,
        "1 << (2 * points - 2).bit_length()",
        "1 << (points - 1).bit_length()",
        f"{TEST}::test_a_length_with_a_large_prime_factor_is_a_convolution_by_a_power_of_two",
        "room for the convolution",
    ),
    Mutant(
        OP,
        '"FIRST": first',
        '"FIRST": 0',
        f"{TEST}::test_frames_past_a_bindings_size_are_transformed_in_parts",
        "a part's first frame",
    ),
]
