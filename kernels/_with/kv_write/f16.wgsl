// A cache of float16, two in a word, written. The functions are those of f32.wgsl.

alias KvStored = u32;
const STORED = 2u;

fn kv_store(row: u32, i: u32, values: array<f32, STORED>) {
    cache[(row * D + i) / 2u] = pack2x16float(vec2<f32>(values[0], values[1]));
}

// Of an even i and the value after it.
fn kv_store_pair(row: u32, i: u32, apart: u32, values: vec2<f32>) {
    cache[(row * D + i) / 2u] = pack2x16float(values);
}
