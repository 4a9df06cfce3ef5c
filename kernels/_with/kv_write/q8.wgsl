// A cache of blocks of 32 values in nine words, written: webxpu/quant/kv.py. The functions are those of f32.wgsl.

alias KvStored = u32;
const STORED = 32u;

fn kv_store(row: u32, i: u32, values: array<f32, STORED>) {
    let block = (row * D + i) / 32u * 9u;
    var scale = 1e-30;
    for (var n = 0u; n < STORED; n++) {
        scale = max(scale, abs(values[n]));
    }
    cache[block] = bitcast<u32>(scale);
    for (var n = 0u; n < STORED; n += 4u) {
        let four = vec4<f32>(values[n], values[n + 1u], values[n + 2u], values[n + 3u]);
        // Not pack4x8snorm, which devices round in their own ways.
        let codes = vec4<i32>(floor(0.5 + 127.0 * clamp(four / scale, vec4<f32>(-1.0), vec4<f32>(1.0))));
        let bytes = bitcast<vec4<u32>>(codes) & vec4<u32>(255u);
        cache[block + 1u + n / 4u] = bytes.x | (bytes.y << 8u) | (bytes.z << 16u) | (bytes.w << 24u);
    }
}
