// with: flat stft_signal
// A workgroup computes 1,024 bins of all frames by the definition: a sum of N products each.
// Reference: webxpu/ops/stft.py. Bindings: kernels/_with/stft_signal.wgsl; turns (N,).

override N: u32;

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) wid: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let bins = N / 2u + 1u;
    for (var step = 0u; step < 4u; step++) {
        let i = flat_index(wid, num, local, step);
        if (i < arrayLength(&real)) {
            var sum = vec2<f32>();
            var angle = 0u; // k n mod N, which no product can overflow
            for (var n = 0u; n < N; n++) {
                sum += sample(i / bins, n) * turns[angle];
                angle += i % bins;
                angle -= select(0u, N, angle >= N);
            }
            real[i] = sum.x;
            imag[i] = -sum.y;
        }
    }
}
