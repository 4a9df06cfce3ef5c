// with: weights staged_norm few_rows activation
enable subgroups;
requires subgroup_id;
// A workgroup stages a row of x; each of its subgroups computes COLUMNS / 2 gates and their ups.
// Reference: webxpu/ops/norm_gate_up.py. weights (2 F, K), x (L, K), gain (K,), out (L, F). K is a multiple of 32.

override N: u32;
override K: u32;
override KIND: u32;

@group(0) @binding(3) var<storage, read_write> out: array<f32>;

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) wid: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(subgroup_id) subgroup: u32,
    @builtin(num_subgroups) subgroups: u32,
    @builtin(subgroup_invocation_id) lane: u32,
    @builtin(subgroup_size) lanes: u32,
) {
    let place = row_of(wid.x + wid.y * num.x, arrayLength(&x) / (K / 4u));
    let r = stage_normed(place.x, subgroup, subgroups, lane, lanes);
    let gates = COLUMNS / 2u;
    let first = min((place.y * subgroups + subgroup) * gates, N / 2u - 1u);
    let second = min(first + 1u, N / 2u - 1u);
    let columns = vec4<u32>(first, first + N / 2u, second, second + N / 2u);
    let total = subgroupAdd(staged_dots(columns, lane, lanes)) * r;
    if (lane < gates) {
        let pair = select(total.xy, total.zw, lane == 1u);
        out[place.x * (N / 2u) + columns[2u * lane]] = activate(KIND, pair.x, 1.0) * pair.y;
    }
}
