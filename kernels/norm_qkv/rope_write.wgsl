// with: state paged qkv
// One thread rotates one pair of a row's q, k or v and stores it.
// Reference: webxpu/ops/norm_qkv.py. qkv (L, (H + 2 G) * D), table (P, D / 2, 2), cache (pages, 2, 64, G, D), pages (n,),
// q (L, H, D).

@group(0) @binding(0) var<storage, read> qkv: array<f32>;
@group(0) @binding(1) var<storage, read> table: array<vec2<f32>>;
@group(0) @binding(2) var<storage, read_write> cache: array<f32>;
@group(0) @binding(3) var<storage, read> pages: array<i32>;
@group(0) @binding(4) var<storage, read_write> q: array<f32>;
@group(0) @binding(5) var<uniform> state: State;

@compute @workgroup_size(64)
fn main(
    @builtin(workgroup_id) wid: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let i = (wid.x + wid.y * num.x) * 64u + local;
    if (i >= arrayLength(&qkv) / 2u) {
        return;
    }
    let width = (HEADS + 2u * KV_HEADS) * D;
    let row = i / (width / 2u);
    let pair = pair_of(row, i % (width / 2u));
    store_pair(pair, vec2<f32>(qkv[row * width + pair.columns.x], qkv[row * width + pair.columns.y]));
}
