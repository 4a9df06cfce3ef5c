// The quads of x (K,), 0 past K. The kernel declares x as an array of vec4, and K, a multiple of 4.

fn quad_at(quad: u32) -> vec4<f32> {
    if (K % 32u == 0u) {
        return vec4<f32>(x[quad]);
    }
    return select(vec4<f32>(), vec4<f32>(x[min(quad, K / 4u - 1u)]), quad < K / 4u);
}
