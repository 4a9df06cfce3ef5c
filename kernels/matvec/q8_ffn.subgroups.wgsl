// with: gate_up_rows lanes
// LANES neighbouring lanes compute a row of gate and of up: adjacent lanes take adjacent loads of 16 bytes, the sums meet
// by shuffles. No barrier.

@compute @workgroup_size(128)
fn main(
    @builtin(workgroup_id) wid: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(subgroup_id) subgroup: u32,
    @builtin(num_subgroups) subgroups: u32,
    @builtin(subgroup_size) size: u32,
    @builtin(subgroup_invocation_id) lane: u32,
) {
    let lanes = min(LANES, size);
    let row = slot_of(wid.x + wid.y * num.x, subgroup, subgroups, size, lane);
    var sums = vec2<f32>();
    for (var chunk = lane % lanes; chunk < K / 16u; chunk += lanes) {
        sums += gate_up(min(row, N - 1u), chunk);
    }
    let total = over_lanes(vec4<f32>(sums, 0.0, 0.0), lanes).xy;
    if (lane % lanes == 0u && row < N) {
        store(row, total);
    }
}
