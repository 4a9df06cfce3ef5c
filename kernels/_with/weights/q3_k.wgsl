// with: packed_words
// Weights in Q3_K, w = d * (scale - 32) * (code - 4), as planes: 27 words a block of 256 weights, all blocks; then one float16
// scale d a block. Words of a block: 8 of third bits, bit b of byte j that of weight 32 b + j; 16 of low codes, of each 32
// bytes those of the lowest two bits first; 3 of scales of 16 weights each: byte t < 8 has the low bits of scale t in its
// low nibble and of scale t + 8 in its high one, the last word has the high bits, of scales 4 s + j in byte j at bit 2 s.

const BIAS = 4.0;
const MINIMA = false;
const GROUP = 16u;

fn codes16(i: u32, half: u32) -> vec4<u32> {
    let first = i / 8u * 27u + half * 4u;
    let low = (words4(first + 8u + i % 8u / 4u * 8u) >> vec4<u32>(2u * (i % 4u))) & vec4<u32>(0x03030303u);
    let high = (words4(first) >> vec4<u32>(i % 8u)) & vec4<u32>(0x01010101u);
    return low | (high << vec4<u32>(2u));
}

fn scales16(i: u32, half: u32) -> vec2<f32> {
    let first = i / 8u * 27u + 24u;
    let group = 2u * (i % 8u) + half;
    let low = (weights[first + group % 8u / 4u] >> (8u * (group % 4u) + 4u * (group / 8u))) & 15u;
    let high = (weights[first + 2u] >> (8u * (group % 4u) + 2u * (group / 4u))) & 3u;
    let d = plane_scale(i / 8u, N * (K / 256u) * 27u);
    return vec2<f32>(d * (f32(low | (high << 4u)) - 32.0), 0.0);
}
