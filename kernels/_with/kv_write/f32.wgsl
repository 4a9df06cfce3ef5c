// A cache of float32, written. The kernel declares D and `cache`, an array of KvStored.

alias KvStored = f32;
// Values that are stored at once.
const STORED = 1u;

// Values [i, i + STORED) of a row of (page, key or value, slot, kv head).
fn kv_store(row: u32, i: u32, values: array<f32, STORED>) {
    cache[row * D + i] = values[0];
}

// Two values, `apart` from each other.
fn kv_store_pair(row: u32, i: u32, apart: u32, values: vec2<f32>) {
    cache[row * D + i] = values.x;
    cache[row * D + i + apart] = values.y;
}
