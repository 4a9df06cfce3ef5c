// with: k_scales
// Weights in Q5_K, w = d * scale * code - dmin * minimum, in the file's blocks of eleven 16-byte loads for 256 weights: d, dmin
// and the scales and minima of 32 weights each, see k_scales.wgsl; 32 bytes of fifth bits, bit b of byte j that of weight
// 32 b + j; 128 bytes of low codes, of each 32 bytes those of the low nibbles first.

const BIAS = 0.0;
const MINIMA = true;
const GROUP = 32u;

fn codes16(i: u32, half: u32) -> vec4<u32> {
    let first = i / 8u * 11u + half;
    let low = (weights[first + 3u + i % 8u / 2u * 2u] >> vec4<u32>(4u * (i % 2u))) & vec4<u32>(0x0f0f0f0fu);
    let high = (weights[first + 1u] >> vec4<u32>(i % 8u)) & vec4<u32>(0x01010101u);
    return low | (high << vec4<u32>(4u));
}

fn scales16(i: u32, half: u32) -> vec2<f32> {
    return k_scales(weights[i / 8u * 11u], i % 8u);
}
