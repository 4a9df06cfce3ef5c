// Blocks of 32 values of the rows of x (L, K), 0 past K, as x_quads.wgsl and block.wgsl give those of one row. The kernel
// declares x as an array of vec4, and K, a multiple of 4.

fn blocks() -> u32 {
    return (K + 31u) / 32u;
}

fn quad_at(row: u32, quad: u32) -> vec4<f32> {
    if (K % 32u == 0u) {
        return x[row * (K / 4u) + quad];
    }
    return select(vec4<f32>(), x[row * (K / 4u) + min(quad, K / 4u - 1u)], quad < K / 4u);
}

fn load_block(row: u32, block: u32) -> array<vec4<f32>, 8> {
    let q = block * 8u;
    return array<vec4<f32>, 8>(
        quad_at(row, q),
        quad_at(row, q + 1u),
        quad_at(row, q + 2u),
        quad_at(row, q + 3u),
        quad_at(row, q + 4u),
        quad_at(row, q + 5u),
        quad_at(row, q + 6u),
        quad_at(row, q + 7u),
    );
}
