// with: packed_rows
// Blocks that are words, but no whole number of 16-byte loads.

@group(0) @binding(0) var<storage, read> weights: array<u32>;

fn words4(at: u32) -> vec4<u32> {
    return vec4<u32>(weights[at], weights[at + 1u], weights[at + 2u], weights[at + 3u]);
}

// The float16 scale of a block of planes, whose codes are `words` words in all and padded to 16 bytes.
fn plane_scale(block: u32, words: u32) -> f32 {
    let word = weights[(words + 3u) / 4u * 4u + block / 2u];
    return unpack2x16float(word >> (16u * (block % 2u))).x;
}
