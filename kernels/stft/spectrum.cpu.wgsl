// with: spectrum
// One thread completes the table of a chirp: no barriers.
// Reference: webxpu/ops/stft.py. turns: see kernels/stft/turns.wgsl.

fn meet() {
}

@compute @workgroup_size(1)
fn main() {
    write_spectrum(0u, 1u);
}
