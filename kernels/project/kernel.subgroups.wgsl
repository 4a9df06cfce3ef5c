// with: weights x_rows few_rows before
enable subgroups;
requires subgroup_id;
// A subgroup computes one column of a row and adds the residual; a lane takes two blocks of 32 at a time, so that both are loaded
// at once.
// Reference: webxpu/ops/project.py. weights (N, K), x (L, K), residual (L, N), out (L, N). K is a multiple of 4.

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
    let place = row_of(wid.x + wid.y * num.x, arrayLength(&x) / (K / 4u));
    let row = place.x;
    let column = min(place.y * subgroups + subgroup, N - 1u);
    let start = before(row * N + column);
    var sum = 0.0;
    for (var block = lane; block < blocks(); block += 2u * lanes) {
        let second = min(block + lanes, blocks() - 1u);
        let more = dot32(column, second, load_block(row, second));
        sum += dot32(column, block, load_block(row, block)) + select(0.0, more, block + lanes < blocks());
    }
    let total = subgroupAdd(sum);
    if (lane == 0u) {
        out[row * N + column] = start + total;
    }
}
