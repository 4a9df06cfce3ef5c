// with: weights norm few_rows activation
enable subgroups;
requires subgroup_id;
// A subgroup computes one gate and its up of a row of x.
// Reference: webxpu/ops/norm_gate_up.py. weights (2 F, K), x (L, K), gain (K,), out (L, F).

override N: u32;
override K: u32;
override KIND: u32;

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
    let place = row_of(wid.x + wid.y * num.x, arrayLength(&x) / (K / 4u));
    let row = place.x;
    let column = min(place.y * subgroups + subgroup, N / 2u - 1u);
    var sums = vec3<f32>(); // gate, up and the squares
    for (var first = lane; first < octets(); first += 3u * lanes) {
        // Three at a time, so that all their loads are under way at once.
        sums += (gate_up(row, column, first) + gate_up(row, column, first + lanes))
            + gate_up(row, column, first + 2u * lanes);
    }
    let total = subgroupAdd(sums);
    if (lane == 0u) {
        let r = root(total.z);
        out[row * (N / 2u) + column] = activate(KIND, total.x * r, 1.0) * (total.y * r);
    }
}
