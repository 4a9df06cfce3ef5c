// with: packed_quads
// Weights in Q6_K, w = d * scale * (code - 32), as planes: thirteen 16-byte loads a block of 256 weights, all blocks; then one
// float16 scale d a block. Bytes of a block: 128 of low codes, of each 64 those of the low nibbles first; 64 of high codes,
// of each 32 those of the lowest two bits first; 16 int8 scales of 16 weights each.

const BIAS = 32.0;
const MINIMA = false;
const GROUP = 16u;

fn codes16(i: u32, half: u32) -> vec4<u32> {
    let first = i / 8u * 13u + half;
    let upper = i % 8u / 4u; // of the two halves of 128 weights
    let low = (weights[first + 4u * upper + 2u * (i % 2u)] >> vec4<u32>(i % 4u / 2u * 4u)) & vec4<u32>(0x0f0f0f0fu);
    let high = (weights[first + 8u + 2u * upper] >> vec4<u32>(2u * (i % 4u))) & vec4<u32>(0x03030303u);
    return low | (high << vec4<u32>(4u));
}

fn scales16(i: u32, half: u32) -> vec2<f32> {
    let group = 2u * (i % 8u) + half;
    let word = weights[i / 8u * 13u + 12u][group / 4u];
    let scale = extractBits(bitcast<i32>(word), 8u * (group % 4u), 8u);
    return vec2<f32>(plane_scale(i / 8u, N * (K / 256u) * 13u) * f32(scale), 0.0);
}
