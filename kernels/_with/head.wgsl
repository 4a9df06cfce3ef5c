// with: head_row
// Four logits at once; the loads of x serve all four. The kernel declares what `weights` and `norm` need.

struct Four {
    sums: vec4<f32>, // without the norm's root
    squares: f32,
}

// Columns column to column + 3, each clamped to the last: the share of one lane of a subgroup, in octets.
fn four_columns(x_row: u32, column: u32, lane: u32, lanes: u32) -> Four {
    let columns = min(vec4<u32>(column) + vec4<u32>(0u, 1u, 2u, 3u), vec4<u32>(N - 1u));
    var sums = vec4<f32>();
    var squares = 0.0;
    for (var i = lane; i < octets(); i += lanes) {
        let octet = load_octet(x_row, i);
        squares += octet.squares;
        sums += vec4<f32>(
            dot8(columns.x, i, octet.a, octet.b),
            dot8(columns.y, i, octet.a, octet.b),
            dot8(columns.z, i, octet.a, octet.b),
            dot8(columns.w, i, octet.a, octet.b),
        );
    }
    return Four(sums, squares);
}
