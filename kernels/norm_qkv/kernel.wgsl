// with: weights norm few_rows state kv_write paged qkv
// One thread computes UNITS (1 or 2) pairs of rows of q, k or v of a row of x, rotates and stores them, without a
// barrier; x is loaded once for all of them.
// Reference: webxpu/ops/norm_qkv.py. weights ((H + 2 G) * D, K), x (L, K), gain (K,), table (P, D / 2, 2),
// cache (pages, 2, 64, G, D), pages (n,), bias ((H + 2 G) * D,), q (L, H, D).

override N: u32;
override K: u32;
override UNITS: u32;

@group(0) @binding(3) var<storage, read> table: array<vec2<f32>>;
@group(0) @binding(4) var<storage, read_write> cache: array<KvStored>;
@group(0) @binding(5) var<storage, read> pages: array<i32>;
@group(0) @binding(6) var<storage, read> bias: array<f32>;
@group(0) @binding(7) var<storage, read_write> q: array<f32>;
@group(0) @binding(8) var<uniform> state: State;

@compute @workgroup_size(64)
fn main(
    @builtin(workgroup_id) wid: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let place = row_of(wid.x + wid.y * num.x, arrayLength(&x) / (K / 4u));
    let row = place.x;
    let unit = place.y * (64u * UNITS) + local;
    if (unit >= N / 2u) {
        return;
    }
    let pair = pair_of(row, unit);
    let other = pair_of(row, min(unit + 64u, N / 2u - 1u));
    var sums = vec4<f32>();
    var squares = 0.0;
    for (var i = 0u; i < blocks(); i++) {
        let block = load_block(row, i);
        squares += block.squares;
        sums.x += dot32(pair.columns.x, i, block.gained);
        sums.y += dot32(pair.columns.y, i, block.gained);
        if (UNITS > 1u) {
            sums.z += dot32(other.columns.x, i, block.gained);
            sums.w += dot32(other.columns.y, i, block.gained);
        }
    }
    store_pair(pair, sums.xy * root(squares));
    if (UNITS > 1u) {
        store_pair(other, sums.zw * root(squares));
    }
}
