// with: quads
// Rows of any K, one weight at a time and never past its row; chunk < ceil(K / CHUNK).
// The part gives `weight_value(i)`, the weight at i of all rows.

fn weight_at(row: u32, column: u32) -> f32 {
    let w = weight_value(row * K + min(column, K - 1u));
    return select(0.0, w, column < K);
}

fn weight_quad(row: u32, quad: u32) -> vec4<f32> {
    let c = quad * 4u;
    return vec4<f32>(weight_at(row, c), weight_at(row, c + 1u), weight_at(row, c + 2u), weight_at(row, c + 3u));
}
