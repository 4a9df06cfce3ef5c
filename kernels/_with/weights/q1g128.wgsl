// with: packed_rows spread
// Weights of one bit, w = +scale or -scale, K a multiple of 128: rows of signs, bit j of 128 set where weight j is +scale;
// then one float32 scale for every 128 columns of a row. Layout: webxpu/quant/rows.py.

@group(0) @binding(0) var<storage, read> weights: array<vec4<u32>>;
const BIAS = 1.0;
const MINIMA = false;
const GROUP = 32u;

fn codes16(i: u32, half: u32) -> vec4<u32> {
    return spread16(weights[i / 4u][i % 4u] >> (16u * half)) << vec4<u32>(1u);
}

fn scales16(i: u32, half: u32) -> vec2<f32> {
    let at = N * (K / 128u) + i / 16u;
    return vec2<f32>(bitcast<f32>(weights[at][i / 4u % 4u]), 0.0);
}
