// with: weights norm state paged qkv
// One thread computes one pair of rows of q, k or v of a single token, rotates it and stores it, without a barrier.
// Reference: webxpu/ops/norm_qkv.py. weights ((H + 2 G) * D, K), x (1, K), gain (K,), table (P, D / 2, 2),
// cache (pages, 2, 64, G, D), pages (n,), q (1, H, D).

override N: u32;
override K: u32;

@group(0) @binding(3) var<storage, read> table: array<vec2<f32>>;
@group(0) @binding(4) var<storage, read_write> cache: array<f32>;
@group(0) @binding(5) var<storage, read> pages: array<i32>;
@group(0) @binding(6) var<storage, read_write> q: array<f32>;
@group(0) @binding(7) var<uniform> state: State;

@compute @workgroup_size(64)
fn main(
    @builtin(workgroup_id) wid: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let unit = (wid.x + wid.y * num.x) * 64u + local;
    if (unit >= N / 2u) {
        return;
    }
    let pair = pair_of(0u, unit);
    var sums = vec2<f32>();
    var squares = 0.0;
    for (var i = 0u; i < blocks(); i++) {
        let block = load_block(0u, i);
        squares += block.squares;
        sums += vec2<f32>(dot32(pair.columns.x, i, block.gained), dot32(pair.columns.y, i, block.gained));
    }
    store_pair(pair, sums * root(squares));
}
