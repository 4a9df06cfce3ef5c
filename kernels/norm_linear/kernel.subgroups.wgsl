// with: weights norm
enable subgroups;
requires subgroup_id;
// A subgroup computes one output of one row.
// Reference: webxpu/ops/norm_linear.py. weights (N, K), x (L, K), gain (K,), out (L, N).

override N: u32;
override K: u32;

@group(0) @binding(3) var<storage, read_write> out: array<f32>;

fn part(line: u32, row: u32, i: u32) -> vec2<f32> {
    let octet = load_octet(line, i);
    return vec2<f32>(dot8(row, min(i, octets() - 1u), octet.a, octet.b), octet.squares);
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
    let at = min((wid.x + wid.y * num.x) * subgroups + subgroup, arrayLength(&out) - 1u);
    let line = at / N;
    let row = at % N;
    var sums = vec2<f32>(); // the product and the squares
    for (var first = lane; first < octets(); first += 3u * lanes) {
        // Three at a time, so that all their loads are under way at once.
        sums += (part(line, row, first) + part(line, row, first + lanes)) + part(line, row, first + 2u * lanes);
    }
    let total = subgroupAdd(sums);
    if (lane == 0u) {
        out[at] = total.x * root(total.y);
    }
}
