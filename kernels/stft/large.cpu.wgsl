// with: fft_slab stft_frame
// A thread transforms a frame in its slab of a buffer, then takes the next that is left: no barriers.
// Reference: webxpu/ops/stft.py. Bindings: kernels/_with/stft_signal.wgsl; work (slabs, 2 SIZE).

fn meet() {
}

@compute @workgroup_size(THREADS)
fn main(@builtin(global_invocation_id) gid: vec3<u32>) {
    slab = gid.x;
    for (var frame = slab; frame < frames(); frame += slabs()) {
        transform_frame(frame, 0u, 1u);
    }
}
