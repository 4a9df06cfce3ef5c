// with: state kv_write paged
// One thread moves STORED neighbours of k and as many of v to their place in the cache.
// Reference: webxpu/ops/cache.py. k, v (L, G, D), cache (P, 2, 64, G, D), pages (n,). STORED divides D.

override G: u32;
override D: u32;

@group(0) @binding(0) var<storage, read> k: array<f32>;
@group(0) @binding(1) var<storage, read> v: array<f32>;
@group(0) @binding(2) var<storage, read_write> cache: array<KvStored>;
@group(0) @binding(3) var<storage, read> pages: array<i32>;
@group(0) @binding(4) var<uniform> state: State;

@compute @workgroup_size(64)
fn main(
    @builtin(workgroup_id) wid: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let first = ((wid.x + wid.y * num.x) * 64u + local) * STORED;
    let row = first / (G * D);
    if (first >= arrayLength(&k) || !is_live(row)) {
        return;
    }
    var keys: array<f32, STORED>;
    var values: array<f32, STORED>;
    for (var n = 0u; n < STORED; n++) {
        keys[n] = k[first + n];
        values[n] = v[first + n];
    }
    let place = key_row(state.position + row) * G + first / D % G;
    kv_store(place, first % D, keys);
    kv_store(place + VALUE_ROWS * G, first % D, values);
}
