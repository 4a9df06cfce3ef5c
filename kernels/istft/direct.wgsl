// with: flat istft_spectrum
// A workgroup computes 1,024 samples of all frames by the definition: a sum over the bins each.
// Reference: webxpu/ops/istft.py. Bindings: kernels/_with/istft_spectrum.wgsl.

override N: u32;

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) wid: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    for (var step = 0u; step < 4u; step++) {
        let i = flat_index(wid, num, local, step);
        if (i < arrayLength(&signal)) {
            let frame = i / N;
            let n = i % N;
            var sum = 0.0;
            var angle = 0u; // k n mod N, which no product can overflow
            for (var k = 0u; k <= N / 2u; k++) {
                let value = bin(frame, k) * turns[angle];
                // All but the first and the middle bin stand for their mirror too.
                sum += (value.x - value.y) * select(2.0, 1.0, k == 0u || 2u * k == N);
                angle += n;
                angle -= select(0u, N, angle >= N);
            }
            signal[i] = sum / f32(N) * window[n];
        }
    }
}
