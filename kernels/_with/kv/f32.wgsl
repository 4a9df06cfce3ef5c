// A cache of float32, read a quad at a time. The kernel declares WIDE (D / 4) and `cache`, an array of KvWord.

alias KvWord = vec4<f32>;

// Quad c of a row of (page, key or value, slot, kv head).
fn kv_quad(row: u32, c: u32) -> vec4<f32> {
    return cache[row * WIDE + c];
}
