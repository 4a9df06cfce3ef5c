// The quads of x (K,), 0 past K. The kernel declares x as an array of single values, and any K.

fn value_at(column: u32) -> f32 {
    return select(0.0, f32(x[min(column, K - 1u)]), column < K);
}

fn quad_at(quad: u32) -> vec4<f32> {
    let c = quad * 4u;
    return vec4<f32>(value_at(c), value_at(c + 1u), value_at(c + 2u), value_at(c + 3u));
}
