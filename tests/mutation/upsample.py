"""Mutants of nearest_upsample_2d."""

from tests.mutation import Mutant

KERNEL = "kernels/upsample/kernel.wgsl"
OP = "webxpu/ops/upsample.py"
TEST = "tests/ops/test_upsample.py"
TALL, WIDE = "nearest_upsample_2d-2x3x14x3-to-46x4", "nearest_upsample_2d-1x2x3x14-to-4x46"
SWEEP = f"{TEST}::test_every_pair_of_sizes_picks_torchs_places"
# WGSL lets a device do as it likes there.
PAST_THE_END = "where a device takes the last words instead, they are each other's"

MUTANTS = [
    Mutant(KERNEL, "source(i / OUT_W % OUT_H, SCALE_H, H)", "i / OUT_W % OUT_H * H / OUT_H", TALL, "rows by float32"),
    Mutant(KERNEL, "source(i % OUT_W, SCALE_W, W)", "i % OUT_W * W / OUT_W", WIDE, "columns by float32"),
    Mutant(KERNEL, "source(i % OUT_W, SCALE_W, W)", "source(i % OUT_W, SCALE_H, W)", WIDE, "a scale an axis"),
    Mutant(KERNEL, "u32(f32(place) * scale)", "u32((f32(place) + 0.5) * scale)", TALL, "not nearest-exact"),
    Mutant(KERNEL, "i / OUT_W / OUT_H * H + row", "row", TALL, "the plane"),
    Mutant(
        KERNEL,
        "min(u32(f32(place) * scale), size - 1u)",
        "u32(f32(place) * scale)",
        TALL,
        "places past the last",
        survives="an axis of more than 2^23 places is too large for a case",
    ),
    Mutant(OP, "dtype=np.float32) * _scale", "dtype=np.float64) * _scale", SWEEP, "a product in float32"),
    Mutant(OP, "larger >= size and", "True and", f"{TEST}::test_what_does_not_fit_is_named", "sizes below"),
]
