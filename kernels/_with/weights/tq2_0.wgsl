// with: packed_quads
// Weights in TQ2_0, w = d * (code - 1), as planes: 64 bytes of codes a block of 256 weights, all blocks; then one float16 scale
// d a block. Of each 32 bytes of codes those of the lowest two bits come first.

const BIAS = 1.0;
const MINIMA = false;
const GROUP = 32u;

fn codes16(i: u32, half: u32) -> vec4<u32> {
    let words = weights[i / 8u * 4u + i % 8u / 4u * 2u + half];
    return (words >> vec4<u32>(2u * (i % 4u))) & vec4<u32>(0x03030303u);
}

fn scales16(i: u32, half: u32) -> vec2<f32> {
    return vec2<f32>(plane_scale(i / 8u, N * (K / 256u) * 4u), 0.0);
}
