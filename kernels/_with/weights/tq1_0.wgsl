// with: packed_words
// Weights in TQ1_0, w = d * (code - 1), as planes: 13 words of codes a block of 256 weights, all blocks; then one float16 scale
// d a block. A byte is a fraction in base 3 times 256, rounded up: digit t is the carry of 3 ** t times the byte, modulo
// 256, times 3. Of 32 bytes the first digits are weights 0 to 31, the second 32 to 63, to the fifth; the next 16 bytes
// have five digits too, the last four have four.

const BIAS = 1.0;
const MINIMA = false;
const GROUP = 32u;

// Of the even bytes of words.
fn digits(bytes: vec4<u32>, powers: vec4<u32>) -> vec4<u32> {
    let fractions = ((bytes & vec4<u32>(0x00ff00ffu)) * powers) & vec4<u32>(0x00ff00ffu);
    return ((fractions * 3u) >> vec4<u32>(8u)) & vec4<u32>(0x00030003u);
}

fn codes16(i: u32, half: u32) -> vec4<u32> {
    let first = i / 8u * 13u;
    let sixteen = 2u * (i % 8u) + half; // of the block's runs of 16 weights: the 16 bytes have five from the tenth on
    let digit = select(i % 8u, sixteen - 10u, sixteen >= 10u);
    var powers = vec4<u32>(select(select(1u, 3u, digit % 2u == 1u), select(9u, 27u, digit % 2u == 1u), digit >= 2u));
    if (digit == 4u) {
        powers = vec4<u32>(81u);
    }
    var words = words4(first + select(4u * half, 8u, sixteen >= 10u));
    if (sixteen == 15u) {
        words = vec4<u32>(weights[first + 12u]);
        powers = vec4<u32>(1u, 3u, 9u, 27u);
    }
    return digits(words, powers) | (digits(words >> vec4<u32>(8u), powers) << vec4<u32>(8u));
}

fn scales16(i: u32, half: u32) -> vec2<f32> {
    return vec2<f32>(plane_scale(i / 8u, N * (K / 256u) * 13u), 0.0);
}
