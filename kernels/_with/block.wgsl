// Blocks of 32 values of x (K,), 0 past K, from `quad_at` of x_quads.wgsl or x_values.wgsl.

fn blocks() -> u32 {
    return (K + 31u) / 32u;
}

fn load_block(block: u32) -> array<vec4<f32>, 8> {
    let q = block * 8u;
    return array<vec4<f32>, 8>(
        quad_at(q),
        quad_at(q + 1u),
        quad_at(q + 2u),
        quad_at(q + 3u),
        quad_at(q + 4u),
        quad_at(q + 5u),
        quad_at(q + 6u),
        quad_at(q + 7u),
    );
}
