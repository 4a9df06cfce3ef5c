// Four signed 4-bit codes of a word's low half as floats. Biased by 8 they are nibbles, and a nibble below 2^23's exponent
// is a float that needs no conversion.

fn nibbles4(half: u32) -> vec4<f32> {
    let biased = half ^ 0x8888u;
    let nibbles = vec4<u32>(biased, biased >> 4u, biased >> 8u, biased >> 12u) & vec4<u32>(15u);
    return bitcast<vec4<f32>>(nibbles | vec4<u32>(0x4b000000u)) - 8388616.0;
}
