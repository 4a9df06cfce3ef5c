// with: weights staged few_rows before
enable subgroups;
requires subgroup_id;
// A workgroup stages a row of x; each of its subgroups computes COLUMNS columns and adds the residual.
// Reference: webxpu/ops/project.py. weights (N, K), x (L, K), residual (L, N), out (L, N). K is a multiple of 32.

override N: u32;
override K: u32;

@group(0) @binding(1) var<storage, read> x: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> residual: array<f32>;
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
    for (var quad = subgroup * lanes + lane; quad < K / 4u; quad += THREADS) {
        put_quad(quad, x[place.x * (K / 4u) + quad]);
    }
    workgroupBarrier();
    let first = (place.y * subgroups + subgroup) * COLUMNS;
    let columns = min(vec4<u32>(first) + vec4<u32>(0u, 1u, 2u, 3u), vec4<u32>(N - 1u));
    let total = subgroupAdd(staged_dots(columns, lane, lanes));
    if (lane < COLUMNS && first + lane < N) {
        let at = place.x * N + first + lane;
        out[at] = before(at) + total[lane];
    }
}
