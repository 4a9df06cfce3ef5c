// with: packed_rows
// Blocks of whole 16-byte loads.

@group(0) @binding(0) var<storage, read> weights: array<vec4<u32>>;

// The float16 scale of a block of planes, whose codes are `quads` 16-byte loads in all.
fn plane_scale(block: u32, quads: u32) -> f32 {
    let word = weights[quads + block / 8u][(block / 2u) % 4u];
    return unpack2x16float(word >> (16u * (block % 2u))).x;
}
