// Blocks of 32 values of x (K,), 0 past K. The kernel declares x as an array of vec4<f32>, and K, a multiple of 4.

fn blocks() -> u32 {
    return (K + 31u) / 32u;
}

fn quad_at(quad: u32) -> vec4<f32> {
    if (K % 32u == 0u) {
        return x[quad];
    }
    return select(vec4<f32>(), x[min(quad, K / 4u - 1u)], quad < K / 4u);
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
