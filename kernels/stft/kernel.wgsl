// with: fft_group stft_frame
// A workgroup of THREADS transforms a frame in its own memory, then takes the next that is left.
// Reference: webxpu/ops/stft.py. Bindings: kernels/_with/stft_signal.wgsl.

@compute @workgroup_size(THREADS)
fn main(
    @builtin(workgroup_id) wid: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    for (var frame = wid.x + wid.y * num.x; frame < frames(); frame += num.x * num.y) {
        transform_frame(frame, local, THREADS);
    }
}
