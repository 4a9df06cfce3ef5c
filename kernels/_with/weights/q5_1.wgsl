// with: packed_words spread
// Weights in Q5_1, w = d * code + m, in the file's blocks of six words: d and m in float16, fifth bits, nibbles. Bit j of the
// second word is the fifth bit of weight j. Byte j of the last four holds weight j in its low nibble and weight j + 16 in
// its high one.

const BIAS = 0.0;
const MINIMA = true;
const GROUP = 32u;

fn codes16(i: u32, half: u32) -> vec4<u32> {
    let low = (words4(i * 6u + 2u) >> vec4<u32>(4u * half)) & vec4<u32>(0x0f0f0f0fu);
    return low | (spread16(weights[i * 6u + 1u] >> (16u * half)) << vec4<u32>(4u));
}

fn scales16(i: u32, half: u32) -> vec2<f32> {
    return unpack2x16float(weights[i * 6u]) * vec2<f32>(1.0, -1.0);
}
