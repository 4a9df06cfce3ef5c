// with: flat
// A workgroup computes 1,024 weights: triangles over the bins, whose corners are evenly spaced in mel.
// Reference: webxpu/ops/mel.py. out (n_mels, BINS).

override BINS: u32;
override BIN_HZ: f32;
override FIRST_MEL: f32;
override STEP_MEL: f32;
override SCALE: u32; // 0 htk, 1 slaney
override NORM: u32; // 1: divided by half the band's width

@group(0) @binding(0) var<storage, read_write> out: array<f32>;

// e^x to an ulp or two for |x| < 80, where a device's may be off by 4e-6, more than a narrow band allows: Cephes, expf.
fn exponential(x: f32) -> f32 {
    let k = floor(x * 1.4426950408889634 + 0.5);
    let r = (x - k * 0.693359375) + k * 2.12194440e-4;
    var p = 1.9875691500e-4 * r + 1.3981999507e-3;
    p = p * r + 8.3334519073e-3;
    p = p * r + 4.1665795894e-2;
    p = p * r + 1.6666665459e-1;
    p = p * r + 5.0000001201e-1;
    return (p * r * r + r + 1.0) * bitcast<f32>(u32(i32(k) + 127) << 23u);
}

fn edge_hz(edge: u32) -> f32 {
    let mel = FIRST_MEL + f32(edge) * STEP_MEL;
    if (SCALE == 0u) {
        return 700.0 * (exponential(mel * 0.0008873160281287268) - 1.0); // ln 10 / 2595
    }
    if (mel < 15.0) {
        return mel * 66.66666666666667;
    }
    return 1000.0 * exponential((mel - 15.0) * 0.06875177742094912); // ln 6.4 / 27
}

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) wid: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    for (var step = 0u; step < 4u; step++) {
        let i = flat_index(wid, num, local, step);
        if (i < arrayLength(&out)) {
            let left = edge_hz(i / BINS);
            let middle = edge_hz(i / BINS + 1u);
            let right = edge_hz(i / BINS + 2u);
            let hz = f32(i % BINS) * BIN_HZ;
            let weight = max(0.0, min((hz - left) / (middle - left), (right - hz) / (right - middle)));
            out[i] = weight * select(1.0, 2.0 / (right - left), NORM == 1u);
        }
    }
}
