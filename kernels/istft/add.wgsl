// with: flat
// A workgroup gathers 1,024 samples: the frames that cover one, over the sum of their windows' squares.
// Reference: webxpu/ops/istft.py. signal (frames, N), window (N,), out (length,); the first sample of out lies SHIFT
// samples after the first frame's begin.

override N: u32;
override HOP: u32;
override SHIFT: u32;

@group(0) @binding(0) var<storage, read> signal: array<f32>;
@group(0) @binding(1) var<storage, read> window: array<f32>;
@group(0) @binding(2) var<storage, read_write> out: array<f32>;

// As torch: below it a quotient says nothing.
const LEAST_ENVELOPE = 1e-11;

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) wid: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    for (var step = 0u; step < 4u; step++) {
        let i = flat_index(wid, num, local, step);
        if (i < arrayLength(&out)) {
            let at = i + SHIFT;
            let end = min(at / HOP + 1u, arrayLength(&signal) / N);
            var sum = 0.0;
            var envelope = 0.0;
            for (var frame = select(0u, (at - N) / HOP + 1u, at >= N); frame < end; frame++) {
                let n = at - frame * HOP;
                sum += signal[frame * N + n];
                envelope += window[n] * window[n];
            }
            // A NaN that the compiler does not see: i is below 2^31.
            let undefined = bitcast<f32>(max(i, 0x7fc00000u));
            out[i] = select(sum / envelope, undefined, envelope < LEAST_ENVELOPE);
        }
    }
}
