// with: packed_words
// Weights in Q2_K, w = d * scale * code - dmin * minimum, in the file's blocks of 21 words for 256 weights: 16 bytes of scales
// (low nibble) and minima (high nibble) of 16 weights each; 64 bytes of codes; d and dmin in float16. Of each 32 bytes of
// codes those of the lowest two bits come first.

const BIAS = 0.0;
const MINIMA = true;
const GROUP = 16u;

fn codes16(i: u32, half: u32) -> vec4<u32> {
    let words = words4(i / 8u * 21u + 4u + i % 8u / 4u * 8u + half * 4u);
    return (words >> vec4<u32>(2u * (i % 4u))) & vec4<u32>(0x03030303u);
}

fn scales16(i: u32, half: u32) -> vec2<f32> {
    let first = i / 8u * 21u;
    let group = 2u * (i % 8u) + half;
    let byte = (weights[first + group / 4u] >> (8u * (group % 4u))) & 255u;
    return unpack2x16float(weights[first + 20u]) * vec2<f32>(vec2<u32>(byte & 15u, byte >> 4u));
}
