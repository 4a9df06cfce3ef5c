// with: weights staged_norm few_rows
enable subgroups;
requires subgroup_id;
// A workgroup stages a row of x; each of its subgroups computes COLUMNS outputs.
// Reference: webxpu/ops/norm_linear.py. weights (N, K), x (L, K), gain (K,), out (L, N). K is a multiple of 32.

override N: u32;
override K: u32;

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
    let first = (place.y * subgroups + subgroup) * COLUMNS;
    let columns = min(vec4<u32>(first) + vec4<u32>(0u, 1u, 2u, 3u), vec4<u32>(N - 1u));
    let total = subgroupAdd(staged_dots(columns, lane, lanes)) * r;
    if (lane < COLUMNS && first + lane < N) {
        out[place.x * N + first + lane] = total[lane];
    }
}
