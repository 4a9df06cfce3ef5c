// with: nan flat_map
// A workgroup computes 1,024 energies: the sum over a band's bins, of one frame each.
// Reference: webxpu/ops/mel.py. real and imag (frames, BINS), filterbank (MELS, BINS), bands (MELS,) of kernels/mel/bands,
// out (frames, MELS).

override BINS: u32;
override MELS: u32;
override POWER: u32;
override DB: u32; // 1: decibels
override AMIN: f32;

@group(0) @binding(0) var<storage, read> real: array<f32>;
@group(0) @binding(1) var<storage, read> imag: array<f32>;
@group(0) @binding(2) var<storage, read> filterbank: array<f32>;
@group(0) @binding(3) var<storage, read> bands: array<vec2<u32>>;
@group(0) @binding(4) var<storage, read_write> out: array<f32>;

alias Value = f32;

fn value_at(i: u32) -> Value {
    let frame = i / MELS;
    let mel = i % MELS;
    var energy = 0.0;
    for (var k = bands[mel].x; k < bands[mel].y; k++) {
        let bin = vec2<f32>(real[frame * BINS + k], imag[frame * BINS + k]);
        let square = dot(bin, bin);
        energy += filterbank[mel * BINS + k] * select(sqrt(square), square, POWER == 2u);
    }
    if (DB == 1u && !is_nan(energy)) {
        energy = log(max(energy, AMIN)) * (8.685889638065037 / f32(POWER)); // 20 / ln 10
    }
    return energy;
}
