// with: weights norm few_rows
enable subgroups;
requires subgroup_id;
// A subgroup computes one output of one row.
// Reference: webxpu/ops/norm_linear.py. weights (N, K), x (L, K), gain (K,), out (L, N).

override N: u32;
override K: u32;

@group(0) @binding(3) var<storage, read_write> out: array<f32>;

fn part(row: u32, column: u32, i: u32) -> vec2<f32> {
    let octet = load_octet(row, i);
    return vec2<f32>(dot8(column, min(i, octets() - 1u), octet.a, octet.b), octet.squares);
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
    let column = min(place.y * subgroups + subgroup, N - 1u);
    var sums = vec2<f32>(); // the product and the squares
    for (var first = lane; first < octets(); first += 3u * lanes) {
        // Three at a time, so that all their loads are under way at once.
        sums += (part(row, column, first) + part(row, column, first + lanes)) + part(row, column, first + 2u * lanes);
    }
    let total = subgroupAdd(sums);
    if (lane == 0u) {
        out[row * N + column] = total.x * root(total.y);
    }
}
