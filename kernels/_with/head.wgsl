// Four logits at once, by one lane or one subgroup; the loads of x serve all four. The kernel declares what `weights` and
// `norm` need.

// The row of x after which a token follows. The kernel declares state.
fn head_row() -> u32 {
    return clamp(state.rows, 1u, arrayLength(&x) / (K / 4u)) - 1u;
}

struct Four {
    sums: vec4<f32>, // without the norm's root
    squares: f32,
}

// Blocks first, first + step, ... of weight rows row to row + 3, each clamped to the last.
fn four_rows(row: u32, first: u32, step: u32) -> Four {
    let x_row = head_row();
    let rows = min(vec4<u32>(row) + vec4<u32>(0u, 1u, 2u, 3u), vec4<u32>(N - 1u));
    var sums = vec4<f32>();
    var squares = 0.0;
    for (var i = first; i < blocks(); i += step) {
        let block = load_block(x_row, i);
        squares += block.squares;
        sums += vec4<f32>(
            dot32(rows.x, i, block.gained),
            dot32(rows.y, i, block.gained),
            dot32(rows.z, i, block.gained),
            dot32(rows.w, i, block.gained),
        );
    }
    return Four(sums, squares);
}
