// with: wide ln
// Philox4x32-10, Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (2011), and Gumbel noise made from it.

fn philox(start: vec4<u32>, seed: vec2<u32>) -> vec4<u32> {
    var c = start;
    var key = seed;
    for (var turn = 0u; turn < 10u; turn++) {
        c = vec4<u32>(
            multiply_high(c.z, 0xcd9e8d57u) ^ c.y ^ key.x,
            c.z * 0xcd9e8d57u,
            multiply_high(c.x, 0xd2511f53u) ^ c.w ^ key.y,
            c.x * 0xd2511f53u,
        );
        key += vec2<u32>(0x9e3779b9u, 0xbb67ae85u);
    }
    return c;
}

// -ln(-ln u) with u = (n + 1/2) / 2^23 from the upper 23 bits n of a word.
fn gumbel(word: u32) -> f32 {
    return -ln(-ln((f32(word >> 9u) + 0.5) / 8388608.0));
}
