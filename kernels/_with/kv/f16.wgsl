// A cache of float16, two in a word, read a quad at a time. The functions are those of f32.wgsl.

alias KvWord = vec2<u32>;

fn kv_quad(row: u32, c: u32) -> vec4<f32> {
    let words = cache[row * WIDE + c];
    return vec4<f32>(unpack2x16float(words.x), unpack2x16float(words.y));
}
