// Four int8 codes of a word as floats. Biased by 128 they are bytes, and a byte below 2^23's exponent is a float that needs
// no conversion, which is four times slower than and, or and subtract on NVIDIA.

fn codes4(word: u32) -> vec4<f32> {
    let biased = word ^ 0x80808080u;
    let bytes = vec4<u32>(biased, biased >> 8u, biased >> 16u, biased >> 24u) & vec4<u32>(255u);
    return bitcast<vec4<f32>>(bytes | vec4<u32>(0x4b000000u)) - 8388736.0;
}

fn dot16(words: vec4<u32>, x0: vec4<f32>, x1: vec4<f32>, x2: vec4<f32>, x3: vec4<f32>) -> vec4<f32> {
    return codes4(words.x) * x0 + codes4(words.y) * x1 + codes4(words.z) * x2 + codes4(words.w) * x3;
}
