// A workgroup of 64 finds where a band begins and ends: its first weight that is not zero, and one past the last.
// Reference: webxpu/ops/mel.py. filterbank (n_mels, BINS), bands (n_mels,).

override BINS: u32;

@group(0) @binding(0) var<storage, read> filterbank: array<f32>;
@group(0) @binding(1) var<storage, read_write> bands: array<vec2<u32>>;

// They start at zero; a band of zeros begins at BINS and ends at 0.
var<workgroup> before_end: atomic<u32>; // BINS minus the begin
var<workgroup> end: atomic<u32>;

@compute @workgroup_size(64)
fn main(
    @builtin(workgroup_id) wid: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let band = min(wid.x + wid.y * num.x, arrayLength(&bands) - 1u); // past the end the last band is found again
    for (var k = local; k < BINS; k += 64u) {
        if (filterbank[band * BINS + k] != 0.0) {
            atomicMax(&before_end, BINS - k);
            atomicMax(&end, k + 1u);
        }
    }
    workgroupBarrier();
    if (local == 0u) {
        bands[band] = vec2<u32>(BINS - atomicLoad(&before_end), atomicLoad(&end));
    }
}
