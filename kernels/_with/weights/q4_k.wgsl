// with: k_scales
// Weights in Q4_K, w = d * scale * code - dmin * minimum, in the file's blocks of nine 16-byte loads for 256 weights: d, dmin
// and the scales and minima of 32 weights each, see k_scales.wgsl; 128 bytes of codes, of each 32 bytes those of the low
// nibbles first.

const BIAS = 0.0;
const MINIMA = true;
const GROUP = 32u;

fn codes16(i: u32, half: u32) -> vec4<u32> {
    let words = weights[i / 8u * 9u + 1u + i % 8u / 2u * 2u + half];
    return (words >> vec4<u32>(4u * (i % 2u))) & vec4<u32>(0x0f0f0f0fu);
}

fn scales16(i: u32, half: u32) -> vec2<f32> {
    return k_scales(weights[i / 8u * 9u], i % 8u);
}
