"""Mutants of mel: the scales, the triangles, the range of a band, the energies and their decibels."""

from tests.mutation import Mutant

KERNELS = "kernels/mel/"
OP = "webxpu/ops/mel.py"
TEST = "tests/ops/test_mel.py"


def bank(name: str) -> str:
    return f"mel_filterbank-{name}"


def case(name: str) -> str:
    return f"mel_spectrogram-{name}"


MUTANTS = [
    Mutant(
        KERNELS + "filterbank.wgsl",
        "mel < 15.0",
        "mel < 0.0",
        bank("4x65-slaney"),
        "slaney's scale is linear below its knee",
    ),
    Mutant(KERNELS + "filterbank.wgsl", "SCALE == 0u", "SCALE == 1u", bank("4x17"), "which scale"),
    Mutant(KERNELS + "filterbank.wgsl", "NORM == 1u", "false", bank("4x65-norm"), "the norm"),
    Mutant(KERNELS + "filterbank.wgsl", "max(0.0, min(", "min(0.0, min(", bank("4x17"), "no weight is negative"),
    Mutant(
        KERNELS + "filterbank.wgsl",
        "1.6666665459e-1",
        "1.66e-1",
        bank("300x129"),
        "a coefficient of the exponential",
    ),
    Mutant(KERNELS + "filterbank.wgsl", "2.12194440e-4", "2.1e-4", bank("80x961"), "the rest of ln 2"),
    Mutant(
        KERNELS + "filterbank.wgsl",
        "f32(i % BINS) * BIN_HZ",
        "f32(i % BINS + 1u) * BIN_HZ",
        bank("5x3-odd"),
        "the first bin is at 0 Hz",
    ),
    Mutant(KERNELS + "bands.wgsl", "BINS - k)", "BINS - k - 1u)", case("3x80x201"), "a band's begin"),
    Mutant(KERNELS + "bands.wgsl", "k + 1u)", "k)", case("gaps"), "a band's end"),
    Mutant(KERNELS + "bands.wgsl", "!= 0.0", "> 0.0", case("gaps"), "a negative weight belongs to its band"),
    Mutant(KERNELS + "bands.wgsl", "wid.x + wid.y * num.x", "wid.x", case("3x80x201"), "folded grids"),
    Mutant(KERNELS + "bands.wgsl", "k = local; k", "k = local + 1u; k", case("gaps"), "the first bin"),
    Mutant(KERNELS + "kernel.wgsl", "POWER == 2u", "true", case("magnitude"), "magnitudes"),
    Mutant(KERNELS + "kernel.wgsl", "max(energy, AMIN)", "energy + AMIN", case("db-amin"), "the floor clamps"),
    Mutant(KERNELS + "kernel.wgsl", " / f32(POWER))", ")", case("db"), "decibels of a power"),
    Mutant(OP, "f < _KNEE_HZ, f * ", "f < 0, f * ", f"{TEST}::test_scales_there_and_back", "slaney's knee in Hz"),
    Mutant(OP, "m < _KNEE_MEL, m * ", "m < 0, m * ", f"{TEST}::test_scales_there_and_back", "slaney's knee in mel"),
    Mutant(
        OP,
        "(2 / (right - left))",
        "(1 / (right - left))",
        f"{TEST}::test_banks_of_both_scales_and_norms_are_librosas",
        "the reference's norm",
    ),
    Mutant(
        OP,
        "np.maximum(energy, amin)",
        "energy + amin",
        f"{TEST}::test_energies_of_a_voice_are_torchaudios",
        "the reference's floor",
    ),
    Mutant(
        OP,
        "20 / power * np.log10",
        "10 * np.log10",
        f"{TEST}::test_silence_is_at_the_floor_exactly",
        "the reference's decibels",
    ),
    Mutant(
        OP,
        "* sample_rate / n_fft\n",
        "* sample_rate / 2 / (n_fft // 2)\n",
        f"{TEST}::test_a_bank_of_an_odd_length_has_librosas_frequencies",
        "frequencies of an odd length",
    ),
    Mutant(
        KERNELS + "kernel.wgsl",
        "DB == 1u && !is_nan(energy)",
        "DB == 1u",
        "playwright_tests/ops/test_edges_activation.py::"
        "test_energies_of_a_nan_are_no_numbers_in_decibels_either[adapter-True]",
        "a NaN is not at the floor",
    ),
]
