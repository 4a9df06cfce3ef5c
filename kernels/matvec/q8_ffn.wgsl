// with: gate_up_rows
// A thread computes a row of gate and of up, without a barrier.

@compute @workgroup_size(64)
fn main(
    @builtin(workgroup_id) wid: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let row = (wid.x + wid.y * num.x) * 64u + local;
    if (row >= N) {
        return;
    }
    var sums = vec2<f32>();
    for (var chunk = 0u; chunk < K / 16u; chunk++) {
        sums += gate_up(row, chunk);
    }
    store(row, sums);
}
