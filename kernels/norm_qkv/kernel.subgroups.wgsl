// with: weights norm few_rows state kv_write paged qkv
enable subgroups;
requires subgroup_id;
// A subgroup computes one pair of rows of q, k or v of a row, rotates it and stores it.
// Reference: webxpu/ops/norm_qkv.py. weights ((H + 2 G) * D, K), x (L, K), gain (K,), table (P, D / 2, 2),
// cache (pages, 2, 64, G, D), pages (n,), bias ((H + 2 G) * D,), q (L, H, D).

override N: u32;
override K: u32;

@group(0) @binding(3) var<storage, read> table: array<vec2<f32>>;
@group(0) @binding(4) var<storage, read_write> cache: array<KvStored>;
@group(0) @binding(5) var<storage, read> pages: array<i32>;
@group(0) @binding(6) var<storage, read> bias: array<f32>;
@group(0) @binding(7) var<storage, read_write> q: array<f32>;
@group(0) @binding(8) var<uniform> state: State;

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
    let pair = pair_of(row, unit);
    var sums = vec3<f32>(); // the two rows and the squares
    for (var first = 0u; first < octets(); first += lanes) {
        let i = min(first + lane, octets() - 1u);
        let octet = load_octet(row, first + lane);
        sums += vec3<f32>(
            dot8(pair.columns.x, i, octet.a, octet.b),
            dot8(pair.columns.y, i, octet.a, octet.b),
            octet.squares,
        );
    }
    let total = subgroupAdd(sums);
    if (lane == 0u) {
        store_pair(pair, total.xy * root(total.z));
    }
}
