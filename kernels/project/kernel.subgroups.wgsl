// with: weights x_quads block before
enable subgroups;
requires subgroup_id;
// A subgroup computes one row and adds the residual; a lane takes two blocks of 32 at a time, so that both are loaded
// at once.
// Reference: webxpu/ops/project.py. weights (N, K), x (1, K), residual (1, N), out (1, N). K is a multiple of 4.

override N: u32;
override K: u32;

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
    let row = min((wid.x + wid.y * num.x) * subgroups + subgroup, N - 1u);
    let start = before(row);
    var sum = 0.0;
    for (var block = lane; block < blocks(); block += 2u * lanes) {
        let second = min(block + lanes, blocks() - 1u);
        let more = dot32(row, second, load_block(second));
        sum += dot32(row, block, load_block(block)) + select(0.0, more, block + lanes < blocks());
    }
    let total = subgroupAdd(sum);
    if (lane == 0u) {
        out[row] = start + total;
    }
}
