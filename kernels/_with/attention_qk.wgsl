// with: attention_score
// Products of queries and keys: q (HEADS, M, D), k (HEADS, S, D), which the kernel declares.

override D: u32;


fn q_at(row: u32, column: u32) -> f32 {
    return select(0.0, f32(q[row * D + min(column, D - 1u)]), column < D);
}

fn k_at(row: u32, column: u32) -> f32 {
    return select(0.0, f32(k[row * D + min(column, D - 1u)]), column < D);
}

// Four columns of a row, 0 past D.
fn q_quad(row: u32, column: u32) -> vec4<f32> {
    return vec4<f32>(q_at(row, column), q_at(row, column + 1u), q_at(row, column + 2u), q_at(row, column + 3u));
}

fn k_quad(row: u32, column: u32) -> vec4<f32> {
    return vec4<f32>(k_at(row, column), k_at(row, column + 1u), k_at(row, column + 2u), k_at(row, column + 3u));
}

// The product of one row of each.
fn product_of(q_row: u32, k_row: u32) -> f32 {
    var sum = vec4<f32>();
    for (var column = 0u; column < D; column += 4u) {
        sum += q_quad(q_row, column) * k_quad(k_row, column);
    }
    return dot(sum, vec4<f32>(1.0));
}
