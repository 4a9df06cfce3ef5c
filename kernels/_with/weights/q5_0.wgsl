// with: packed_words spread
// Weights in Q5_0, w = d * (code - 16), as planes: five words of codes a block, all blocks; then one float16 scale d a block.
// Bit j of a block's first word is the fifth bit of weight j. Byte j of the others holds weight j in its low nibble and
// weight j + 16 in its high one.

const BIAS = 16.0;
const MINIMA = false;
const GROUP = 32u;

fn codes16(i: u32, half: u32) -> vec4<u32> {
    let low = (words4(i * 5u + 1u) >> vec4<u32>(4u * half)) & vec4<u32>(0x0f0f0f0fu);
    return low | (spread16(weights[i * 5u] >> (16u * half)) << vec4<u32>(4u));
}

fn scales16(i: u32, half: u32) -> vec2<f32> {
    return vec2<f32>(plane_scale(i, N * (K / 32u) * 5u), 0.0);
}
