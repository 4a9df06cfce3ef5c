// with: conv_phase conv_tile
// A workgroup of 4 * ROWS threads computes ROWS channels x 64 positions.
// Reference: webxpu/ops/conv_transpose.py.

@compute @workgroup_size(4u * ROWS)
fn main(
    @builtin(workgroup_id) wid: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    compute_tile(wid, num, local);
}
