// with: weights x_rows before
enable subgroups;
requires subgroup_id;
// kernel.subgroups.wgsl for a few rows of x, each with its sums in the same order: a subgroup computes one column of all
// of them.
// Reference: webxpu/ops/project.py. weights (N, K), x (ROWS, K), residual (ROWS, N), out (ROWS, N). K is a multiple of 4.

override N: u32;
override K: u32;
override ROWS: u32; // at most 9

@group(0) @binding(1) var<storage, read> x: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> residual: array<f32>;
@group(0) @binding(3) var<storage, read_write> out: array<f32>;

@compute @workgroup_size(128)
fn main(
    @builtin(workgroup_id) wid: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(subgroup_id) subgroup: u32,
    @builtin(num_subgroups) subgroups: u32,
    @builtin(subgroup_invocation_id) lane: u32,
    @builtin(subgroup_size) lanes: u32,
) {
    let column = min((wid.x + wid.y * num.x) * subgroups + subgroup, N - 1u);
    var sums: array<f32, 9>;
    for (var block = lane; block < blocks(); block += 2u * lanes) {
        let second = min(block + lanes, blocks() - 1u);
        for (var row = 0u; row < ROWS; row++) {
            let more = dot32(column, second, load_block(row, second));
            sums[row] += dot32(column, block, load_block(row, block)) + select(0.0, more, block + lanes < blocks());
        }
    }
    for (var row = 0u; row < ROWS; row++) {
        let total = subgroupAdd(sums[row]);
        if (lane == 0u) {
            out[row * N + column] = before(row * N + column) + total;
        }
    }
}
