// with: fft_slab istft_frame
// A workgroup of THREADS transforms a frame back in its slab of a buffer, then takes the next that is left: for frames that
// are larger than a workgroup's memory.
// Reference: webxpu/ops/istft.py. Bindings: kernels/_with/istft_spectrum.wgsl; work (slabs, 2 SIZE).

fn meet() {
    storageBarrier();
}

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    slab = wid.x;
    for (var frame = wid.x; frame < frames(); frame += slabs()) {
        transform_frame(frame, local, THREADS);
    }
}
