// with: weights norm few_rows
enable subgroups;
requires subgroup_id;
// A subgroup computes two neighbours of q, k and v of a row, which rope_write.wgsl then turns and stores.
// Reference: webxpu/ops/norm_qkv.py. weights (N, K), x (L, K), gain (K,), out (L, N). N is even.

override N: u32;
override K: u32;

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
    let unit = min(place.y * subgroups + subgroup, N / 2u - 1u);
    var sums = vec3<f32>(); // the two rows and the squares
    for (var first = 0u; first < octets(); first += lanes) {
        let i = min(first + lane, octets() - 1u);
        let octet = load_octet(row, first + lane);
        sums += vec3<f32>(
            dot8(2u * unit, i, octet.a, octet.b),
            dot8(2u * unit + 1u, i, octet.a, octet.b),
            octet.squares,
        );
    }
    let total = subgroupAdd(sums);
    if (lane == 0u) {
        let sum = total.xy * root(total.z);
        out[row * N + 2u * unit] = sum.x;
        out[row * N + 2u * unit + 1u] = sum.y;
    }
}
