// with: weights norm activation
enable subgroups;
requires subgroup_id;
// A subgroup computes one gate and its up of a single token.
// Reference: webxpu/ops/norm_gate_up.py. weights (2 F, K), x (1, K), gain (K,), out (1, F).

override N: u32;
override K: u32;
override KIND: u32;

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
    let row = min((wid.x + wid.y * num.x) * subgroups + subgroup, N / 2u - 1u);
    var sums = vec3<f32>(); // gate, up and the squares
    for (var i = lane; i < blocks(); i += lanes) {
        let block = load_block(0u, i);
        sums += vec3<f32>(dot32(row, i, block.gained), dot32(row + N / 2u, i, block.gained), block.squares);
    }
    let total = subgroupAdd(sums);
    if (lane == 0u) {
        let r = root(total.z);
        out[row] = activate(KIND, total.x * r, 1.0) * (total.y * r);
    }
}
