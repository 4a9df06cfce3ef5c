// Four logits at once; the loads of x serve all four. The kernel declares what `weights` and `norm` need.

// The row of x after which a token follows. The kernel declares state.
fn head_row() -> u32 {
    return clamp(state.rows, 1u, arrayLength(&x) / (K / 4u)) - 1u;
}

struct Four {
    sums: vec4<f32>, // without the norm's root
    squares: f32,
}

// Weight rows row to row + 3, each clamped to the last: the share of one lane of a subgroup, in octets.
fn four_rows(row: u32, lane: u32, lanes: u32) -> Four {
    let x_row = head_row();
    let rows = min(vec4<u32>(row) + vec4<u32>(0u, 1u, 2u, 3u), vec4<u32>(N - 1u));
    var sums = vec4<f32>();
    var squares = 0.0;
    for (var i = lane; i < octets(); i += lanes) {
        let octet = load_octet(x_row, i);
        squares += octet.squares;
        sums += vec4<f32>(
            dot8(rows.x, i, octet.a, octet.b),
            dot8(rows.y, i, octet.a, octet.b),
            dot8(rows.z, i, octet.a, octet.b),
            dot8(rows.w, i, octet.a, octet.b),
        );
    }
    return Four(sums, squares);
}
