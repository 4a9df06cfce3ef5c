// with: spectrum
// One workgroup of 256 completes the table of a chirp.
// Reference: webxpu/ops/stft.py. turns: see kernels/stft/turns.wgsl.

fn meet() {
    storageBarrier();
}

@compute @workgroup_size(256)
fn main(@builtin(local_invocation_index) local: u32) {
    write_spectrum(local, 256u);
}
