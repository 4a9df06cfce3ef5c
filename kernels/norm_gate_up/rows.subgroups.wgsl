// with: weights norm activation
enable subgroups;
requires subgroup_id;
// kernel.subgroups.wgsl for a few tokens, each with its sums in the same order: a subgroup computes one gate and its up of
// all of them.
// Reference: webxpu/ops/norm_gate_up.py. weights (2 F, K), x (ROWS, K), gain (K,), out (ROWS, F).

override N: u32;
override K: u32;
override KIND: u32;
override ROWS: u32; // at most 9

@group(0) @binding(3) var<storage, read_write> out: array<f32>;

fn gate_up(row: u32, column: u32, i: u32) -> vec3<f32> {
    let octet = load_octet(row, i);
    let at = min(i, octets() - 1u);
    return vec3<f32>(dot8(column, at, octet.a, octet.b), dot8(column + N / 2u, at, octet.a, octet.b), octet.squares);
}

@compute @workgroup_size(128)
fn main(
    @builtin(workgroup_id) wid: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(subgroup_id) subgroup: u32,
    @builtin(num_subgroups) subgroups: u32,
    @builtin(subgroup_invocation_id) lane: u32,
    @builtin(subgroup_size) lanes: u32,
) {
    let column = min((wid.x + wid.y * num.x) * subgroups + subgroup, N / 2u - 1u);
    var sums: array<vec3<f32>, 9>; // of each row gate, up and the squares
    for (var first = lane; first < octets(); first += 3u * lanes) {
        for (var row = 0u; row < ROWS; row++) {
            sums[row] += (gate_up(row, column, first) + gate_up(row, column, first + lanes))
                + gate_up(row, column, first + 2u * lanes);
        }
    }
    for (var row = 0u; row < ROWS; row++) {
        let total = subgroupAdd(sums[row]);
        if (lane == 0u) {
            let r = root(total.z);
            out[row * (N / 2u) + column] = activate(KIND, total.x * r, 1.0) * (total.y * r);
        }
    }
}
