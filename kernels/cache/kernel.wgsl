// with: state paged
// One thread moves one value of k and one of v to its place in the cache.
// Reference: webxpu/ops/cache.py. k, v (L, G, D), cache (P, 2, 64, G, D), pages (n,).

override G: u32;
override D: u32;

@group(0) @binding(0) var<storage, read> k: array<f32>;
@group(0) @binding(1) var<storage, read> v: array<f32>;
@group(0) @binding(2) var<storage, read_write> cache: array<f32>;
@group(0) @binding(3) var<storage, read> pages: array<i32>;
@group(0) @binding(4) var<uniform> state: State;

@compute @workgroup_size(64)
fn main(
    @builtin(workgroup_id) wid: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let i = (wid.x + wid.y * num.x) * 64u + local;
    let row = i / (G * D);
    if (i >= arrayLength(&k) || !is_live(row)) {
        return;
    }
    let place = key_row(state.position + row) * (G * D) + i % (G * D);
    cache[place] = k[i];
    cache[place + VALUE_ROWS * G * D] = v[i];
}
