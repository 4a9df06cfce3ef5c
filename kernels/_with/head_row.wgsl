// The row of x that row `row` of `rows` of the output is for: its own, or where there is but one, that after which a token
// follows. The kernel declares state.
fn head_row(row: u32, rows: u32) -> u32 {
    return select(row, clamp(state.rows, 1u, arrayLength(&x) / (K / 4u)) - 1u, rows == 1u);
}
