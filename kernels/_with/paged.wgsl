// Where a paged cache keeps a position, in rows of (G, D). The kernel declares `pages` and `state`.

// From a position's keys to its values.
const VALUE_ROWS = 64u;

fn key_row(position: u32) -> u32 {
    return u32(pages[position / 64u]) * 128u + position % 64u;
}

// Rows of a program that are neither padding nor past the capacity.
fn is_live(row: u32) -> bool {
    return row < state.rows && state.position + row < state.capacity;
}
