// with: conv_phase conv_direct
// A thread computes four channels of one position: for groups of few channels, and for CPU adapters, where a tile in
// workgroup memory costs more than it saves.
// Reference: webxpu/ops/conv_transpose.py.

@compute @workgroup_size(64)
fn main(
    @builtin(workgroup_id) wid: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    compute_direct(wid, num, local);
}
