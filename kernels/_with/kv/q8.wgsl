// A cache of blocks of 32 values in nine words, a float32 scale and signed bytes: webxpu/quant/kv.py. The functions are
// those of f32.wgsl.

alias KvWord = u32;

fn kv_quad(row: u32, c: u32) -> vec4<f32> {
    let block = (row * (WIDE / 8u) + c / 8u) * 9u;
    return unpack4x8snorm(cache[block + 1u + c % 8u]) * bitcast<f32>(cache[block]);
}
