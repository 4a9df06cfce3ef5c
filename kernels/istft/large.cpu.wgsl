// with: fft_slab istft_frame
// A thread transforms a frame back in its slab of a buffer, then takes the next that is left: no barriers.
// Reference: webxpu/ops/istft.py. Bindings: kernels/_with/istft_spectrum.wgsl; work (slabs, 2 SIZE).

fn meet() {
}

@compute @workgroup_size(THREADS)
fn main(@builtin(global_invocation_id) gid: vec3<u32>) {
    slab = gid.x;
    for (var frame = slab; frame < frames(); frame += slabs()) {
        transform_frame(frame, 0u, 1u);
    }
}
